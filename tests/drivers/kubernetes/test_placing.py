"""Topologies and parts of GPUs: what each scheduler is told, and what it is not asked for."""

from typing import Any

import pytest

from gangline.drivers.facts import Facts
from gangline.drivers.kubernetes import manifests, node_labels
from gangline.drivers.kubernetes.access import ClusterCredentials, Options
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.schedulers import ADAPTERS
from gangline.spec.problems import Problem
from tests.drivers.kubernetes.goldens import NONE, SAME, ref_of, submission

ZONE = "topology.kubernetes.io/zone"
PARTS: dict[str, Any] = {"compute__gpuRequestType": "portion", "compute__gpuPortionRequest": 0.25}
SHARES = {name for name in ADAPTERS if not ADAPTERS[name].unsupported}


def driver(scheduler: str) -> KubernetesDriver:
    return KubernetesDriver(
        Client(ClusterCredentials("https://nowhere.invalid")), Options(scheduler=scheduler)
    )


def refused(
    scheduler: str, framework: str = "PyTorch", mode: str = SAME, **more: Any
) -> list[Problem]:
    found = driver(scheduler).check(submission(framework, mode, **more), Facts("1"))
    return [p for p in found if p.path.startswith("podAffinity")]


def worker(scheduler: str, framework: str = "PyTorch", **changes: Any) -> dict[str, Any]:
    job = manifests.job(ref_of(submission(framework, NONE, **changes), scheduler))
    roles = next(value for key, value in job["spec"].items() if key.endswith("ReplicaSpecs"))
    found: dict[str, Any] = roles["Worker"]["template"]
    return found


@pytest.mark.parametrize("scheduler", ADAPTERS)
def test_parts_of_gpus_are_for_the_scheduler_that_can_give_them(scheduler: str) -> None:
    unsupported = driver(scheduler).unsupported
    template = worker(scheduler, **PARTS, compute__gpuDevicesRequest=1)
    limits = template["spec"]["containers"][0]["resources"]["limits"]
    marks = template["metadata"]["annotations"]
    if scheduler in SHARES:
        assert marks["gpu-fraction"] == "0.25"
        assert "nvidia.com/gpu" not in limits
    else:
        assert "whole GPUs" in unsupported["compute.gpuPortionRequest"]
        assert "gpu-fraction" not in marks
        assert limits["nvidia.com/gpu"] == "1"


def test_only_kai_shares_gpus() -> None:
    assert sorted(SHARES) == ["kai"]


def test_memory_of_a_gpu_is_told_in_whole_mebibytes() -> None:
    by_memory: dict[str, Any] = {
        "compute__gpuRequestType": "memory",
        "compute__gpuDevicesRequest": 1,
    }
    marks = worker("kai", **by_memory, compute__gpuMemoryRequest="8G")["metadata"]["annotations"]
    assert marks["gpu-memory"] == "7630"


def test_several_devices_are_counted_and_torchrun_finds_them() -> None:
    made = manifests.job(ref_of(submission(**PARTS, compute__gpuDevicesRequest=2), "kai"))
    marks = made["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"]["annotations"]
    assert marks["gpu-fraction-num-devices"] == "2"
    assert made["spec"]["nprocPerNode"] == "auto"


def test_a_launcher_takes_no_part_of_a_gpu() -> None:
    made = manifests.job(ref_of(submission("MPI", SAME, **PARTS), "kai"))
    launcher = made["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["metadata"]
    assert "gpu-fraction" not in launcher["annotations"]


@pytest.mark.parametrize("scheduler", ADAPTERS)
def test_a_preferred_topology_is_told_or_refused_and_never_dropped(scheduler: str) -> None:
    template = worker(scheduler, podAffinity__type="Preferred")
    problems = refused(scheduler, mode=NONE, podAffinity__type="Preferred")
    is_refused = bool(problems) or "podAffinity.key" in driver(scheduler).unsupported
    job = manifests.job(ref_of(submission(podAffinity__type="Preferred"), scheduler))
    is_told = (
        "podAffinity" in template["spec"]["affinity"]
        or any("preferred" in key for key in template["metadata"]["annotations"])
        or any("preferred" in key for key in job["metadata"]["annotations"])
    )
    assert is_told != is_refused


def test_a_gang_of_kubernetes_knows_no_preference() -> None:
    (problem,) = refused("native", mode=NONE, podAffinity__type="Preferred")
    assert (problem.path, problem.accepted) == ("podAffinity.type", "Required")
    # Pods of MPI are placed one by one there.
    assert refused("native", "MPI", NONE, podAffinity__type="Preferred") == []
    term = worker("native", "MPI")["spec"]["affinity"]["podAffinity"]
    assert "requiredDuringSchedulingIgnoredDuringExecution" in term


@pytest.mark.parametrize(
    ("scheduler", "count"), [("plain", 0), ("kueue", 0), ("kai", 1), ("native", 1)]
)
def test_a_master_elsewhere_needs_a_scheduler_that_places_roles_apart(
    scheduler: str, count: int
) -> None:
    found = refused(scheduler, master={"podAffinity.key": "rack"})
    assert len(found) == count
    assert all("must be as the workers have it" in problem.message for problem in found)
    assert refused(scheduler) == []


def node(**labels: str) -> dict[str, Any]:
    return {"metadata": {"labels": {key.replace("__", "/"): text for key, text in labels.items()}}}


NODES = [
    node(**{ZONE: "a", "kubernetes.io/hostname": "n1", "node.kubernetes.io/instance-type": "p5"}),
    node(**{ZONE: "b", "cloud.example/gpu-rack": "7", "beta.kubernetes.io/os": "linux"}),
    {"metadata": {}},
]


def test_topologies_and_types_of_the_nodes_are_offered() -> None:
    assert node_labels.suggestions(NODES) == {
        "nodeType": ["p5"],
        "podAffinity.key": ["cloud.example/gpu-rack", "kubernetes.io/hostname", ZONE],
    }


def test_a_label_that_no_node_has_is_refused_with_those_they_have() -> None:
    facts = Facts("1", detail={"nodes": {"labels": node_labels.labels_of(NODES)}})
    assert list(node_labels.check(submission(), facts)) == []
    (problem,) = node_labels.check(submission(podAffinity__key="zone"), facts)
    assert (problem.path, problem.value) == ("podAffinity.key", "zone")
    assert ZONE in problem.accepted


def test_of_too_many_labels_none_is_refused() -> None:
    many = node_labels.labels_of([node(**{f"label-{n}": "x"}) for n in range(300)])
    assert len(many) == node_labels.MOST_KEYS
    facts = Facts("1", detail={"nodes": {"labels": many}})
    assert list(node_labels.check(submission(podAffinity__key="zone"), facts)) == []
