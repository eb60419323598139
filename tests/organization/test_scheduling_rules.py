"""Node types that a department or a project makes compulsory, and its order of node pools."""

import json
from typing import Any

import pytest
from django.test import Client

from gangline.clusters.connections import site
from gangline.drivers.kubernetes import manifests, node_labels
from gangline.policies.selectors import effective_for
from gangline.resources.services import make
from gangline.settings.catalogue import NODE_TYPE_LABEL, declared
from gangline.spec.problems import Role
from tests.drivers.kubernetes import goldens
from tests.support.settings import turn
from tests.support.world import World

pytestmark = pytest.mark.django_db
PROJECTS, DEPARTMENTS = "/api/v1/org-unit/projects", "/api/v1/org-unit/departments"
WORKLOADS = "/api/v1/workloads/distributed"


@pytest.fixture
def client(world: World) -> Client:
    """An administrator, and a cluster that has nodes."""
    cluster = world.cluster
    cluster.kind, cluster.host_id, cluster.config = "kubernetes", "", {}
    cluster.save(update_fields=["kind", "host_id", "config"])
    return Client(headers=world.headers("administrator"))


def change(client: Client, url: str, **body: Any) -> Any:
    known = {name: value for name, value in client.get(url).json().items() if value != ""}
    return client.put(url, known | body, "application/json")


def rule(client: Client, world: World, department: list[str], project: list[str]) -> None:
    for url, types in (
        (f"{DEPARTMENTS}/{world.department.pk}", department),
        (f"{PROJECTS}/{world.vision.pk}", project),
    ):
        answer = change(client, url, nodeTypes={"training": types})
        assert answer.status_code == 200, answer.content


def told(client: Client, world: World, **spec: Any) -> list[tuple[str, str, str]]:
    """What is said of node types to a workload with these values: role, rule and source."""
    answer = client.post(WORKLOADS, world.spec_body(**spec), "application/json")
    found = [p for p in answer.json().get("problems", ()) if p["path"] == "nodeType"]
    return [(p["role"], p["rule"], p["source"]) for p in found]


def test_a_workload_must_choose_one_of_the_types(world: World, client: Client) -> None:
    rule(client, world, ["a100", "h100"], ["h100"])
    source = "the scheduling rules of project vision"
    assert ("worker", "required") in [(r, kind) for r, kind, _ in told(client, world)]
    wrong = told(client, world, nodeType="a100")
    assert {kind for _, kind, _ in wrong} == {"options"}
    assert all(source in by or "department research" in by for _, _, by in wrong)
    assert told(client, world, nodeType="h100") == []


def test_a_project_may_only_tighten_what_its_department_says(world: World, client: Client) -> None:
    rule(client, world, ["a100", "h100"], [])
    answer = change(client, f"{PROJECTS}/{world.vision.pk}", nodeTypes={"training": ["v100"]})
    assert answer.status_code == 400
    assert [p["path"] for p in answer.json()["problems"]] == ["nodeTypes"]
    shown = client.get(f"{PROJECTS}/{world.vision.pk}").json()
    assert shown["effective"]["nodeTypes"]["training"] == ["a100", "h100"]
    assert ("worker", "required") in [(r, kind) for r, kind, _ in told(client, world)]


@pytest.mark.parametrize("types", [["a b"], [""], ["a", "a"], "a100"])
def test_bad_types_are_refused(world: World, client: Client, types: Any) -> None:
    answer = change(client, f"{PROJECTS}/{world.vision.pk}", nodeTypes={"training": types})
    assert answer.status_code == 400, answer.content
    assert answer.json()["problems"][0]["path"].startswith("nodeTypes")


def test_a_cluster_without_nodes_takes_no_such_rule(world: World) -> None:
    client = Client(headers=world.headers("administrator"))
    answer = change(client, f"{PROJECTS}/{world.vision.pk}", nodeTypes={"training": ["a100"]})
    assert answer.status_code == 400
    assert answer.json()["problems"][0]["path"] == "nodeTypes"


def test_rules_are_on_the_page_of_the_project(world: World, client: Client) -> None:
    page = world.client("administrator")
    url = f"/projects/{world.vision.pk}/edit"
    text = page.get(url).content.decode()
    assert 'name="node_types"' in text
    assert 'name="default_pools"' in text


def test_the_pools_of_a_project_are_where_its_workloads_run(world: World, client: Client) -> None:
    make(
        "node_pool", actor=None, cluster=world.cluster, name="h100", label_key="p", label_value="h"
    )
    order = ["h100", "default"]
    answer = change(client, f"{PROJECTS}/{world.vision.pk}", defaultNodePools=order)
    assert answer.status_code == 200, answer.content
    world.vision.refresh_from_db()
    default = effective_for(world.vision).rule(Role.WORKER, "nodePools").default
    assert default is not None
    assert [one["name"] for one in default.value] == order
    assert default.source == "project vision"


def test_the_label_of_node_types_is_the_administrators(world: World) -> None:
    turn(NODE_TYPE_LABEL, "run.ai/type")
    assert site().node_type == "run.ai/type"
    nodes = [{"metadata": {"labels": {"run.ai/type": "dgx", NODE_TYPE_LABEL.default: "p5"}}}]
    assert node_labels.suggestions(nodes, site().node_type)["nodeType"] == ["dgx"]
    wanted = goldens.submission(nodeType="dgx", nodeAffinityRequired=[], nodePools=[])
    rendered = manifests.render(wanted, "plain", node_type=site().node_type)
    text = json.dumps(rendered["job"])
    assert '"key": "run.ai/type", "operator": "In", "values": ["dgx"]' in text
    assert NODE_TYPE_LABEL.default not in text


@pytest.mark.parametrize("label", ["a b", "/x", "-a", ""])
def test_a_label_that_no_node_can_have_is_refused(world: World, label: str) -> None:
    browser = world.client("administrator")
    row = {f"version:{one.key}": 0 for one in declared("Workloads")}
    answer = browser.post("/settings/workloads", {**row, NODE_TYPE_LABEL.key: label})
    assert answer.status_code == 422
