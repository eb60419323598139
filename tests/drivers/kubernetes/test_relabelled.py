"""What a watch makes of labels that somebody changed, or wrote nonsense into."""

from typing import Any

import pytest

from gangline.drivers.base import AttemptRef, Observation, ObservedState
from gangline.drivers.kubernetes import jobs, labels, pods
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.resources import PODS
from gangline.drivers.kubernetes.store import Listener, Store
from gangline.drivers.kubernetes.watcher import Watch
from tests.drivers.kubernetes import raw as made
from tests.drivers.kubernetes.scripted import ScriptedClient, page

KIND = KINDS["PyTorch"]
JOBS = KIND.resource
KEY, OTHER = ("w-1", 1), ("w-2", 7)
MOVED = made.MARKS | {labels.WORKLOAD: OTHER[0], labels.ATTEMPT: str(OTHER[1])}
NONSENSE = ["100000000000000000000", "4294967296", "-1", "1.5", "\u0661", "one", ""]


def nothing() -> Client:
    """Of a cluster where nothing is."""
    return ScriptedClient(lambda method, path, query: page())


def store() -> Store:
    return Store({JOBS: KIND}, Listener())


@pytest.mark.parametrize("text", NONSENSE)
def test_an_attempt_that_is_no_number_of_ours_is_none(text: str) -> None:
    marks = made.MARKS | {labels.ATTEMPT: text}
    assert jobs.read(made.job(labels=marks), KIND).attempt == 0
    assert pods.read(made.pod(0, labels=marks)).attempt == 0


@pytest.mark.parametrize("text", NONSENSE)
def test_what_bears_no_attempt_of_ours_is_told_to_nobody(text: str) -> None:
    """A number that no database holds would take the news of all others with it."""

    def look(ref: AttemptRef) -> Observation:
        return Observation(ref.workload, ref.attempt, ObservedState.ABSENT)

    watch = Watch(nothing(), "install-a", [KIND], look)
    watch.store.changed(JOBS, made.job(labels=made.MARKS | {labels.ATTEMPT: text}), 1.0)
    watch.store.changed(JOBS, made.job(uid="job-2"), 1.0)
    told = list(watch._changed(watch.store.take(0)))
    assert [(seen.workload, seen.attempt) for seen in told] == [KEY]


@pytest.mark.parametrize(("resource", "make"), [(JOBS, made.job), (PODS, made.pod)])
def test_what_is_relabelled_leaves_its_attempt(resource: Any, make: Any) -> None:
    held = store()
    held.changed(resource, make(), 1.0)
    assert held.take(0) == {KEY: 1.0}
    held.changed(resource, make(labels=make()["metadata"]["labels"] | MOVED), 2.0)
    assert held.take(0) == {KEY: 2.0, OTHER: 2.0}, "both have changed"
    assert held.of(KEY) == (None, [])
    assert held.of(OTHER) != (None, [])
    held.gone(resource, make(labels=make()["metadata"]["labels"] | MOVED), 3.0)
    assert held.take(0) == {OTHER: 3.0}
    assert held.of(KEY) == held.of(OTHER) == (None, [])
