"""What a look at an attempt costs its cluster."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gangline.drivers.base import ObservedState
from gangline.drivers.kubernetes import deadlines, jobs, schedulers
from gangline.drivers.kubernetes.access import Options
from gangline.drivers.kubernetes.client import Answer, NotUnderstood, Unreachable
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.resources import NODES
from tests.drivers.kubernetes import raw as made
from tests.drivers.kubernetes.scripted import ScriptedClient, page, status

REF = made.REF


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def gang(**meta: Any) -> dict[str, Any]:
    """A job that was let go; its pods ask for nothing."""
    job = made.job(true=["Created"], **meta)
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"] = {"spec": {"containers": []}}
    return job


def cluster(job: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> ScriptedClient:
    """Has this one job, whoever asks for which, and these pods of it."""

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        if "/pytorchjobs/" in path:
            return Answer(200, job)
        return page(*pods) if path.endswith("/gangline-vision/pods") else page()

    return ScriptedClient(say)


class SlowNodes(ScriptedClient):
    """Has a gang that waits, and takes ``seconds`` to list its nodes."""

    seconds = 0.0

    def __init__(self) -> None:
        super().__init__(_waiting)

    def request(self, method: str, path: str, **more: Any) -> Answer:
        if path == NODES.path():
            time.sleep(min(self.seconds, more["read_seconds"]))
            if self.seconds > more["read_seconds"]:
                raise Unreachable("It did not answer in time.")
        return super().request(method, path, **more)


def _waiting(method: str, path: str, query: Mapping[str, Any]) -> Answer:
    if path.endswith("/events"):
        return page({"message": "No GPU is left."})
    return page() if path.endswith("s") else Answer(200, gang())


def asked(client: ScriptedClient, ending: str) -> int:
    return len([path for _, path, _ in client.asked if path.endswith(ending)])


def test_why_a_gang_waits_is_told_from_what_was_read_already() -> None:
    job = gang()
    client = cluster(job, [made.pod(0, phase="Pending", node=""), made.pod(1, node="")])
    seen = KubernetesDriver(client, Options()).observe(REF)
    assert seen.state is ObservedState.PENDING
    assert asked(client, "/pytorchjobs/gang") == 1
    assert asked(client, "/gangline-vision/pods") == 1


def test_gangs_that_wait_together_share_what_their_scheduler_says_of_all() -> None:
    job = gang()
    job["metadata"]["annotations"][jobs.SCHEDULER] = "volcano"
    client = cluster(job, [])
    driver = KubernetesDriver(client, Options(scheduler="volcano"))
    batches = driver.watch("install-a", "")
    next(batches)
    assert driver._watched is not None
    for _ in range(5):
        assert driver._watched.looker.look(REF).state is ObservedState.PENDING
    batches.close()  # type: ignore[attr-defined]
    (groups, queues) = schedulers.ADAPTERS["volcano"].reads
    assert asked(client, f"/{groups.plural}") == 1
    assert asked(client, f"/{queues.plural}") == 1
    assert driver.observe(REF).state is ObservedState.PENDING
    assert asked(client, f"/{groups.plural}") == 2, "whoever looks at one sees it as it is now"


@pytest.mark.parametrize(("seconds", "looks"), [(2, 0), (20, 1)])
def test_a_start_is_slow_since_the_pod_has_its_node(seconds: float, looks: int) -> None:
    """However long its job has waited for it."""
    job = gang(creationTimestamp=ago(3600))
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(seconds)}
    pods = [made.pod(n, phase="Pending", state={}, conditions=[placed]) for n in range(2)]
    client = cluster(job, pods)
    seen = KubernetesDriver(client, Options()).observe(REF)
    assert seen.state is ObservedState.STARTING
    assert asked(client, "/events") == looks


def test_a_gang_that_waits_is_seen_though_why_is_not_told_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was told of it last holds until there is time to ask again."""
    monkeypatch.setattr(deadlines, "BUDGET", 0.6)
    client = SlowNodes()
    driver = KubernetesDriver(client, Options())
    assert driver.observe(REF).reason == "No GPU is left."
    driver._pending._room = None
    client.seconds, began = 5.0, time.monotonic()
    seen = driver.observe(REF)
    assert time.monotonic() - began < 1.2
    assert (seen.state, seen.reason) == (ObservedState.PENDING, "No GPU is left.")
    fresh = KubernetesDriver(client, Options()).observe(REF)
    assert (fresh.state, fresh.reason) == (ObservedState.PENDING, "")


