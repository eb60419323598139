"""Add-ons of the bed, each on a bed of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gangline.clusters.drivers.kubernetes import resources
from gangline.clusters.drivers.kubernetes.kinds import KINDS
from gangline.clusters.drivers.kubernetes.resources import Resource
from tests.beds.kubernetes.bed import Bed, running
from tests.beds.kubernetes.jobs import conditions, job
from tests.support.waiting import wait_for

PYTORCH = KINDS["PyTorch"].resource
QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)
VOLCANO_GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
NATIVE_GROUPS = Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")
JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")


def phases(bed: Bed, namespace: str) -> list[str]:
    items = bed.client.list(resources.PODS, namespace).body["items"]
    return sorted(item["status"]["phase"] for item in items)


def make(bed: Bed, resource: Resource, namespace: str, body: dict[str, Any]) -> str:
    made = bed.client.create(resource, namespace, body)
    assert made.status == 201, made.message
    return str(made.body["metadata"]["uid"])


def gang(name: str, workers: int, *, changes: dict[str, Any], policy: dict[str, Any]) -> Any:
    """A job of workers with 8 GPUs each."""
    body = job("PyTorch", name, {"Worker": workers}, gpus=8)
    body["spec"]["runPolicy"] |= policy
    body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"] |= changes
    return body


@pytest.fixture
def volcano(tmp_path: Path) -> Iterator[Bed]:
    with running(tmp_path / "bed", ["volcano"]) as bed:
        yield bed


@pytest.mark.needs_kubernetes
def test_a_gang_that_does_not_fit_waits_whole_in_volcano_and_then_runs(volcano: Bed) -> None:
    """Slow, because it starts a bed."""
    bed = volcano
    names = {item["metadata"]["name"] for item in bed.client.list(QUEUES).body["items"]}
    assert {"default", "root"} <= names
    uids = {}
    with bed.namespace() as namespace:
        for name, workers in (("first", 3), ("second", 2)):
            policy = {"schedulingPolicy": {"queue": "default", "minAvailable": workers}}
            body = gang(name, workers, changes={"schedulerName": "volcano"}, policy=policy)
            uids[name] = make(bed, PYTORCH, namespace, body)
            if name == "first":
                wait_for(lambda: phases(bed, namespace) == ["Running"] * 3, seconds=30)
        wait_for(lambda: bed.client.get(VOLCANO_GROUPS, namespace, "second").ok, seconds=30)
        assert "Running" not in conditions(bed, "PyTorch", namespace, "second")
        assert phases(bed, namespace).count("Running") == 3
        bed.client.delete(PYTORCH, namespace, "first", uid=uids["first"])
        wait_for(lambda: "Running" in conditions(bed, "PyTorch", namespace, "second"), seconds=40)
        assert phases(bed, namespace).count("Running") == 2


@pytest.mark.needs_kubernetes
def test_a_gang_that_does_not_fit_waits_whole_in_kubernetes_itself(tmp_path: Path) -> None:
    """Slow, because it starts a bed. https://kubernetes.io/docs/concepts/scheduling-eviction/gang-scheduling/"""
    flags = {"kube-apiserver": ["--default-watch-cache-size=50"]}
    with running(tmp_path / "bed", ["native-gang"], flags) as bed, bed.namespace() as namespace:
        server = bed.processes["kube-apiserver"]
        assert flags["kube-apiserver"][0] in Path(f"/proc/{server.pid}/cmdline").read_text()
        uids = {}
        for name, workers in (("first", 3), ("second", 2)):
            group = {
                "apiVersion": NATIVE_GROUPS.api_version,
                "kind": "PodGroup",
                "metadata": {"name": name},
                "spec": {"schedulingPolicy": {"gang": {"minCount": workers}}},
            }
            make(bed, NATIVE_GROUPS, namespace, group)
            changes = {"schedulingGroup": {"podGroupName": name}}
            body = gang(name, workers, changes=changes, policy={})
            uids[name] = make(bed, PYTORCH, namespace, body)
            if name == "first":
                wait_for(lambda: phases(bed, namespace) == ["Running"] * 3, seconds=30)

        def waits() -> bool:
            group = bed.client.get(NATIVE_GROUPS, namespace, "second").body
            found = group.get("status", {}).get("conditions") or []
            return any(
                (one["type"], one["status"]) == ("PodGroupScheduled", "False") for one in found
            )

        wait_for(waits, seconds=30, what="the group to be called unschedulable")
        assert phases(bed, namespace) == ["Pending"] * 2 + ["Running"] * 3
        bed.client.delete(PYTORCH, namespace, "first", uid=uids["first"])
        wait_for(lambda: "Running" in conditions(bed, "PyTorch", namespace, "second"), seconds=60)


@pytest.mark.needs_kubernetes
def test_a_jobset_runs_and_its_webhook_refuses_a_wrong_one(tmp_path: Path) -> None:
    """Slow, because it starts a bed. https://jobset.sigs.k8s.io/docs/concepts/"""
    container = {"name": "main", "image": "registry.example/training:1"}
    pod = {"restartPolicy": "Never", "containers": [container]}
    template = {"spec": {"parallelism": 2, "completions": 2, "template": {"spec": pod}}}
    body: dict[str, Any] = {
        "apiVersion": JOB_SETS.api_version,
        "kind": "JobSet",
        "metadata": {"name": "set"},
        "spec": {"replicatedJobs": [{"name": "workers", "replicas": 1, "template": template}]},
    }
    with running(tmp_path / "bed", ["jobset"]) as bed, bed.namespace() as namespace:
        make(bed, JOB_SETS, namespace, body)
        wait_for(lambda: phases(bed, namespace) == ["Running"] * 2, seconds=30)
        wrong = body | {"metadata": {"name": "x" * 60}}
        answer = bed.client.create(JOB_SETS, namespace, wrong)
        assert answer.status == 422
        assert "vjobset.kb.io" in answer.message
