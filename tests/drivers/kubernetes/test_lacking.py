"""What a gang lacks, counted on nodes: now, or for ever."""

from decimal import Decimal
from typing import Any

import pytest

from gangline.drivers.kubernetes.labels import ROLE
from gangline.drivers.kubernetes.schedulers import insufficient_resources
from gangline.drivers.kubernetes.schedulers.room import Room, counted

H100 = {"node.kubernetes.io/instance-type": "h100"}
OURS = [{"key": "dedicated", "operator": "Equal", "value": "training", "effect": "NoSchedule"}]


def node(name: str, gpus: int = 8, **changes: Any) -> dict[str, Any]:
    """A node of 8 GPUs, 64 cores and 512 GB."""
    has = {"cpu": "64", "memory": "512G", "pods": "110", "nvidia.com/gpu": str(gpus)}
    if not gpus:
        del has["nvidia.com/gpu"]
    ready = {"type": "Ready", "status": "False" if changes.get("is_down") else "True"}
    return {
        "metadata": {"name": name, "labels": changes.get("labels", {})},
        "spec": {
            "taints": changes.get("taints", []),
            "unschedulable": changes.get("is_cordoned", False),
        },
        "status": {"allocatable": has, "conditions": [ready]},
    }


def spec(gpus: int = 0, cpu: str = "1", memory: str = "1G", **more: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    resources = {"requests": {"cpu": cpu, "memory": memory}, "limits": limits}
    return {"containers": [{"name": "main", "resources": resources}], **more}


def job(workers: int, worker: dict[str, Any], master: dict[str, Any] | None = None) -> Any:
    roles = {"Worker": {"replicas": workers, "template": {"spec": worker}}}
    if master is not None:
        roles = {"Master": {"replicas": 1, "template": {"spec": master}}, **roles}
    return {"spec": {"pytorchReplicaSpecs": roles}}


def placed(name: str, role: str = "worker", **asked: Any) -> dict[str, Any]:
    return {
        "metadata": {"labels": {ROLE: role}},
        "spec": {"nodeName": name, **spec(**asked)},
    }


FOUR = [node(f"n{number}") for number in range(4)]


def now(nodes: list[Any], pods: list[Any], job: Any) -> str:
    return insufficient_resources.shortage(
        counted(nodes, pods), insufficient_resources.unplaced(job, ())
    )


def ever(nodes: list[Any], job: Any) -> str:
    return insufficient_resources.never(counted(nodes, ()), insufficient_resources.whole(job))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (job(2, spec(gpus=4)), "waiting for 8 GPUs, 3 free on 4 nodes"),
        (job(1, spec(gpus=1), spec(gpus=3)), "waiting for 4 GPUs, 3 free on 4 nodes"),
        (job(3, spec(cpu="60")), "waiting for 180 CPU cores, 136 free on 4 nodes"),
        (job(4, spec(memory="500G")), "waiting for 2 TB of memory, 1.9 TB free on 4 nodes"),
        (job(2, spec(cpu="30")), ""),
        (job(1, spec(gpus=3)),
         "waiting for room for a worker with 3 GPUs; 3 GPUs free on 4 nodes, enough for none"),
        (job(500, spec(cpu="1m", memory="1M")), "waiting for 500 pods, 436 free on 4 nodes"),
    ],
)  # fmt: skip
def test_what_is_lacking_now(asked: Any, words: str) -> None:
    used = [placed(f"n{number}", gpus=7 if number < 3 else 8, cpu="30", memory="30G")
            for number in range(4)]  # fmt: skip
    assert now(FOUR, used, asked) == words


def test_only_what_has_no_node_is_asked_for() -> None:
    pods = [placed("n0", gpus=8), placed("n1", "master", gpus=8)]
    demands = insufficient_resources.unplaced(job(3, spec(gpus=8), spec(gpus=8)), pods)
    assert [(one.role, one.count) for one in demands] == [("worker", 2)]


