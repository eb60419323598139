"""The policy API: whose policy, what holds with the source of every rule, and who may change it."""

import json
from typing import Any

import pytest
import yaml
from django.test import Client

from gangline.audit.models import AuditEntry
from gangline.policies.models import Policy
from gangline.policies.services import save
from tests.support.world import World

ADDRESS = "/api/v2/policy/distributed"
CAP = {"rules": {"worker": {"numWorkers": {"min": 1, "max": 8}}}}
EVERYTHING = {
    "defaults": {
        "worker": {
            "numWorkers": 2,
            "nodePools": ["h100", "default"],
            "environmentVariables": {"instances": [{"name": "A", "value": "yes"}]},
            "storage": {"pvc": {"attributes": {"claimInfo": {"storageClass": "fast"}}}},
        },
        "master": {"compute": {"cpuMemoryRequest": "4G"}},
    },
    "rules": {
        "worker": {
            "image": {"options": [{"value": "a", "displayed": "A"}, {"value": "b"}]},
            "environmentVariables": {"instances": {"locked": ["A"]}},
            "compute": {
                "cpuCoreRequest": {"defaultFrom": {"field": "compute.cpuCoreLimit", "factor": 0.5}}
            },
            "numWorkers": {"max": 8, "message": "Ask us: “8” is all."},
        }
    },
}


@pytest.fixture
def client() -> Client:
    return Client()


def send(
    client: Client, world: World, method: str, body: Any = None, *, person: str = "administrator",
    query: str = "", **headers: str,
) -> Any:  # fmt: skip
    return client.generic(
        method,
        f"{ADDRESS}{query}",
        data=b"" if body is None else json.dumps(body),
        content_type="application/json",
        headers=world.headers(person) | headers,
    )


def of(world: World, policy: Any, **more: Any) -> dict[str, Any]:
    meta = {"name": "cap", "scope": "project", "projectId": world.vision.pk}
    return {"meta": meta | more, "policy": policy}


def where(world: World) -> str:
    return f"?scope=project&projectId={world.vision.pk}"


def test_a_policy_is_made_read_changed_and_deleted(client: Client, world: World) -> None:
    made = send(client, world, "PUT", of(world, EVERYTHING))
    assert made.status_code == 200, made.json()
    assert made.json()["policy"] == EVERYTHING
    meta = made.json()["meta"]
    assert (meta["name"], meta["scope"], meta["projectId"]) == ("cap", "project", world.vision.pk)
    assert (meta["createdBy"], made.headers["ETag"]) == ("administrator", '"1"')
    read = send(client, world, "GET", query=where(world)).json()
    assert (read["policy"], read["meta"]) == (EVERYTHING, meta)
    assert yaml.safe_load(Policy.objects.get().text) == EVERYTHING
    change = {"rules": {"worker": {"numWorkers": {"min": 2, "max": 4, "message": None}}}}
    body = {**of(world, change), "reset": ["worker.image", "worker.storage"]}
    changed = send(client, world, "PATCH", body).json()["policy"]
    assert changed["rules"]["worker"]["numWorkers"] == {"max": 4, "min": 2}
    assert "image" not in changed["rules"]["worker"]
    assert "storage" not in changed["defaults"]["worker"]
    assert changed["defaults"]["worker"]["numWorkers"] == 2
    assert send(client, world, "DELETE", query=where(world)).status_code == 204
    assert send(client, world, "GET", query=where(world)).status_code == 404
    assert send(client, world, "DELETE", query=where(world)).status_code == 404
    told = AuditEntry.objects.filter(object_type="policy").values_list("action", flat=True)
    assert sorted(told) == ["policy.delete", "policy.save", "policy.save"]


