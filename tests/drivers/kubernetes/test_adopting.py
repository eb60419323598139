"""A watch that begins: everything that is there is told, at the price of a few lists."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import Mock

import pytest

from gangline.drivers.base import AttemptRef, Observation, ObservedState
from gangline.drivers.kubernetes import watcher
from gangline.drivers.kubernetes.client import Answer
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.resources import PODS, Resource
from gangline.drivers.kubernetes.store import Store
from gangline.drivers.kubernetes.watcher import Watch
from tests.drivers.kubernetes import raw as made
from tests.drivers.kubernetes.scripted import ScriptedClient, page, status

KIND, OTHER = KINDS["PyTorch"], KINDS["JAX"]
MANY = 1200


def marks(number: int) -> dict[str, str]:
    return made.MARKS | {"gangline.dev/workload": f"w-{number}"}


class Full:
    """A cluster with many jobs of one pod each; other paths answer as a test says."""

    def __init__(self) -> None:
        self.instead: dict[str, Answer] = {}
        self.jobs = [made.job(uid=f"job-{n}", labels=marks(n), workers=1) for n in range(MANY)]
        self.pods = [self._pod(n) for n in range(MANY)]

    def __call__(self, method: str, path: str, query: Mapping[str, Any]) -> Answer:
        plural = path.rpartition("/")[2]
        if query.get("watch"):
            return Answer(200, [])
        if plural in self.instead:
            return self.instead[plural]
        found = {"pytorchjobs": self.jobs, "pods": self.pods}.get(plural, [])
        start, limit = int(query.get("continue", 0)), int(query["limit"])
        more = str(start + limit) if start + limit < len(found) else ""
        return page(*found[start : start + limit], following=more)

    @staticmethod
    def _pod(number: int) -> dict[str, Any]:
        owner = made.OWNER | {"uid": f"job-{number}"}
        pod = made.pod(0, uid=f"pod-{number}", ownerReferences=[owner])
        pod["metadata"]["labels"] |= marks(number)
        return pod


class Adopting:
    """A watch of a cluster, and when it said that all is told."""

    def __init__(self, cluster: Full) -> None:
        self.client = ScriptedClient(cluster)
        self.told: dict[str, ObservedState] = {}
        self.is_whole = False
        self.watch = Watch(
            self.client, "install-a", [KIND, OTHER], self.look, all_told=self._all_told
        )
        self.batches = self.watch.batches()

    def look(self, ref: AttemptRef) -> Observation:
        raise AssertionError(f"{ref.workload} was looked at on its own")

    def run(self, seconds: float) -> None:
        """Until all is told, at most so long."""
        until = time.monotonic() + seconds
        for batch in self.batches:
            self.told |= {seen.workload: seen.state for seen in batch}
            if self.is_whole or time.monotonic() > until:
                return

    def _all_told(self) -> None:
        assert not self.is_whole, "it is said once"
        self.is_whole = True


@contextmanager
def adopting(cluster: Full, monkeypatch: pytest.MonkeyPatch) -> Iterator[Adopting]:
    monkeypatch.setattr(watcher, "FIRST_LIST", 0.5)
    monkeypatch.setattr(watcher, "SIGN_OF_LIFE", 0.2)
    one = Adopting(cluster)
    try:
        yield one
    finally:
        one.batches.close()  # type: ignore[attr-defined]


def test_thousands_of_attempts_are_learnt_from_a_few_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    with adopting(Full(), monkeypatch) as one:
        one.run(seconds=20)
        assert one.is_whole
        assert Counter(one.told.values()) == {ObservedState.RUNNING: MANY}
        assert one.client.count("GET") <= 12, "three pages of jobs, three of pods, one of the rest"


@pytest.mark.parametrize("plural", [OTHER.resource.plural, "pods"])
def test_a_part_that_could_not_be_listed_yet_is_waited_for(
    plural: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Full()
    cluster.instead = {plural: status(500, "InternalError")}
    with adopting(cluster, monkeypatch) as one:
        one.run(seconds=1.5)
        assert not one.is_whole, "what is there is not known yet"
        cluster.instead = {}
        one.run(seconds=20)
        assert one.is_whole
        assert Counter(one.told.values()) == {ObservedState.RUNNING: MANY}


@pytest.mark.parametrize("may_list_namespaces", [True, False])
def test_a_kind_that_may_be_listed_nowhere_is_not_waited_for(
    may_list_namespaces: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site may grant some kinds only. The pods it has to."""
    cluster, forbidden = Full(), status(403, "Forbidden")
    cluster.instead = {OTHER.resource.plural: forbidden}
    there = Answer(200, {"items": [{"metadata": {"name": "gangline-vision"}}]})
    cluster.instead["namespaces"] = there if may_list_namespaces else forbidden
    with adopting(cluster, monkeypatch) as one:
        one.run(seconds=20)
        assert one.is_whole
    cluster.instead["pods"] = forbidden
    with adopting(cluster, monkeypatch) as one:
        one.run(seconds=1.5)
        assert not one.is_whole


# Strong looks


