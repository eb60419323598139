"""A watch that begins: everything that is there is told, at the price of a few lists."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from gangline.clusters.drivers.base import AttemptRef, Observation, ObservedState
from gangline.clusters.drivers.kubernetes import watching
from gangline.clusters.drivers.kubernetes.client import Answer
from gangline.clusters.drivers.kubernetes.kinds import KINDS
from gangline.clusters.drivers.kubernetes.resources import PODS
from gangline.clusters.drivers.kubernetes.store import Key
from gangline.clusters.drivers.kubernetes.watching import Watch
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
    monkeypatch.setattr(watching, "FIRST_LIST", 0.5)
    monkeypatch.setattr(watching, "SIGN_OF_LIFE", 0.2)
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
    """A watch whose streams show pods and no job: each wants a strong look."""

    def __init__(self, count: int, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.looks: list[str] = []
        self.watch = Watch(ScriptedClient(Full()), "install-a", [KIND], self.look)
        for pod in (Full._pod(n) for n in range(count)):
            pod["status"]["phase"] = "Succeeded"
            self.watch.store.changed(PODS, pod, 1.0)

    def look(self, ref: AttemptRef) -> Observation:
        time.sleep(self.seconds)
        self.looks.append(ref.workload)
        return Observation(ref.workload, ref.attempt, ObservedState.ABSENT)

    def changed(self) -> list[Observation]:
        taken: dict[Key, float] = self.watch.store.take(0)
        return list(self.watch._changed(taken))


def test_few_strong_looks_are_made_at_once_and_the_others_later() -> None:
    one = Leftovers(300)
    assert len(one.changed()) == len(one.looks) == watching.LOOKS_AT_ONCE
    for _ in range(300 // watching.LOOKS_AT_ONCE):
        before = len(one.looks)
        assert len(list(one.watch._due())) == len(one.looks) - before <= watching.LOOKS_AT_ONCE
    assert len(set(one.looks)) == len(one.looks) == 300


def test_slow_strong_looks_do_not_keep_the_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "SIGN_OF_LIFE", 0.2)
    one = Leftovers(100, seconds=0.15)
    for passes in (one.changed, lambda: list(one.watch._due())):
        began = time.monotonic()
        assert passes()
        assert time.monotonic() - began < 0.6
