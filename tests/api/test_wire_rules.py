"""What published clients do on the wire, whatever is asked for: design's `api.md` §1."""

import json
from typing import Any

import pytest
from django.test import Client

from gangline.resources.registry import resources
from gangline.settings.catalogue import declared
from tests.resources.samples import SAMPLES
from tests.support.everything import make_everything
from tests.support.world import World

pytestmark = pytest.mark.django_db
JSON = "application/json"
SERVED = [one.key for one in resources() if one.wire is not None and "create" in one.wire.methods]


def client(world: World) -> Client:
    return Client(headers=world.headers("administrator"))


def test_nothing_in_an_address_has_an_underscore(world: World) -> None:
    """Clients put a dash in its place."""
    ids = [pk for pks in make_everything(world).values() for pk in pks]
    assert [one for one in (*ids, *(one.key for one in declared())) if "_" in one] == []


def test_a_slash_at_the_end_is_another_address_and_leads_nowhere(world: World) -> None:
    answer = client(world).get("/api/v1/workloads/")
    assert (answer.status_code, answer.json()["code"]) == (404, 404)


@pytest.mark.parametrize("path", ["/api/v1/clusters?", "/api/v1/org-unit/projects?&&"])
def test_an_empty_query_is_none(world: World, path: str) -> None:
    assert client(world).get(path).status_code == 200


def _body(world: World, key: str) -> dict[str, Any]:
    sample = SAMPLES[key].body
    if sample is None:
        pytest.skip("it is made from what a cluster has")
    return sample(world, f"new-{key.replace('_', '-')}")


@pytest.mark.parametrize("key", SERVED)
def test_null_is_not_given(world: World, key: str) -> None:
    """Models that were read from a dictionary send every field that may be null."""
    wire = next(one.wire for one in resources() if one.key == key)
    assert wire is not None
    body = _body(world, key)
    for schema in (body, *(inner for inner in body.values() if isinstance(inner, dict))):
        schema["description"] = None
    answer = client(world).post(f"/api/v1/{wire.path}", body, JSON)
    told = answer.json()
    unknown = {p["path"] for p in told.get("problems", ()) if p["rule"] != "unknown"}
    assert answer.status_code == wire.created or (answer.status_code == 400 and not unknown), told


@pytest.mark.parametrize("key", SERVED)
def test_a_body_in_a_json_string_is_read(world: World, key: str) -> None:
    wire = next(one.wire for one in resources() if one.key == key)
    assert wire is not None
    text = json.dumps(json.dumps(_body(world, key)))
    answer = client(world).post(f"/api/v1/{wire.path}", text, JSON)
    assert answer.status_code == wire.created, answer.content


def test_no_body_at_all_is_an_empty_one(world: World) -> None:
    made = client(world).post("/api/v1/workloads/distributed", world.body(), JSON).json()
    where = f"/api/v1/workloads/distributed/{made['workloadId']}"
    for verb in ("suspend", "resume"):
        answer = client(world).generic("POST", f"{where}/{verb}", b"", JSON)
        assert answer.status_code == 202, answer.content
    assert client(world).delete(where, content_type=JSON).status_code == 202


def test_what_the_body_may_be_is_told(world: World) -> None:
    form = "application/x-www-form-urlencoded"
    for path, accepted in {
        "/api/v1/token": JSON,
        "/api/v2/token": form,
        "/api/v1/device": f"{form} or {JSON}",
        "/api/v1/workloads/distributed": f"{JSON} or application/yaml",
    }.items():
        answer = client(world).post(path, b"<a/>", "text/xml")
        assert answer.status_code == 415
        assert answer.json()["message"] == f"Send the body as {accepted}."


@pytest.mark.parametrize("size", [(1 << 20) + 1, 10 << 20])
@pytest.mark.parametrize("path", ["/api/v1/org-unit/projects", "/api/v1/token", "/v1/k8s/setting"])
def test_a_body_of_megabytes_is_413(world: World, path: str, size: int) -> None:
    method = "PUT" if path.endswith("setting") else "POST"
    answer = client(world).generic(method, path, b'"' + b"x" * size, JSON)
    assert (answer.status_code, answer.json()["code"]) == (413, 413)
