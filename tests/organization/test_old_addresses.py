"""Below ``/v1/k8s/clusters/{id}`` the same projects, departments and pools, by their old names."""

import json
from typing import Any

import pytest
from django.test import Client

from gangline.organization.models import Project
from gangline.resources.services import make
from tests.support.world import World

pytestmark = pytest.mark.django_db
JSON = "application/json"


def ask(
    world: World, method: str, path: str, body: Any = None, who: str = "administrator"
) -> tuple[int, Any]:
    answer = Client(headers=world.headers(who)).generic(
        method,
        f"/v1/k8s/clusters/{world.cluster.pk}/{path}",
        b"" if body is None else json.dumps(body).encode(),
        JSON,
    )
    return answer.status_code, answer.json() if answer.content else None


def new(world: World, path: str) -> Any:
    return Client(headers=world.headers("administrator")).get(f"/api/v1/{path}").json()


def test_old_and_new_tell_the_same_project(world: World) -> None:
    status, old = ask(world, "GET", f"projects/{world.vision.pk}")
    now = new(world, f"org-unit/projects/{world.vision.pk}")
    assert status == 200
    assert (old["id"], old["name"], old["clusterUuid"]) == (
        int(now["id"]),
        "vision",
        now["clusterId"],
    )
    assert (old["departmentId"], old["departmentName"]) == (world.department.pk, "research")
    assert (old["namespace"], old["phase"]) == (now["requestedNamespace"], now["status"]["phase"])
    (quota,), (held,) = now["resources"], old["nodePoolsResources"]
    gpu = quota["gpu"]
    assert held["gpu"] == {"deserved": 2, "maxAllowed": gpu["limit"]}
    assert old["deservedGpus"] == quota["gpu"]["deserved"] == 2


def test_lists_hold_what_one_may_see_on_this_cluster(world: World) -> None:
    assert {one["name"] for one in ask(world, "GET", "projects")[1]} == {"vision", "nlp"}
    seen = ask(world, "GET", "projects?excludePermissions=true", who="viewer-vision")[1]
    assert [one["name"] for one in seen] == ["vision"]
    assert [one["name"] for one in ask(world, "GET", "departments")[1]] == ["research"]
    assert [one["name"] for one in ask(world, "GET", "node-pools")[1]] == ["default"]
    for path in ("projects", "departments", "node-pools"):
        assert ask(world, "GET", path, who="stranger")[0] == 404
        absent = Client(headers=world.headers("administrator")).get(
            f"/v1/k8s/clusters/3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11/{path}"
        )
        assert absent.status_code == 404


def test_a_project_is_made_changed_and_deleted_by_its_old_names(world: World) -> None:
    body = {"name": "old-style", "departmentId": world.department.pk, "deservedGpus": 1,
            "maxAllowedGpus": 2, "permissions": None}  # fmt: skip
    status, made = ask(world, "POST", "projects", body)
    assert (status, made["deservedGpus"], made["maxAllowedGpus"]) == (200, 1, 2)
    (quota,) = new(world, f"org-unit/projects/{made['id']}")["resources"]
    assert (quota["gpu"]["deserved"], quota["gpu"]["limit"]) == (1, 2)
    assert ask(world, "POST", "projects", body)[0] == 409
    memory = {"deserved": 1024, "maxAllowed": 2048}
    rows = [{"nodePool": {"name": "default"}, "memory": memory}]
    change = {"name": "old-style", "nodePoolsResources": rows}
    status, changed = ask(world, "PUT", f"projects/{made['id']}", change)
    (held,) = changed["nodePoolsResources"]
    assert (status, held["memory"]["deserved"], held["memory"]["maxAllowed"]) == (200, 1024, 2048)
    assert ask(world, "DELETE", f"projects/{made['id']}") == (200, changed)
    assert not Project.objects.filter(name="old-style").exists()


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ([], ""),
        ({"name": 7}, "name"),
        ({"name": "a-b", "parentId": "1"}, "parentId"),
        ({"name": "a-b", "departmentId": 999_999}, "parentId"),
        ({"name": "a-b", "nodePoolsResources": {}}, "nodePoolsResources"),
        ({"name": "a-b", "nodePoolsResources": [{"gpus": 1}]}, "nodePoolsResources.gpus"),
        ({"name": "a-b", "deservedGpus": "two"}, "resources.0.gpu.deserved"),
    ],
)
def test_bad_values_name_their_field(world: World, body: Any, path: str) -> None:
    status, told = ask(world, "POST", "projects", body)
    assert (status, told["problems"][0]["path"]) == (400, path)
    assert Project.objects.count() == 2


def test_who_may_not_is_told_so(world: World) -> None:
    assert ask(world, "POST", "projects", {"name": "mine"}, who="viewer-vision")[0] in (400, 403)
    assert ask(world, "DELETE", f"projects/{world.vision.pk}", who="viewer-vision")[0] == 403
    assert ask(world, "DELETE", f"projects/{world.vision.pk}", who="stranger")[0] == 404


def test_node_pools_are_made_labelled_and_deleted(world: World) -> None:
    body = {"name": "a100", "labelKey": "pool", "labelValue": "a", "overProvisioningRatio": 1,
            "placementStrategy": {"gpu": "binpack"}}  # fmt: skip
    assert ask(world, "POST", "node-pools", body) == (201, None)
    pool = next(one for one in ask(world, "GET", "node-pools")[1] if one["name"] == "a100")
    labels = {"labelKey": "pool", "labelValue": "b"}
    assert ask(world, "PUT", f"node-pools/{pool['id']}/labels", labels) == (202, None)
    assert new(world, f"node-pools/{pool['id']}")["labelValue"] == "b"
    assert ask(world, "DELETE", f"node-pools/{pool['id']}") == (202, None)
    assert len(ask(world, "GET", "node-pools")[1]) == 1


def test_what_to_run_on_a_cluster_is_told(world: World) -> None:
    client = Client(headers=world.headers("viewer-vision"))
    here = client.get(f"/api/v1/clusters/{world.cluster.pk}/cluster-install-info?version=2.22")
    assert (here.status_code, here.json()["installationStr"]) == (200, "")
    lab = make("cluster", name="lab", kind="kubernetes")
    asks = Client(headers=world.headers("administrator"))
    found = asks.get(f"/api/v1/clusters/{lab.pk}/cluster-install-info").json()
    assert "kubectl apply" in found["installationStr"]
    assert asks.get(f"/v1/k8s/clusters/{lab.pk}/installfile").json() == found["manifest"]
    assert "ClusterRole" in found["manifest"]