def test_what_is_free_is_counted_once_for_all_that_ask() -> None:
    client = SlowNodes()
    client.seconds = 0.3
    driver = KubernetesDriver(client, Options())
    with ThreadPoolExecutor(8) as crowd:
        seen = list(crowd.map(driver.observe, [REF] * 8))
    assert {look.reason for look in seen} == {"No GPU is left."}
    assert asked(client, NODES.path()) == 1


# Reasons that the cluster does not tell

NOWHERE = Answer(404, "404 page not found\n")
REFUSED, BROKEN = status(403, "Forbidden"), status(500, "InternalError")
HTML = Answer(200, "<!doctype html><title>Sign in</title>")
ODD = page({"metadata": {"name": "gang", "labels": made.MARKS}, "status": "Inqueue"})


class Grudging(ScriptedClient):
    """Has a gang that waits for ``scheduler``, and says ``said`` where a path ends so."""

    def __init__(self, scheduler: str = "plain", ending: str = "", said: Answer = BROKEN) -> None:
        super().__init__(self._say)
        self.job, self.pods = gang(), list[dict[str, Any]]()
        self.job["metadata"]["annotations"][jobs.SCHEDULER] = scheduler
        self.ending, self.said = ending, said

    def _say(self, method: str, path: str, query: Mapping[str, Any]) -> Answer:
        if self.ending and path.endswith(self.ending):
            if self.said is HTML:
                raise NotUnderstood(self.said)
            return self.said
        if "/pytorchjobs/" in path:
            return Answer(200, self.job)
        if path.endswith("/events"):
            return page({"message": "No GPU is left."})
        return page(*self.pods) if path.endswith("/gangline-vision/pods") else page()


@pytest.mark.parametrize(
    ("scheduler", "ending", "said"),
    [
        ("volcano", "/podgroups", NOWHERE),
        ("volcano", "/podgroups", ODD),
        ("native", "/podgroups", NOWHERE),
        ("volcano", "/queues", REFUSED),
        ("kueue", "/workloads", NOWHERE),
        ("plain", "/events", REFUSED),
        ("plain", "/events", BROKEN),
        ("plain", "/events", HTML),
    ],
)
def test_a_gang_waits_though_the_cluster_does_not_tell_why(
    scheduler: str, ending: str, said: Answer
) -> None:
    """Its job and its pods were read: it can be stopped and deleted. The last words hold."""
    client = Grudging(scheduler, ending, said)
    driver = KubernetesDriver(client, Options(scheduler=scheduler))
    seen = driver.observe(REF)
    assert (seen.state, seen.reason, seen.is_cut_off) == (ObservedState.PENDING, "", False)
    client.ending = ""
    told = driver.observe(REF).reason
    assert told in ("No GPU is left.", "Kueue has not picked it up yet.")
    client.ending = ending
    seen = driver.observe(REF)
    assert (seen.state, seen.reason) == (ObservedState.PENDING, told)


@pytest.mark.parametrize("said", [REFUSED, BROKEN, HTML])
def test_a_start_is_seen_though_the_cluster_does_not_tell_why_it_is_slow(said: Answer) -> None:
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(20)}
    client = Grudging(ending="/events", said=said)
    client.pods = [made.pod(n, phase="Pending", state={}, conditions=[placed]) for n in range(2)]
    assert KubernetesDriver(client, Options()).observe(REF).state is ObservedState.STARTING
    assert asked(client, "/events") == 1


def test_a_cluster_that_asks_for_a_rest_over_a_reason_gets_it() -> None:
    client = Grudging(ending="/events", said=status(429, "TooManyRequests", retry_after=9.0))
    seen = KubernetesDriver(client, Options()).observe(REF)
    assert (seen.state, seen.retry_after) == (ObservedState.UNKNOWN, 9.0)


@pytest.mark.parametrize("said", [REFUSED, BROKEN])
def test_a_reason_is_told_where_what_is_free_may_not_be_counted(said: Answer) -> None:
    seen = KubernetesDriver(Grudging(ending=NODES.path(), said=said), Options()).observe(REF)
    assert (seen.state, seen.reason) == (ObservedState.PENDING, "No GPU is left.")