def test_nodes_of_another_kind_do_not_count() -> None:
    nodes = [node("a", labels=H100), node("b"), node("c", taints=OURS)]
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": key, "operator": "In", "values": [value]}
                            for key, value in H100.items()
                        ]
                    }
                ]
            }
        }
    }
    wanted = job(2, spec(gpus=8, affinity=affinity))
    assert now(nodes, [], wanted) == "waiting for 16 GPUs, 8 free on 1 node"
    assert ever(nodes, wanted) == (
        "the workload needs 16 GPUs, and its allowed nodes have 8 in all"
    )
    assert now(nodes, [], job(3, spec(gpus=8))) == "waiting for 24 GPUs, 16 free on 2 nodes"
    tolerant = [{"key": "dedicated", "operator": "Exists"}]
    assert now(nodes, [], job(3, spec(gpus=8, tolerations=tolerant))) == ""


@pytest.mark.parametrize("closed", ["is_cordoned", "is_down"])
def test_a_closed_node_has_nothing_free_and_may_come_back(closed: str) -> None:
    nodes = [node("a"), node("b", **{closed: True})]
    asked = job(2, spec(gpus=8))
    assert now(nodes, [], asked) == "waiting for 16 GPUs, 8 free on 1 node"
    assert ever(nodes, asked) == ""


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (job(4, spec(gpus=8)), ""),
        (job(6, spec(gpus=8), spec(gpus=4)),
         "the workload needs 52 GPUs, and the cluster has 32 in all"),
        (job(1, spec(gpus=16)), "each worker needs 16 GPUs, and no node has more than 8"),
        (job(1, spec(gpus=8), spec(cpu="65")),
         "each master needs 65 CPU cores, and no node has more than 64"),
        (job(5, spec(gpus=5)),
         "5 workers need 5 GPUs each, and 4 nodes hold 4 of them even when empty"),
        (job(5, spec(memory="500G")),
         "the workload needs 2.5 TB of memory, and the cluster has 2 TB in all"),
    ],
)  # fmt: skip
def test_what_can_never_be(asked: Any, words: str) -> None:
    assert ever(FOUR, asked) == words


def test_a_cluster_that_has_none_of_them_says_none() -> None:
    assert ever([node("a", gpus=0)], job(1, spec(gpus=1))) == (
        "the workload needs 1 GPU, and the cluster has none in all"
    )


def test_where_no_node_is_of_the_kind_one_may_still_come() -> None:
    asked = job(1, spec(gpus=64, nodeSelector={"pool": "new"}))
    assert ever(FOUR, asked) == now(FOUR, [], asked) == ""
    assert ever([], job(1, spec(gpus=1))) == ""


def test_what_first_containers_ask_for_counts_once() -> None:
    pod = spec(cpu="2", initContainers=spec(cpu="5", memory="512M")["containers"])
    (demand,) = insufficient_resources.whole(job(1, pod))
    assert demand.requests == {
        "pods": Decimal(1), "cpu": Decimal(5), "memory": Decimal(10**9)
    }  # fmt: skip


def test_within_one_zone_the_best_is_named() -> None:
    nodes = [node(f"n{n}", labels={"x/zone": "ab"[n // 2]}) for n in range(4)]
    used = [placed("n0", gpus=8), placed("n2", gpus=4)]
    room = counted(nodes, used)
    asked = insufficient_resources.whole(job(2, spec(gpus=8)))
    assert insufficient_resources.within(room, asked, "x/zone") == (
        "waiting for 16 GPUs in one zone; b has the most, 12 free", ""
    )  # fmt: skip
    large = insufficient_resources.whole(job(3, spec(gpus=8)))
    assert insufficient_resources.within(room, large, "x/zone")[1] == (
        "the workload needs 24 GPUs in one zone, and a has the most, 16 in all"
    )
    small = insufficient_resources.whole(job(1, spec(gpus=8)))
    assert insufficient_resources.within(room, small, "x/zone") == ("", "")
    assert insufficient_resources.within(room, small, "no/label") == ("", "")


def test_more_than_a_node_has_is_never_less_than_nothing() -> None:
    crowded = counted([node("a")], [placed("a", gpus=8), placed("a", gpus=8)])
    assert crowded.free("nvidia.com/gpu") == 0
    assert Room(()).free("cpu") == 0