def test_every_rule_that_holds_names_who_set_it(client: Client, world: World) -> None:
    admin = world.actor("administrator")
    department = "rules: {worker: {numWorkers: {max: 6}, backoffLimit: {max: 3, required: true}}}"
    save(actor=admin, scope=world.department.scope, text=department)
    only = send(client, world, "GET", query=where(world)).json()
    assert only.keys() == {"effective", "effectiveUpdatedAt", "defaultSources"}
    assert only["defaultSources"]["worker"]["numWorkers"] == {"scope": "system"}
    body = of(world, {"rules": {"worker": {"numWorkers": {"min": 2}}}})
    effective = send(client, world, "PUT", body).json()["effective"]
    project = {"scope": "project", "projectId": world.vision.pk}
    above = {"scope": "department", "departmentId": str(world.department.pk)}
    assert effective["rules"]["worker"]["numWorkers"] == {
        "min": 2,
        "max": 6,
        "sourceOfRule": project,
        "sources": {"min": [project], "max": [above]},
    }
    assert effective["rules"]["worker"]["backoffLimit"]["sourceOfRule"] == above
    hidden = effective["rules"]["worker"]["security"]["hostNetwork"]
    assert (hidden["canEdit"], hidden["sourceOfRule"]) == (False, {"scope": "system"})
    assert effective["defaults"]["worker"]["terminationGracePeriodSeconds"] == 30
    assert "numWorkers" not in effective["rules"]["master"]


def test_what_holds_can_be_sent_back(client: Client, world: World) -> None:
    read = send(client, world, "PUT", of(world, EVERYTHING)).json()
    rules = read["effective"]["rules"]["worker"]["numWorkers"]
    body = of(world, {"rules": {"worker": {"numWorkers": rules}}})
    assert send(client, world, "PUT", body).json()["policy"] == {
        "defaults": {},
        "rules": {"worker": {"numWorkers": {"max": 8, "message": "Ask us: “8” is all."}}},
    }


def test_validate_only_answers_and_stores_nothing(client: Client, world: World) -> None:
    policy = {"rules": {"worker": {"command": {"required": True}}}}
    answer = send(client, world, "PUT", of(world, policy), query="?validateOnly=true").json()
    assert answer["effective"]["rules"]["worker"]["command"]["required"] is True
    assert len(answer["warnings"]) == 1
    assert "meta" not in answer
    assert not Policy.objects.exists()


BAD: list[tuple[Any, str, str]] = [
    ({"rules": {"worker": {"numWorkers": {"max": "many"}}}},
     "policy.rules.worker.numWorkers.max", "policy.number"),
    ({"rules": {"worker": {"numWorker": {"max": 1}}}},
     "policy.rules.worker.numWorker", "policy.misspelt"),
    ({"rules": {"worker": {"numWorkers": {"min": 5, "max": 2}}}},
     "policy.rules.worker.numWorkers.max", "policy.crossed"),
    ({"defaults": {"worker": {"labels": {"instances": [{"name": "a b"}]}}}},
     "policy.defaults.worker.labels.instances.0.name", "policy.refused_item"),
    ({"defaults": {"worker": {"labels": {"instances": [
        {"name": "kueue.x-k8s.io/queue-name", "value": "b"}]}}}},
     "policy.defaults.worker.labels", "policy.domain"),
    ({"imposedAssets": {"worker": ["5a2d0f2e-5c0a-4b2b-9f4b-0e0a8f0d3c11"]}},
     "policy.imposedAssets.worker", "policy.imposed_unknown"),
    ({"rules": 5}, "policy.rules", "policy.object"),
    ([], "policy", "type"),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "path", "code"), BAD)
@pytest.mark.parametrize("query", ["", "?validateOnly=true"])
def test_what_cannot_hold_is_refused_by_its_path(
    client: Client, world: World, policy: Any, path: str, code: str, query: str
) -> None:
    answer = send(client, world, "PUT", of(world, policy), query=query)
    assert answer.status_code == 400
    told = [(one["path"], one["rule"]) for one in answer.json()["problems"]]
    assert (path, code) in told
    assert not Policy.objects.exists()


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", 400), ("?scope=galaxy", 400), ("?scope=system", 400), ("?scope=project", 400),
        ("?scope=project&projectId=999999", 404), ("?scope=project&projectId=x", 404),
        ("?scope=tenant", 404), ("?scope=tenant&colour=red", 400),
    ],
)  # fmt: skip
def test_an_address_must_be_one(client: Client, world: World, query: str, code: int) -> None:
    assert send(client, world, "GET", query=query).status_code == code


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "meta"), ({"meta": {}}, "meta.scope"), ({"meta": {"scope": "project"}},
                                                     "meta.projectId"),
        ({"meta": {"scope": "tenant", "name": 5}}, "meta.name"),
        ({"meta": {"scope": "tenant", "colour": 5}}, "meta.colour"),
        ({"meta": {"scope": "tenant"}, "Policy": {}}, "Policy"),
        ({"meta": {"scope": "tenant"}, "reset": 5}, "reset"),
    ],
)  # fmt: skip
def test_a_body_must_be_one(client: Client, world: World, body: Any, path: str) -> None:
    save(actor=None, scope=world.installation.scope, text="rules: {}")
    answer = send(client, world, "PATCH", body)
    assert answer.status_code == 400
    assert [one["path"] for one in answer.json()["problems"]] == [path]
    assert Policy.objects.get().version == 1


