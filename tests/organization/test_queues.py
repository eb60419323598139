"""Queues of Volcano: what is wanted of them, and what a project's page says about its own."""

from typing import Any

import pytest

from gangline.clusters import objects
from gangline.clusters.models import Cluster, ClusterObject, ObjectState
from gangline.organization import queues
from gangline.organization.models import Department, Project
from gangline.resources.registry import get
from gangline.resources.services import delete, make, update
from gangline.scopes.models import Installation
from gangline.scopes.services import found

pytestmark = pytest.mark.django_db
CAPACITY = {"admission": "cluster", "cpus": 64.0, "memory": 2**38, "gpu_count": 32}


@pytest.fixture
def department() -> Department:
    found(name="Test")
    cluster = make("cluster", actor=None, name="lab", kind="kubernetes")
    facts = {"detail": {"schedulers": [{"name": "volcano", "used": True}]}}
    Cluster.objects.filter(pk=cluster.pk).update(facts=facts, capacity=CAPACITY)
    cluster.refresh_from_db()
    made: Department = make("department", cluster=cluster, name="research")
    return made


def row(department: Department, **values: Any) -> dict[str, Any]:
    return {"quotas": [{"node_pool": department.cluster.pools.get(), **values}]}


def project(department: Department, name: str, **values: Any) -> Project:
    parts = row(department, **values)
    made: Project = make("project", department=department, name=name, parts=parts)
    return made


def spec(node: Department | Project) -> dict[str, Any]:
    key = "department" if isinstance(node, Department) else "project"
    found: dict[str, Any] = objects.of(node, key).get().wanted["spec"]
    return found


def gpus(node: Department | Project, part: str = "deserved") -> str | None:
    value = spec(node).get(part, {}).get("nvidia.com/gpu")
    return None if value is None else str(value)


@pytest.mark.parametrize(
    ("changes", "own_queue", "is_enforced", "who"),
    [
        ({"capacity": {**CAPACITY, "admission": "ours"}}, "", True, "Gangline"),
        ({}, "", True, "Volcano"),
        ({}, "theirs", False, ""),
        ({"facts": {}}, "", False, ""),
    ],
)
def test_what_happens_above_a_quota_is_told_by_who_enforces_it(
    department: Department, changes: dict[str, Any], own_queue: str, is_enforced: bool, who: str
) -> None:
    Cluster.objects.filter(pk=department.cluster_id).update(**changes)
    department.cluster.refresh_from_db()
    told = queues.enforcement(department.cluster, own_queue)
    assert told.is_enforced == is_enforced
    assert told.above.startswith(f"{who} stops" if is_enforced else "Workloads above")


def test_a_queue_for_each_in_a_tree_sized_by_the_quota(department: Department) -> None:
    vision = project(department, "vision", gpus=8, gpus_limit=12, weight=5)
    strict = project(department, "strict", gpus=2, over_quota=False)
    install = str(Installation.objects.get().pk)[:8]
    names = set(ClusterObject.objects.values_list("name", flat=True))
    assert names == {
        f"gl-{install}-d{department.pk}",
        f"gl-{install}-p{vision.pk}",
        f"gl-{install}-p{strict.pk}",
    }
    assert spec(department)["parent"] == "root"
    assert spec(vision)["parent"] == f"gl-{install}-d{department.pk}"
    assert (gpus(vision), gpus(vision, "capability"), spec(vision)["weight"]) == ("8", "12", 5)
    assert (gpus(strict), gpus(strict, "capability"), spec(strict)["weight"]) == ("2", "2", 2)
    assert gpus(department) == "10", "an unlimited department deserves what its projects do"
    assert "capability" not in spec(department)
    assert spec(vision)["reclaimable"] is True
    assert "guarantee" not in spec(vision)


def test_no_child_is_larger_than_what_holds_it(
    department: Department, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gangline.organization.quotas.limits_to_department", lambda: False)
    resource = get("department")
    update(resource, actor=None, obj=department, values={}, parts=row(department, gpus=10))
    first = project(department, "first", gpus=8, gpus_limit=20)
    second = project(department, "second", gpus=8)
    assert (gpus(department), gpus(first), gpus(second)) == ("10", "8", "2")
    parts = row(department, gpus=6, gpus_limit=16)
    update(resource, actor=None, obj=department, values={}, parts=parts)
    assert (gpus(first), gpus(second), gpus(first, "capability")) == ("6", "0", "16")
    due = {o.owner_type: o.due_at for o in ClusterObject.objects.order_by("-pk") if o.due_at}
    assert due["project"] < due["department"], "children first when it shrinks"


def test_a_queue_of_others_is_never_written(department: Department) -> None:
    vision = project(department, "vision", gpus=4)
    objects.of(vision, "project").update(state=ObjectState.OK, applied_hash="x")
    assert queues.queue_of(vision) == objects.of(vision, "project").get().name
    update(get("project"), actor=None, obj=vision, values={"own_queue": "team-a"})
    vision.refresh_from_db()
    assert queues.queue_of(vision) == "team-a"
    assert objects.of(vision, "project").get().state == ObjectState.DELETING


def test_the_page_says_which_right_is_missing_and_workloads_wait_in_the_default_queue(
    department: Department,
) -> None:
    vision = project(department, "vision", gpus=4)
    assert queues.queue_of(vision) == ""
    objects.of(vision, "project").update(state=ObjectState.FORBIDDEN)
    assert "deploy/kubernetes/queues.yaml" in queues.state_of(vision)


def test_the_queue_goes_with_the_project(department: Department) -> None:
    vision = project(department, "vision", gpus=4)
    delete(get("project"), actor=None, obj=vision)
    assert objects.of(vision, "project").get().state == ObjectState.DELETING
