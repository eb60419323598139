"""What a watch makes of labels that somebody changed, or wrote nonsense into."""

import pytest

from gangline.clusters.drivers.base import AttemptRef, Observation, ObservedState
from gangline.clusters.drivers.kubernetes import jobs, labels, pods
from gangline.clusters.drivers.kubernetes.client import Client
from gangline.clusters.drivers.kubernetes.kinds import KINDS
from gangline.clusters.drivers.kubernetes.watching import Watch
from tests.drivers.kubernetes import raw as made
from tests.drivers.kubernetes.scripted import ScriptedClient, page

KIND = KINDS["PyTorch"]
JOBS = KIND.resource
KEY = ("w-1", 1)
NONSENSE = ["100000000000000000000", "4294967296", "-1", "1.5", "\u0661", "one", ""]


def nothing() -> Client:
    """Of a cluster where nothing is."""
    return ScriptedClient(lambda method, path, query: page())


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