class Leftovers:
    """A watch whose streams show pods and no job: each wants a strong look.

    ``may_end``: no look ends before it is set.
    """

    def __init__(self, count: int) -> None:
        self.may_end = threading.Event()
        self.may_end.set()
        self.looks: list[str] = []
        self.told: list[Observation] = []
        self.cluster = Full()
        self.cluster.jobs, self.cluster.pods = [], [Full._pod(n) for n in range(count)]
        for pod in self.cluster.pods:
            pod["status"]["phase"] = "Succeeded"
        self.watch = Watch(ScriptedClient(self.cluster), "install-a", [KIND], self.look)
        self.batches = self.watch.batches()

    def look(self, ref: AttemptRef) -> Observation:
        self.looks.append(ref.workload)
        assert self.may_end.wait(60)
        return Observation(ref.workload, ref.attempt, ObservedState.ABSENT)

    def run(self, is_enough: Callable[[], bool]) -> None:
        until = time.monotonic() + 20.0
        for batch in self.batches:
            self.told += batch
            if is_enough() or time.monotonic() > until:
                break
        assert is_enough()

    def appear(self, number: int) -> None:
        """The stream tells of a job."""
        job = made.job(uid=f"job-{number}", labels=marks(number), workers=1)
        self.cluster.jobs.append(job)  # it may be listed anew at any time
        self.watch.store.changed(KIND.resource, job, time.monotonic())

    def told_of(self, number: int) -> list[ObservedState]:
        return [seen.state for seen in self.told if seen.workload == f"w-{number}"]


def never(ref: AttemptRef) -> Observation:
    raise AssertionError(f"{ref.workload} was looked at")


@contextmanager
def leftovers(count: int) -> Iterator[Leftovers]:
    one = Leftovers(count)
    try:
        yield one
    finally:
        one.may_end.set()
        one.batches.close()  # type: ignore[attr-defined]


def test_what_the_streams_show_no_job_of_is_looked_at_once() -> None:
    with leftovers(300) as one:
        one.run(lambda: len(one.told) == 300)
        assert len(set(one.looks)) == len(one.looks) == 300
        assert {seen.state for seen in one.told} == {ObservedState.ABSENT}


def test_neither_news_nor_signs_of_life_wait_for_slow_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watcher, "SIGN_OF_LIFE", 0.2)
    with leftovers(20) as one:
        one.may_end.clear()
        one.run(lambda: bool(one.looks))
        one.appear(MANY)
        one.run(lambda: bool(one.told_of(MANY)))
        assert [len(next(one.batches)) for _ in range(3)] == [0, 0, 0]
        assert len(one.looks) == 1


def test_a_look_that_a_stream_has_overtaken_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "SIGN_OF_LIFE", 0.2)
    with leftovers(2) as one:
        one.may_end.clear()
        one.run(lambda: len(one.looks) == 1)
        overtaken = int(one.looks[0].removeprefix("w-"))
        one.appear(overtaken)
        one.run(lambda: bool(one.told_of(overtaken)))
        one.may_end.set()
        one.run(lambda: bool(one.told_of(1 - overtaken)))
        assert one.told_of(1 - overtaken) == [ObservedState.ABSENT]
        assert ObservedState.ABSENT not in one.told_of(overtaken)


def test_what_was_heard_before_the_last_look_is_not_told_after_it() -> None:
    """The look has seen it; it would be dropped as stale, and looked at once more."""
    watch = Watch(ScriptedClient(Full()), "install-a", [KIND], never)

    def told(resource: Resource, raw: dict[str, Any], read_at: float) -> int:
        watch.store.changed(resource, raw, read_at)
        return len(list(watch._changed(watch.store.take(0.0))))

    pod = Full._pod(0)
    assert told(KIND.resource, made.job(uid="job-0", labels=marks(0), workers=1), 10.0) == 1
    assert told(PODS, pod | {"status": {"phase": "Failed"}}, 9.0) == 0
    assert told(PODS, pod | {"status": {"phase": "Succeeded"}}, 11.0) == 1


def test_what_did_not_change_is_told_again_only_once_every_stream_was_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Until then it would be no newer than what was told, and it costs to find that out."""
    monkeypatch.setattr(watcher, "REPEAT_EVERY", 0.0)
    watch = Watch(ScriptedClient(Full()), "install-a", [KIND], never)
    judge = Mock(wraps=watch._judge)
    monkeypatch.setattr(watch, "_judge", judge)
    watch.store.listed(PODS, [], 1.0)
    now = time.monotonic() + 1.0
    watch.store.changed(KIND.resource, made.job(uid="job-0", labels=marks(0), workers=1), now)
    assert len(list(watch._changed(watch.store.take(0.0)))) == judge.call_count == 1
    assert not list(watch._due())
    assert judge.call_count == 1
    monkeypatch.setattr(Store, "heard_at", now)
    assert len(list(watch._due())) == 1


def test_what_changed_during_a_look_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "SIGN_OF_LIFE", 0.2)
    with leftovers(1) as one:
        one.may_end.clear()
        one.run(lambda: len(one.looks) == 1)
        one.watch.store.gone(PODS, Full._pod(0), time.monotonic())
        next(one.batches)
        one.may_end.set()
        one.run(lambda: len(one.looks) == 2)
        assert one.looks == ["w-0", "w-0"]


def test_a_look_that_breaks_ends_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(ref: AttemptRef) -> Observation:
        raise ZeroDivisionError(ref.workload)

    monkeypatch.setattr(Leftovers, "look", lambda self, ref: breaks(ref))
    with leftovers(1) as one, pytest.raises(ZeroDivisionError):
        one.run(lambda: False)
