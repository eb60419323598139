"""Registries as clients know them: credentials of one type at another address, and their images."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assets.credentials.registry_api import HIDDEN
from assets.models import Credential
from gangline.clusters import trials
from gangline.resources.services import make
from gangline.scopes.selectors import tenant_scope
from tests.support import registries
from tests.support.api import ApiClient
from tests.support.world import World

pytestmark = pytest.mark.usefixtures("loopback_admitted")
AT = "asset/registries"
LOGIN = {"user": registries.USER, "password": registries.PASSWORD}


@pytest.fixture
def owner(world: World) -> ApiClient:
    return ApiClient(world, "project_administrator-vision")


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(trials, "PAUSE", 0.0)
    with registries.serving(tmp_path, "basic") as url:
        yield url


def body(world: World, url: str = "registry.example:5000", **spec: Any) -> dict[str, Any]:
    meta = {"name": "images", "scope": "project", "projectId": world.vision.pk}
    return {"meta": meta, "spec": {"url": url, "credentialKind": "password", **LOGIN, **spec}}


def test_a_registry_is_a_credential_at_an_older_address(world: World, owner: ApiClient) -> None:
    made = owner.post(AT, body(world))
    assert made.status_code == 201
    stored = Credential.objects.get(kind="dockerRegistry")
    found = made.json()
    assert (found["meta"]["id"], found["meta"]["kind"]) == (str(stored.pk), "registry")
    hidden = {"credentialKind": "password", "user": HIDDEN, "password": HIDDEN}
    assert found["spec"] == {"url": "registry.example:5000", **hidden}
    assert owner.get(AT, name="images").json()["entries"] == [found]
    newer = owner.get(f"asset/credentials/docker-registry/{stored.pk}").json()
    assert newer["meta"] | {"kind": "registry"} == found["meta"]
    one = f"{AT}/{stored.pk}"
    returned = {"meta": {"name": "images"}, "spec": found["spec"]}
    refused = owner.request("PUT", one, json.dumps(returned))
    assert refused.status_code == 400, "nobody stores what stands for a value"
    paths = [one["path"] for one in refused.json()["problems"]]
    assert paths == ["spec.user", "spec.password"]
    renamed = owner.request("PUT", one, json.dumps({"meta": {"name": "pictures"}}))
    assert (renamed.status_code, renamed.json()["meta"]["name"]) == (200, "pictures")
    assert owner.delete(one).status_code == 204
    assert owner.get(one).status_code == 404


def test_those_that_others_keep_are_no_registries(world: World, owner: ApiClient) -> None:
    make(
        "credential", name="theirs", scope=tenant_scope(), kind="dockerRegistry",
        given={"existingSecretName": "theirs"},
    )  # fmt: skip
    assert owner.get(AT).json()["entries"] == []
    wrong = {"credentialKind": "token", "existingSecretName": "x"}
    for name, value in wrong.items():
        answer = owner.post(AT, body(world, **{name: value}))
        assert answer.status_code == 400
        assert [one["path"] for one in answer.json()["problems"]] == [f"spec.{name}"]


@pytest.mark.needs_registry
def test_what_a_registry_holds(world: World, owner: ApiClient, registry: str) -> None:
    for name, tag in (("team/ddp", "1"), ("team/ddp", "2"), ("base", "x")):
        registries.push(registry, name, tag)
    pk = owner.post(AT, body(world, registry)).json()["meta"]["id"]
    at = f"{AT}/{pk}/repositories"
    assert owner.get(at).json() == {"repositories": ["base", "team/ddp"]}
    assert owner.get(at, searchName="DDP").json() == {"repositories": ["team/ddp"]}
    tags = owner.get(f"{at}/tags", repository="team/ddp").json()
    assert (tags["name"], sorted(tags["tags"])) == ("team/ddp", ["1", "2"])
    assert owner.get(f"{at}/tags", repository="none").status_code == 404
    assert owner.get(f"{at}/tags", repository="../x").status_code == 400
    people = {"researcher-vision": 200, "viewer-vision": 404, "researcher-nlp": 404}
    assert {who: ApiClient(world, who).get(at).status_code for who in people} == people
    closed = owner.post(AT, body(world, "http://127.0.0.1:9") | {
        "meta": {"name": "gone", "scope": "project", "projectId": world.vision.pk}
    }).json()  # fmt: skip
    silent = owner.get(f"{AT}/{closed['meta']['id']}/repositories")
    assert (silent.status_code, silent.json()["code"]) == (503, 503)


def test_one_person_asks_registries_one_after_the_other(world: World, owner: ApiClient) -> None:
    pk = owner.post(AT, body(world, "http://127.0.0.1:9")).json()["meta"]["id"]
    assert owner.get(f"{AT}/{pk}/repositories").status_code == 503
    assert owner.get(f"{AT}/{pk}/repositories").status_code == 429
