"""Requests that are wrong as a whole: parsers, headers, rights, and one race."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from gangline.policies.models import Policy
from gangline.policies.services import save
from gangline.resources.services import make
from tests.support.api import ApiClient
from tests.support.world import IMAGE, World
from workloads.models import Workload
from workloads.services import validation

pytestmark = pytest.mark.django_db
SUBMIT = "workloads/distributed"


@pytest.fixture
def researcher(world: World) -> ApiClient:
    return ApiClient(world, "researcher-vision")


def govern(world: World, text: str) -> Policy:
    return save(actor=world.actor("administrator"), scope=world.vision.scope, text=text)


@pytest.mark.parametrize(
    "raw",
    [
        '{"name": "a", "name": "b"}',
        '{"spec": {"numWorkers": NaN}}',
        '{"spec": {"numWorkers": 1e400}}',
        "[" * 100_000,
        '{"spec": {"numWorkers": ' + "9" * 5000 + "}}",
        '{"name": "a",}',
        '\ufeff{"name": "a"}',
        '{"na\\u0000me": "a"}',
        '{"name": "\\ud800"}',
        '{"spec": {"environmentVariables": [{"name": "A", "value": "\\u0000"}]}}',
    ],
    ids=range(10),
)
def test_row_40_and_41_json_that_is_not_plain(researcher: ApiClient, raw: str) -> None:
    response = researcher.request("POST", SUBMIT, raw.encode())
    assert response.status_code == 400
    assert response.json()["message"]
    assert not Workload.objects.exists()


def test_row_43_two_masters(world: World, researcher: ApiClient) -> None:
    body = world.body(masterSpec={"image": IMAGE}, masterSpecSameAsWorker=True)
    response = researcher.post(SUBMIT, body)
    assert response.status_code == 400
    assert "masterSpecSameAsWorker" in {p["path"] for p in response.json()["problems"]}
    body = world.body(masterSpecSameAsWorker=False, configuration="workersAndMaster")
    assert "masterSpec" in {p["path"] for p in researcher.post(SUBMIT, body).json()["problems"]}
    body = world.body(masterSpecSameAsWorker=True, configuration="workersOnly")
    assert researcher.post(SUBMIT, body).status_code == 400


def test_row_43_said_values_win_over_the_templates(world: World, researcher: ApiClient) -> None:
    template = make(
        "template",
        scope=world.vision.scope,
        name="t",
        framework="XGBoost",
        configuration="workersAndMaster",
        values={"worker.image": IMAGE, "worker.command": "python t.py", "worker.numWorkers": 3},
    )
    body = world.body(templateId=str(template.pk), spec={"numWorkers": 2})
    response = researcher.post(SUBMIT, body)
    assert response.status_code == 202, response.content
    assert response.json()["spec"]["numWorkers"] == 2
    assert response.json()["spec"]["command"] == "python t.py"
    said = Workload.objects.get().given
    assert said["worker.command"]["source"] == {"kind": "template", "id": str(template.pk)}
    assert said["worker.numWorkers"]["source"] == {"kind": "you"}
    template.refresh_from_db()
    assert template.used_count == 1


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-Method-Override"])
def test_row_72_a_header_does_not_change_the_method(
    world: World, researcher: ApiClient, header: str
) -> None:
    made = researcher.post(SUBMIT, world.body()).json()["workloadId"]
    response = Client(headers=world.headers("researcher-vision")).get(
        f"/api/v1/{SUBMIT}/{made}", headers={header: "DELETE"}
    )
    assert response.status_code == 200
    assert Workload.objects.get().desired == "Running"


def test_row_45_too_many_parameters_and_too_long_addresses(researcher: ApiClient) -> None:
    many = "&".join(f"a{n}=1" for n in range(10_000))
    assert researcher.get(f"workloads?{many}").status_code == 414
    assert researcher.get("workloads/" + "x" * 3000).status_code == 414
    assert researcher.get("workloads?search=%00").status_code == 400


def test_row_45_too_large_headers(world: World) -> None:
    client = Client(headers=world.headers("researcher-vision") | {"X-Large": "x" * 40_000})
    assert client.get("/api/v1/workloads").status_code == 431


def test_row_62_a_fixed_value_cannot_be_said_otherwise(world: World, researcher: ApiClient) -> None:
    govern(
        world,
        "defaults:\n  worker:\n    backoffLimit: 2\n"
        "rules:\n  worker:\n    backoffLimit:\n      canEdit: false\n",
    )
    response = researcher.post(SUBMIT, world.spec_body(backoffLimit=3))
    assert response.status_code == 400, response.content
    (problem,) = response.json()["problems"]
    assert (problem["rule"], problem["source"]) == ("canEdit", "project vision")
    (issue,) = response.json()["complianceIssues"]
    assert (issue["field"], issue["rule"]) == ("spec.backoffLimit", "canEdit")
    same = researcher.post(SUBMIT, world.spec_body(backoffLimit=2))
    assert same.status_code == 202
    assert same.json()["spec"]["backoffLimit"] == 2


def test_row_65_and_66_todays_policy_judges_templates(world: World, researcher: ApiClient) -> None:
    govern(world, "rules:\n  worker:\n    numWorkers:\n      max: 2\n")
    template = make(
        "template",
        scope=world.vision.scope,
        name="t",
        framework="XGBoost",
        configuration="workersAndMaster",
        values={"worker.image": IMAGE, "worker.command": "python t.py", "worker.numWorkers": 3},
    )
    response = researcher.post(SUBMIT, world.body(templateId=str(template.pk), spec=None))
    assert response.status_code == 400
    assert {(p["path"], p["rule"]) for p in response.json()["problems"]} == {("numWorkers", "max")}


@pytest.mark.parametrize("changes", [{"spec": {}}, {"phase": "Completed"}, {"projectId": "1"}])
def test_row_67_nothing_is_patched(
    world: World, researcher: ApiClient, changes: dict[str, Any]
) -> None:
    made = researcher.post(SUBMIT, world.body()).json()["workloadId"]
    before = Workload.objects.values().get()
    for method in ("PATCH", "PUT"):
        for path in (f"workloads/{made}", f"{SUBMIT}/{made}"):
            assert researcher.request(method, path, b"{}").status_code == 405
    assert Workload.objects.values().get() == before


def test_row_70_a_policy_saved_in_between_is_obeyed(
    world: World, researcher: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = validation.validate_submission
    saved: list[Policy] = []

    def judge_then_tighten(*args: Any, **more: Any) -> Any:
        judged = real(*args, **more)
        if not saved:
            saved.append(govern(world, "rules:\n  worker:\n    numWorkers:\n      max: 1\n"))
        return judged

    monkeypatch.setattr("workloads.services.submission.validate_submission", judge_then_tighten)
    response = researcher.post(SUBMIT, world.body())
    assert response.status_code == 400, response.content
    assert response.json()["problems"][0]["source"] == "project vision"
    assert not Workload.objects.exists()


def test_row_107_templates_of_another_project_look_like_none(
    world: World, researcher: ApiClient
) -> None:
    foreign = make(
        "template",
        scope=world.nlp.scope, name="t", framework="XGBoost", configuration="workersAndMaster",
        values={},
    )  # fmt: skip
    hidden, absent = (
        researcher.post(SUBMIT, world.body(templateId=str(key))).json()["problems"]
        for key in (foreign.pk, uuid4())
    )
    assert [p | {"value": ""} for p in hidden] == [p | {"value": ""} for p in absent]
    assert hidden[0]["path"] == "templateId"


def test_row_121_forwarded_hosts_make_no_addresses(world: World, researcher: ApiClient) -> None:
    response = Client(headers=world.headers("researcher-vision")).post(
        f"/api/v1/{SUBMIT}",
        data=world.body(),
        content_type="application/json",
        headers={"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"},
    )
    assert response["Location"].startswith("/api/v1/")
    assert b"evil" not in response.content
