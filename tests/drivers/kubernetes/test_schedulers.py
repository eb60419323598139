"""Adapters of schedulers: what they add to a job, and why a gang waits, in words.

The objects below are cut from what the real schedulers wrote.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from gangline.drivers.kubernetes import manifests
from gangline.drivers.kubernetes.schedulers import Room, Waiting, adapter, base, plain
from gangline.drivers.kubernetes.schedulers.room import Node
from tests.drivers.kubernetes.goldens import SAME, Case, submission

TOO_FEW = (
    "0/4 nodes are available: 1 node(s) had untolerated taint {dedicated: infra}, 3 Insufficient "
    "nvidia.com/gpu. no new claims to deallocate, preemption: 0/4 nodes are available: 1 "
    "Preemption is not helpful for scheduling, 3 No preemption victims found for incoming pod."
)


def pod(message: str = "", node: str = "", gpus: int = 4) -> dict[str, Any]:
    conditions = (
        [{"type": "PodScheduled", "status": "False", "message": message}] if message else []
    )
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"cpu": "500m"}}
    spec: dict[str, Any] = {"containers": [{"name": "pytorch", "resources": resources}]}
    spec |= {"nodeName": node} if node else {}
    return {"spec": spec, "status": {"conditions": conditions}}


def room(gpus: int, nodes: int = 4) -> Room:
    """Nodes of 8 GPUs with so many free in all, on the first ones."""
    found = []
    for number in range(nodes):
        has = {"nvidia.com/gpu": Decimal(8), "cpu": Decimal(64), "pods": Decimal(110)}
        free = has | {"nvidia.com/gpu": Decimal(min(8, max(0, gpus - 8 * number)))}
        found.append(Node(f"n{number}", has, free, {"zone": "ab"[number // 2]}))
    return Room(tuple(found))


def job(workers: int = 2, gpus: int = 4) -> dict[str, Any]:
    replica = {"replicas": workers, "template": pod(gpus=gpus)}
    return {"spec": {"pytorchReplicaSpecs": {"Worker": replica}}}


def reason(name: str, pods: Sequence[Mapping[str, Any]] = (), workers: int = 2, **more: Any) -> str:
    return adapter(name).pending_reason(Waiting(job(workers), pods, **more))


class TestPlain:
    def test_free_gpus_are_counted(self) -> None:
        waits = [pod(TOO_FEW), pod(TOO_FEW)]
        said = reason("plain", waits, room=room(3))
        assert said == "Waiting for 8 GPUs, 3 free on 4 nodes."

    def test_without_a_count_the_scheduler_is_quoted(self) -> None:
        said = reason("plain", [pod(TOO_FEW), pod(node="n1")])
        assert said == (
            "1 of 2 pods waits for a node; none of 4 nodes fits: 1 keeps such pods away (taint "
            "dedicated), 3 have too few free GPUs."
        )

    def test_pods_that_have_a_node_wait_for_none(self) -> None:
        assert reason("plain", [pod(node="n1")]) == reason("plain") == ""

    @pytest.mark.parametrize(
        ("message", "words"),
        [
            ("0/1 nodes are available: 1 Insufficient cpu.",
             "the only node does not fit: 1 has too little free CPU"),
            ("0/3 nodes are available: 2 Too many pods, 1 Insufficient memory.",
             "none of 3 nodes fits: 2 are full of pods, 1 has too little free memory"),
            ("0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. "
             "preemption: 0/2 nodes are available",
             "none of 2 nodes fits: 2 are not of the requested kind"),
            ("0/2 nodes are available: 1 node(s) were unschedulable, 1 node(s) had untolerated "
             "taint {a: b, c}.",
             "none of 2 nodes fits: 1 is closed to new pods, 1 keeps such pods away (taint a)"),
            ("0/2 nodes are available: 2 Insufficient rdma/hca.",
             "none of 2 nodes fits: 2 have too little free rdma/hca"),
            ("0/2 nodes are available: 2 node(s) had something new.",
             "none of 2 nodes fits: 2 node(s) had something new"),
            ("no nodes available to schedule pods", "no nodes available to schedule pods"),
            ("", ""),
        ],
    )  # fmt: skip
    def test_a_verdict_is_put_in_words(self, message: str, words: str) -> None:
        assert plain.verdict(message) == words


ZONE = "topology.kubernetes.io/zone"


def bonded(scheduler: str, framework: str, how: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A job whose gang is bound to one zone, and what belongs to it."""
    asked = submission(framework, SAME, podAffinity__key=ZONE, podAffinity__type=how)
    native = manifests.render(asked, scheduler)
    return native["job"], native["dependents"]


