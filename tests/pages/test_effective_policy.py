"""The page of what holds in a scope: who says so, what does not count, a workload tried on it."""

from typing import Any

import pytest
from django.test import Client

from gangline.lib import yaml_text
from gangline.policies.services import save
from tests.support.engine import new_workload
from tests.support.forms import Page
from tests.support.world import IMAGE, World

pytestmark = pytest.mark.django_db
FOUR = {
    "installation": "rules: {worker: {numWorkers: {max: 64}}}",
    "cluster": "defaults: {worker: {backoffLimit: 2}}",
    "department": "rules: {worker: {numWorkers: {max: 4}}}",
    "vision": "{defaults: {worker: {backoffLimit: 3}},"
    " rules: {worker: {image: {registries: [registry.lab]}}}}",
}


@pytest.fixture
def address(world: World) -> str:
    for name, text in FOUR.items():
        save(actor=None, scope=getattr(world, name).scope, text=text)
    return f"/policies/{world.vision.scope_id}/effective"


def rows(answer: Any) -> dict[str, tuple[str, str]]:
    """What holds and what does not count, by the anchor of the field."""
    found = Page(answer.content.decode()).elements
    cells = [
        (row.attributes["id"], [cell.text for cell in row.inside if cell.tag == "td"])
        for row in found
        if row.tag == "tr" and "id" in row.attributes
    ]
    return {anchor: (holds, not_counted) for anchor, (holds, not_counted) in cells}


def test_each_field_says_who_rules_it_and_what_does_not_count(world: World, address: str) -> None:
    client = world.client("viewer-vision")
    told = rows(client.get(address))
    assert told.keys() == {"f-worker-numWorkers", "f-worker-backoffLimit", "f-worker-image"}
    holds, not_counted = told["f-worker-numWorkers"]
    assert "Department research allows at most 4 pods." in holds
    assert not_counted == "at most 64 pods The whole installation"
    holds, not_counted = told["f-worker-backoffLimit"]
    assert "3 retries (project vision)" in holds
    assert "default 2 retries Cluster this-machine" in not_counted
    restricted = rows(client.get(address, {"restricted": "1"}))
    assert restricted.keys() == {"f-worker-numWorkers", "f-worker-image"}
    assert rows(client.get(address, {"q": "IMAGE"})).keys() == {"f-worker-image"}


def test_it_is_exported_with_its_sources(world: World, address: str) -> None:
    answer = world.client("viewer-vision").get(f"{address}.yaml")
    whole = yaml_text.read(answer.content.decode()).data
    ruled = whole["rules"]["worker"]["numWorkers"]
    assert ruled["max"] == 4
    assert ruled["sourceOfRule"] == {"scope": "department research"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spec: {image: registry.lab/x, distributedFramework: PyTorch}", "Allowed"),
        ("spec: {image: evil.io/x, numWorkers: 9}", "Rejected"),
        ("spec: {imagee: x}", "Rejected"),
        ("spec: [", "cannot be read"),
        ("a" * 300_000, "cannot be read"),
    ],
)
def test_a_workload_is_tried_on_it(world: World, address: str, text: str, said: str) -> None:
    answer = world.client("viewer-vision").post(address, {"text": text})
    assert answer.status_code == 200
    assert said in answer.content.decode()
    verdict = answer.context["verdict"]
    if "evil" in text:
        found = [(p.path, p.rule, p.source) for p in verdict.resolution.problems]
        assert ("image", "registries", "project vision") in found
        assert ("numWorkers", "max", "department research") in found
    if said == "Allowed":
        assert ("Retries", "3 retries", "project vision") in {
            (one.label, one.value, one.source) for one in verdict.given
        }


def test_the_api_refuses_by_the_same_rules(world: World, address: str) -> None:
    answer = Client().post(
        "/api/v1/workloads/distributed",
        world.spec_body(image="evil.io/x", numWorkers=9),
        content_type="application/json",
        headers=world.headers("researcher-vision"),
    )
    assert answer.status_code == 400
    issues = {(one["field"], one["rule"]) for one in answer.json()["complianceIssues"]}
    assert {("spec.image", "registries"), ("spec.numWorkers", "max")} <= issues


def test_a_recent_workload_is_tried_on_it(world: World, address: str) -> None:
    owner = world.people["researcher-vision"]
    given = {"worker.numWorkers": {"value": 9, "source": {"kind": "you"}}}
    workload = new_workload(
        name="wide", project=world.vision, owner=owner, values={"image": IMAGE}, given=given
    )
    client = world.client("viewer-vision")
    assert "wide" in client.get(address).content.decode()
    answer = client.post(address, {"workload": str(workload.pk)})
    found = [(p.path, p.source) for p in answer.context["verdict"].resolution.problems]
    assert found == [("numWorkers", "department research")]


def test_a_scope_that_one_may_not_see_has_no_such_page(world: World, address: str) -> None:
    for path in (address, f"{address}.yaml"):
        assert world.client("viewer-nlp").get(path).status_code == 404
