"""Quotas against their department, in page and API, and what keeps a project."""

import json
from typing import Any

import pytest
from django.test import Client

from gangline.organization.models import Quota
from gangline.organization.queues import enforcement
from gangline.resources.registry import get
from gangline.resources.services import make, update
from tests.support.world import World

pytestmark = pytest.mark.django_db


def limit_department(world: World, gpus: int) -> None:
    row = {"node_pool": world.cluster.pools.get(), "gpus": gpus}
    update(get("department"), actor=None, obj=world.department, values={}, parts={"quotas": [row]})


def api(world: World, method: str, path: str, body: Any = None) -> Any:
    return Client().generic(
        method,
        f"/api/v1/org-unit/{path}",
        data=b"" if body is None else json.dumps(body).encode(),
        content_type="application/json",
        headers=world.headers("administrator"),
    )


def test_more_than_the_department_has_is_refused_with_numbers_everywhere(world: World) -> None:
    """Vision has 2 GPUs already."""
    limit_department(world, 4)
    sentence = "Department research: 2 of 4 GPUs assigned, 2 left. This one needs 5: 3 too many."
    path = f"projects/{world.nlp.pk}/resources"
    answer = api(world, "PATCH", path, [{"gpu": {"deserved": 5}}])
    assert answer.status_code == 400
    (problem,) = answer.json()["problems"]
    assert (problem["path"], problem["rule"]) == ("resources.0.gpu.deserved", "department_quota")
    assert problem["message"] == sentence
    client = world.client("administrator")
    typed = {"project": str(world.nlp.pk), "name": "nlp", "quotas.0.gpus": "5"}
    assert sentence in client.get("/projects/quota-sums", typed).content.decode()
    assert client.get("/projects/quota-sums", {"project": "²"}).status_code == 404
    page = client.post(f"/projects/{world.nlp.pk}/edit", {**typed, "version": "1"})
    assert page.status_code == 422
    assert sentence in page.content.decode()
    assert enforcement(world.cluster).above in page.content.decode()
    assert Quota.objects.get(scope=world.nlp.scope).gpus == 0
    assert api(world, "PATCH", path, [{"gpu": {"deserved": 2}}]).status_code == 200
    short = api(
        world,
        "PATCH",
        f"departments/{world.department.pk}/resources",
        [{"gpu": {"deserved": 3}}],
    )
    assert short.status_code == 400
    assert (
        short.json()["problems"][0]["message"] == "Its projects have 4 GPUs together: 1 too many."
    )


def test_a_node_pool_stands_once_in_the_list(world: World) -> None:
    """The second row would be compared with the first, not with what is stored."""
    limit_department(world, 4)
    answer = api(
        world,
        "PATCH",
        f"projects/{world.nlp.pk}/resources",
        [{"gpu": {"deserved": 1000}}, {"gpu": {"deserved": 999}}],
    )
    assert answer.status_code == 400
    assert answer.json()["problems"][0]["path"] == "resources.1.nodePool"
    assert Quota.objects.get(scope=world.nlp.scope).gpus == 0


def test_a_department_that_one_does_not_know_looks_like_none(world: World) -> None:
    other = make("department", cluster=world.cluster, name="elsewhere")
    found = []
    for parent in (str(other.pk), "999999"):
        answer = Client().post(
            "/api/v1/org-unit/projects",
            data=json.dumps({"name": "mine", "parentId": parent}),
            content_type="application/json",
            headers=world.headers("project_administrator-vision"),
        )
        found.append((answer.status_code, answer.content))
    assert found[0] == found[1]
    assert found[0][0] == 400


def test_put_names_every_pool_and_patch_single_values(world: World) -> None:
    path = f"projects/{world.vision.pk}/resources"
    given = [
        {
            "gpu": {"deserved": 1.5, "limit": 3, "overQuotaWeight": 2},
            "cpu": {"deserved": 4000},
            "memory": {"deserved": 2, "units": "GB"},
            "priority": "High",
        }
    ]
    (one,) = api(world, "PUT", path, given).json()
    assert one["gpu"] == {"deserved": 1.5, "limit": 3.0, "overQuotaWeight": 2}
    assert (one["cpu"]["deserved"], one["memory"]["deserved"]) == (4000.0, 2000.0)
    assert one["priority"] == "High"
    (one,) = api(world, "PATCH", path, [{"gpu": {"limit": -1}}]).json()
    assert (one["gpu"]["deserved"], one["gpu"]["limit"], one["priority"]) == (1.5, -1, "High")
    (one,) = api(world, "PUT", path, []).json()
    assert (one["gpu"]["deserved"], one["cpu"]["deserved"]) == (0.0, -1)
    version = api(world, "GET", f"projects/{world.vision.pk}").json()
    assert version["totalResources"] == {"gpuQuota": 0.0, "cpuQuota": None, "memoryQuota": None}


def test_a_project_with_workloads_stays_and_names_them(world: World) -> None:
    answer = Client().post(
        "/api/v1/workloads/distributed",
        data=json.dumps(world.body("digits")),
        content_type="application/json",
        headers=world.headers("researcher-vision"),
    )
    assert answer.status_code < 300, answer.content
    gone = api(world, "DELETE", f"projects/{world.vision.pk}")
    assert gone.status_code == 400
    assert "workload digits" in gone.json()["details"]


def test_a_form_names_everything_that_is_wrong_at_once(world: World) -> None:
    client = world.client("administrator")
    typed = {
        "cluster": str(world.cluster.pk),
        "name": "Speech & Co",
        "quotas.0.gpus": "-3",
        "quotas.0.memory": "256",
        "quotas.0.memory_limit": "lots",
    }
    form = client.post("/departments/new", typed).context["form"]
    codes = {name: [one.code for one in errors.as_data()] for name, errors in form.errors.items()}
    assert codes == {
        "name": ["name"],
        "quotas.0.gpus": ["min_value"],
        "quotas.0.memory": ["unit"],
        "quotas.0.memory_limit": ["size"],
    }


def test_the_page_of_a_department_links_what_the_person_may_see_of_it(world: World) -> None:
    client = world.client("administrator")
    page = client.get(f"/departments/{world.department.pk}").content.decode()
    for project in (world.nlp, world.vision):
        assert page.count(f'href="/projects/{project.pk}"') == 1
    assert f'<dd><a href="/clusters/{world.cluster.pk}"' in page
    pool = f"/node-pools/{world.cluster.pools.get().pk}"
    assert f'href="{pool}/delete"' not in client.get(pool).content.decode()
