"""What a look at an attempt costs its cluster."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gangline.clusters.drivers.base import AttemptRef, ObservedState
from gangline.clusters.drivers.kubernetes import jobs, schedulers
from gangline.clusters.drivers.kubernetes.client import Answer
from gangline.clusters.drivers.kubernetes.driver import KubernetesDriver
from gangline.clusters.drivers.kubernetes.options import Options
from tests.drivers.kubernetes import raw as made
from tests.drivers.kubernetes.scripted import ScriptedClient, page

REF = AttemptRef(
    "install-a", "w-1", 1, "gang", "gangline-vision", rendered={"framework": "PyTorch"}
)


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