@pytest.mark.parametrize(
    ("version", "code"), [('"1"', 200), ("1", 200), ('"2"', 412), ("*", 412), ("", 200)]
)
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_who_read_an_older_version_changes_nothing(
    client: Client, world: World, method: str, version: str, code: int
) -> None:
    send(client, world, "PUT", of(world, CAP))
    body, query = (of(world, EVERYTHING), "") if method == "PUT" else (None, where(world))
    answer = send(client, world, method, body, query=query, **{"If-Match": version})
    assert answer.status_code == (204 if method == "DELETE" and code == 200 else code)
    if code == 412:
        assert Policy.objects.get().version == 1


@pytest.mark.parametrize(
    ("person", "read", "write"),
    [
        ("administrator", 200, 200), ("head", 200, 200), ("project_administrator-vision", 200, 403),
        ("researcher-vision", 200, 403), ("viewer-vision", 200, 403),
        ("researcher-nlp", 404, 404), ("stranger", 404, 404),
    ],
)  # fmt: skip
def test_who_may(client: Client, world: World, person: str, read: int, write: int) -> None:
    send(client, world, "PUT", of(world, CAP))
    assert send(client, world, "GET", query=where(world), person=person).status_code == read
    for method in ("PUT", "PATCH"):
        answer = send(client, world, method, of(world, EVERYTHING), person=person)
        assert answer.status_code == write, method
        checked = send(client, world, method, of(world, CAP), person=person,
                       query="?validateOnly=true")  # fmt: skip
        assert checked.status_code == write
    deleted = send(client, world, "DELETE", query=where(world), person=person)
    assert deleted.status_code == (204 if write == 200 else write)


def test_the_list_has_what_one_may_see(client: Client, world: World) -> None:
    admin = world.actor("administrator")
    for scope in (world.installation.scope, world.vision.scope, world.nlp.scope):
        save(actor=admin, scope=scope, text="rules: {worker: {numWorkers: {max: 8}}}")

    def listed(person: str, **query: str) -> list[tuple[Any, ...]]:
        answer = client.get("/api/v2/policy", query, headers=world.headers(person))
        return [(one["type"], one["meta"]["scope"]) for one in answer.json()["policies"]]

    assert listed("administrator") == [
        ("distributed", kind) for kind in ("project", "project", "tenant")
    ]
    assert listed("researcher-vision") == [("distributed", "project")]
    assert listed("stranger") == []
    assert listed("administrator", scope="tenant") == [("distributed", "tenant")]
    assert len(listed("administrator", projectId=str(world.nlp.pk))) == 1
    assert listed("administrator", workloadType="Workspace") == []


def test_a_policy_that_those_above_have_come_to_forbid_says_so(
    client: Client, world: World
) -> None:
    admin = world.actor("administrator")
    save(actor=admin, scope=world.vision.scope, text="rules: {worker: {numWorkers: {max: 8}}}")
    save(actor=admin, scope=world.department.scope,
         text="rules: {worker: {numWorkers: {max: 4}}}")  # fmt: skip
    answer = client.get(
        "/api/v2/policy", {"scope": "project"}, headers=world.headers("administrator")
    ).json()
    assert answer["policies"][0]["status"]["validation"]["errorMessage"]