def affinity(template: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = template["spec"].get("affinity") or {}
    return found


def scattered(*free: int) -> Room:
    """As many nodes, with so many GPUs free on each."""
    nodes = room(0).nodes
    return Room(
        tuple(
            replace(node, free={**node.free, "nvidia.com/gpu": Decimal(gpus)})
            for node, gpus in zip(nodes, free, strict=True)
        )
    )


def queue(
    name: str, capability: str = "", allocated: str = "", parent: str = "", state: str = "Open"
) -> dict[str, Any]:
    spec: dict[str, Any] = {"capability": {"nvidia.com/gpu": capability}} if capability else {}
    spec |= {"parent": parent} if parent else {}
    status = {"state": state, "allocated": {"nvidia.com/gpu": allocated} if allocated else {}}
    return {"metadata": {"name": name}, "spec": spec, "status": status}


def group(needs: str = "8", phase: str = "Pending", **conditions: str) -> dict[str, Any]:
    return {
        "spec": {"minMember": 2, "queue": "team-a", "minResources": {"nvidia.com/gpu": needs}},
        "status": {
            "phase": phase,
            "conditions": [{"type": t, "status": s} for t, s in conditions.items()],
        },
    }


class TestVolcano:
    @pytest.mark.parametrize(
        ("queues", "words"),
        [
            ([queue("team-a", "16", "16")], "Queue team-a is at its limit of 16 GPUs."),
            ([queue("team-a", "16", "12")],
             "Queue team-a has 4 GPUs left of 16 GPUs, and this needs 8 GPUs."),
            ([queue("team-a", "64", "0", "dept"), queue("dept", "16", "16")],
             "Queue dept is at its limit of 16 GPUs."),
            ([queue("other")], "Queue team-a does not exist."),
            ([queue("team-a", state="Closed")], "Queue team-a is closed and takes nothing."),
            ([queue("team-a", "16", "8")], "Waiting in the queue for 8 GPUs."),
            ([queue("team-a", "64", "0", "dept"), queue("dept", parent="dept")],
             "Waiting in the queue for 8 GPUs."),
        ],
    )  # fmt: skip
    def test_a_queue_without_room_is_named(
        self, queues: Sequence[Mapping[str, Any]], words: str
    ) -> None:
        objects = {"podgroups": [group()], "queues": queues}
        assert reason("volcano", objects=objects) == words

    @pytest.mark.parametrize(
        ("queues", "is_never"),
        [
            ([queue("team-a", "4")], True),
            ([queue("team-a", "64", "0", "dept"), queue("dept", "4")], True),
            ([queue("team-a", "8", "8")], False),
        ],
    )
    def test_more_than_a_queue_of_the_chain_may_hold_can_never_start(
        self, queues: Sequence[Mapping[str, Any]], is_never: bool
    ) -> None:
        waiting = Waiting(job(2), (), objects={"podgroups": [group()], "queues": queues})
        assert bool(adapter("volcano").never(waiting)) is is_never

    def test_what_was_let_in_waits_for_nodes_and_not_for_its_queue(self) -> None:
        objects = {"podgroups": [group(phase="Inqueue")], "queues": [queue("team-a", "8", "8")]}
        said = reason("volcano", [pod(TOO_FEW)] * 2, objects=objects, room=room(3))
        assert said == "Waiting for 8 GPUs, 3 free on 4 nodes."
        assert "too few free GPUs" in reason("volcano", [pod(TOO_FEW)], objects=objects)

    @pytest.mark.parametrize("phase", ["Pending", "Inqueue"])
    def test_a_gang_that_fits_nowhere_says_so_once(self, phase: str) -> None:
        """Its pods say only that their group is not ready."""
        waits = [pod("pod group is not ready, 2 Pending, 2 minAvailable; Pending: 2 Unschedulable")]
        objects = {"podgroups": [group(phase=phase, Unschedulable="True")], "queues": []}
        for free, words in (
            (None, "There is no room for all 2 pods together."),
            (room(8), "There is no room for all 2 pods together."),  # not for what it counts
            (room(7), "Waiting for 8 GPUs, 7 free on 4 nodes."),
        ):
            assert reason("volcano", waits * 2, objects=objects, room=free) == words

    def test_before_there_are_pods_the_group_is_asked(self) -> None:
        objects = {"podgroups": [group()], "queues": [queue("team-a", "16", "0")]}
        said = reason("volcano", objects=objects, room=room(3))
        assert said == "Waiting for 8 GPUs, 3 free on 4 nodes."
        objects["podgroups"][0]["spec"]["minResources"] = {"cpu": "4"}
        assert reason("volcano", objects=objects) == "Waiting in the queue for room for 2 pods."

    def test_a_gang_that_runs_waits_for_nothing(self) -> None:
        """The condition of its waiting stays."""
        runs = group(phase="Running", Unschedulable="True")
        assert reason("volcano", [pod(node="n1")], objects={"podgroups": [runs]}) == ""

    def test_without_a_group_the_pods_speak(self) -> None:
        assert reason("volcano") == ""
        assert "waits for a node" in reason("volcano", [pod(TOO_FEW)])

    def test_the_operator_would_make_the_same_group(self) -> None:
        """It fills the group that is there from the job: both must say the same."""
        job, group = Case("PyTorch", SAME, "volcano").objects()
        policy = job["spec"]["runPolicy"]["schedulingPolicy"]
        assert group["spec"] == {
            "minMember": policy["minAvailable"],
            "queue": policy["queue"],
            "minResources": policy["minResources"],
            "priorityClassName": policy["priorityClass"],
        }
        assert group["spec"]["minMember"] == 4
        assert group["metadata"]["name"] == job["metadata"]["name"]
        # The MPI operator leaves a group alone that its job does not control.
        assert group["metadata"]["ownerReferences"][0]["controller"] is True

    def test_without_a_priority_none_is_named(self) -> None:
        rendered = manifests.render(submission(priorityClass=None), "volcano")
        assert "priorityClassName" not in rendered["dependents"][0]["spec"]
        assert "priorityClass" not in rendered["job"]["spec"]["runPolicy"]["schedulingPolicy"]

    @pytest.mark.parametrize(("named", "used"), [("team-a", "team-a"), ("", "default")])
    def test_it_waits_in_the_projects_queue_or_the_default_one(self, named: str, used: str) -> None:
        rendered = manifests.render(replace(submission(), queue=named), "volcano")
        policy = rendered["job"]["spec"]["runPolicy"]["schedulingPolicy"]
        assert policy["queue"] == rendered["dependents"][0]["spec"]["queue"] == used

    def test_a_queue_with_queues_below_it_takes_none(self) -> None:
        tree = [queue("root"), queue("team-a"), queue("team-a-1", parent="team-a")]
        assert [q["metadata"]["name"] for q in adapter("volcano").leaves(tree)] == ["team-a-1"]
        said = reason("volcano", objects={"podgroups": [group()], "queues": tree})
        assert said == "Queue team-a has queues below it and takes no workloads itself."


class TestNative:
    def test_every_pod_names_the_group_of_all(self) -> None:
        job, group = Case("PyTorch", SAME, "native").objects()
        found = [t["spec"]["schedulingGroup"]["podGroupName"] for t in base.templates(job)]
        assert found == [group["metadata"]["name"]] * 2
        assert group["spec"]["schedulingPolicy"]["gang"]["minCount"] == 4

    def test_mpi_has_no_field_for_it(self) -> None:
        (job,) = Case("MPI", SAME, "native").objects()
        assert all("schedulingGroup" not in t["spec"] for t in base.templates(job))

    def test_the_group_says_that_it_does_not_fit(self) -> None:
        message = "0/1 placements are available, first placement status: pod group is unschedulable"
        condition = {"type": "PodGroupScheduled", "status": "False", "message": message}
        gang = {"schedulingPolicy": {"gang": {"minCount": 3}}}
        objects = {"podgroups": [{"spec": gang, "status": {"conditions": [condition]}}]}
        waits = [pod("pod group is unschedulable, waiting for minCount pods from a gang")] * 3
        said = reason("native", waits, 3, objects=objects, room=room(8))
        assert said == "Waiting for 12 GPUs, 8 free on 4 nodes."
        for free in (room(24), None):  # enough, but for something that is not counted
            said = reason("native", waits, 3, objects=objects, room=free)
            assert said == "There is no room for all 3 pods together."
        assert reason("native", objects=objects) == "There is no room for all 3 pods together."
        assert reason("native", [pod(node="n1")] * 3, objects=objects) == ""
        condition["status"] = "True"
        assert reason("native", objects=objects) == ""

    def test_a_bond_of_nodes_is_the_groups(self) -> None:
        job, groups = bonded("native", "PyTorch", "Required")
        assert groups[0]["spec"]["schedulingConstraints"] == {"topology": [{"key": ZONE}]}
        assert all("podAffinity" not in affinity(t) for t in base.templates(job))

    def test_without_a_group_the_pods_are_bound_to_each_other(self) -> None:
        job, groups = bonded("native", "MPI", "Required")
        assert groups == []
        assert all("podAffinity" in affinity(t) for t in base.templates(job))

    def test_a_bond_that_no_nodes_can_hold_is_told(self) -> None:
        condition = {"type": "PodGroupScheduled", "status": "False"}
        spec = {"schedulingConstraints": {"topology": [{"key": "zone"}]}}
        objects = {"podgroups": [{"spec": spec, "status": {"conditions": [condition]}}]}
        said = reason("native", [pod("?")] * 3, 3, objects=objects, room=scattered(8, 0, 8, 0))
        assert said == "Waiting for 12 GPUs in one zone; a has the most, 8 free."
        said = reason("native", [pod("?")] * 3, 3, objects=objects, room=scattered(6, 6, 0, 0))
        assert said == (
            "Waiting for room for 3 workers with 4 GPUs each; 12 GPUs free on 4 nodes, "
            "enough for 2."
        )
        said = reason("native", [pod("?")] * 3, 3, objects=objects, room=scattered(8, 4, 0, 0))
        assert said == "There is no room in any one zone for all 3 pods together."


class TestKueue:
    def test_it_is_held_out_of_every_queue_until_it_is_let_go(self) -> None:
        (job,) = Case("PyTorch", SAME, "kueue").objects()
        assert "kueue.x-k8s.io/queue-name" not in job["metadata"]["labels"]
        assert job["spec"]["runPolicy"]["suspend"] is True
        change = adapter("kueue").let_go("team-a")
        assert change.job == {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "team-a"}}}
        assert adapter("kueue").let_go("").job["metadata"]["labels"] == {
            "kueue.x-k8s.io/queue-name": "default"
        }

    def test_suspend_is_never_touched(self) -> None:
        """Kueue takes that back within seconds."""
        for change in (adapter("kueue").let_go(""), adapter("kueue").hold_back()):
            assert "spec" not in change.job
            assert "spec" not in change.without_theirs

    def test_quota_is_quoted(self) -> None:
        condition = {
            "type": "QuotaReserved",
            "status": "False",
            "message": "couldn't assign flavors: insufficient unused quota for nvidia.com/gpu.",
        }
        objects = {"workloads": [{"status": {"conditions": [condition]}}]}
        assert reason("kueue", objects=objects) == (
            "Waiting for quota: couldn't assign flavors: insufficient unused quota for "
            "nvidia.com/gpu."
        )

    def test_what_was_admitted_waits_for_nodes(self) -> None:
        admitted = {"status": {"conditions": [{"type": "Admitted", "status": "True"}]}}
        objects = {"workloads": [admitted]}
        assert reason("kueue", [pod(node="n1")], objects=objects) == ""
        assert "waits for a node" in reason("kueue", [pod(TOO_FEW)], objects=objects)


class TestKai:
    OBJECTS: Mapping[str, Any] = {
        "podgroups": [
            {
                "metadata": {"labels": {"kai.scheduler/node-pool": "b"}},
                "status": {
                    "schedulingConditions": [
                        {"nodePool": "a", "message": "Old news."},
                        {"nodePool": "b", "reasons": [{"message": "Queue p-1 is over quota."}]},
                    ]
                },
            }
        ]
    }

    def test_the_condition_of_its_own_pool_counts(self) -> None:
        said = reason("kai", [pod(TOO_FEW)], objects=self.OBJECTS)
        assert said == "Queue p-1 is over quota."

    def test_and_only_while_a_pod_has_no_node(self) -> None:
        assert reason("kai", [pod(node="n1")], objects=self.OBJECTS) == ""
