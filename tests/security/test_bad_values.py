"""Each field once through the API: a problem at the right place, and nothing stored."""

import json
from typing import Any

import pytest

from gangline.resources.registry import get as resource
from tests.security.matrix import HARMLESS, OF_COMPUTE, OF_ENVIRONMENT, SENT, Row
from tests.support.api import ApiClient
from tests.support.world import IMAGE, World
from workloads.models import Attempt, IdempotencyKey, Workload

pytestmark = pytest.mark.django_db
SUBMIT = "workloads/distributed"


@pytest.fixture
def researcher(world: World) -> ApiClient:
    return ApiClient(world, "researcher-vision")


def placed(body: dict[str, Any], role: str, path: str, value: Any) -> dict[str, Any]:
    """``body`` with ``value`` at ``path`` of a half; an own master is a whole one."""
    if role == "workload":
        return body | {path: value}
    half = body["spec"]
    if role == "master":
        half = {k: v for k, v in half.items() if k not in ("distributedFramework", "numWorkers")}
        body |= {"masterSpec": half, "masterSpecSameAsWorker": False}
    *groups, name = path.split(".")
    for group in groups:
        half = half.setdefault(group, {})
    half[name] = value
    return body


def assert_refused(response: Any, row: Row, role: str) -> None:
    body = response.json()
    assert response.status_code == body["code"] == 400, f"{response.status_code}: {body}"
    if not row.unreadable:
        found = {(p["role"], p["path"]) for p in body["problems"]}
        assert (role, row.reported) in found, found
        problem = next(p for p in body["problems"] if p["path"] == row.reported)
        assert problem["message"]
        assert "Invalid input" not in body["details"]
    assert "pydantic" not in json.dumps(body)
    assert not Workload.objects.exists()
    assert not Attempt.objects.exists()
    assert not IdempotencyKey.objects.exists()


@pytest.mark.parametrize("row", SENT, ids=lambda row: row.id)
def test_a_bad_value_is_refused_where_it_stands(
    world: World, researcher: ApiClient, row: Row
) -> None:
    body = placed(world.body(), row.role, row.path, row.value)
    assert_refused(researcher.post(SUBMIT, body, Idempotency_Key="k"), row, row.role)


_OF_MASTER = [row for row in SENT if row.path in ("compute.cpuMemoryRequest", "image", "labels")]


@pytest.mark.parametrize("row", _OF_MASTER, ids=lambda row: row.id)
def test_the_master_is_judged_as_strictly(world: World, researcher: ApiClient, row: Row) -> None:
    body = placed(world.body(), "master", row.path, row.value)
    assert_refused(researcher.post(SUBMIT, body), row, "master")


@pytest.mark.parametrize(
    ("kind", "rows"), [("compute", OF_COMPUTE), ("environment", OF_ENVIRONMENT)]
)
def test_assets_are_judged_as_strictly(world: World, kind: str, rows: list[Row]) -> None:
    """What appears twice in one list is wrong, and no conflict with anything."""
    administrator = ApiClient(world, "administrator")
    where = {"name": "a", "scope": "project", "projectId": str(world.vision.pk)}
    whole = {"image": IMAGE} if kind == "environment" else {}
    for row in rows:
        spec = placed({"spec": dict(whole)}, "worker", row.path, row.value)["spec"]
        sent = spec["compute"] if kind == "compute" else spec
        answer = administrator.post(f"asset/{kind}", {"meta": where, "spec": sent})
        paths = {one["path"] for one in answer.json()["problems"]}
        assert answer.status_code == 400, (row.id, answer.content)
        assert f"spec.{row.reported.removeprefix('compute.')}" in paths, (row.id, paths)
    assert not resource(kind).model._default_manager.filter(name="a").exists()


@pytest.mark.parametrize(("role", "path", "value"), HARMLESS, ids=str)
def test_what_only_looks_dangerous_is_kept_literally(
    world: World, researcher: ApiClient, role: str, path: str, value: Any
) -> None:
    response = researcher.post(SUBMIT, placed(world.body(), role, path, value))
    assert response.status_code == 202, response.content
    made = researcher.get(f"{SUBMIT}/{response.json()['workloadId']}").json()
    assert (made if role == "workload" else made["spec"])[path] == value


def test_a_limit_below_its_request_is_refused(world: World, researcher: ApiClient) -> None:
    compute = {"cpuCoreRequest": 2, "cpuCoreLimit": 1, "cpuMemoryRequest": "2G",
               "cpuMemoryLimit": "1G"}  # fmt: skip
    problems = researcher.post(SUBMIT, world.spec_body(compute=compute)).json()["problems"]
    assert {p["path"] for p in problems} == {"compute.cpuCoreLimit", "compute.cpuMemoryLimit"}


def test_a_value_in_a_sentence_cannot_break_out_of_it(world: World, researcher: ApiClient) -> None:
    body = researcher.post(SUBMIT, world.body(name="a\u202eb\x1b[31m" + "y" * 900)).json()
    assert "\x1b" not in body["details"]
    assert len(body["details"]) < 1000


def test_a_missing_body_names_everything_that_is_needed(
    world: World, researcher: ApiClient
) -> None:
    response = researcher.post(SUBMIT, {})
    assert response.status_code == 400
    paths = {p["path"] for p in response.json()["problems"]}
    assert {"name", "projectId"} <= paths


@pytest.mark.parametrize("body", ["[]", "1", "true", '"x"', "null", '"{\\"name\\": 1}"'])
def test_a_body_that_is_no_object_is_400(world: World, researcher: ApiClient, body: str) -> None:
    assert researcher.post(SUBMIT, body).status_code == 400
