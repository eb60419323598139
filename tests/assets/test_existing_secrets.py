"""Credentials whose Secret others keep: named and looked for, never written, read or removed."""

import json
from typing import Any

import pytest
from django.test import Client

from assets.credentials import copies, store
from assets.models import Credential
from gangline.clusters.models import Cluster, ClusterObject, ObjectState
from gangline.db.sealed import counts, reseal
from gangline.drivers.base import KeptObject
from gangline.lib.problems import Problem
from gangline.resources.registry import get
from gangline.resources.services import delete, make
from tests.support.forms import Page
from tests.support.world import IMAGE, World
from workloads.models import Workload


@pytest.fixture
def kubernetes(world: World) -> World:
    """The cluster of the world is one of Kubernetes."""
    Cluster.objects.update(kind="kubernetes", host_id="", facts={})
    return world


def call(world: World, method: str, path: str, body: Any = None) -> Any:
    return Client().generic(
        method,
        f"/api/v1/{path}",
        data=json.dumps(body) if body else "",
        content_type="application/json",
        headers=world.headers("administrator"),
    )


def create(world: World, spec: Any, kind: str = "generic-secret", name: str = "theirs") -> Any:
    meta = {"name": name, "scope": "project", "projectId": world.vision.pk}
    return call(world, "POST", f"asset/credentials/{kind}", {"meta": meta, "spec": spec})


def variable(name: str, key: str = "token") -> dict[str, Any]:
    return {"name": "TOKEN", "secret": {"name": name, "key": key}}


def submitted(world: World, item: dict[str, Any], image: str = "registry.lab/a:1") -> Any:
    return Client().post(
        "/api/v1/workloads/distributed?dryRun=1",
        world.spec_body(environmentVariables=[item], image=image),
        content_type="application/json",
        headers=world.headers("researcher-vision"),
    )


def test_it_is_named_looked_for_and_let_go_without_being_touched(kubernetes: World) -> None:
    world = kubernetes
    spec = {"existingSecretName": "hub", "keyValuePairs": [{"key": "token"}]}
    made = create(world, spec)
    assert made.status_code == 202, made.content
    assert made.json()["spec"] == {"keyId": 1, **spec}
    one = Credential.objects.get()
    assert (one.object_name, one.is_ours, one.sealed) == ("hub", False, "")
    looked_for = ClusterObject.objects.get()
    assert (looked_for.kind, looked_for.name) == ("Secret", "hub")
    assert KeptObject("Secret", "", "hub", looked_for.wanted).is_others
    assert copies._filled(looked_for).manifest == looked_for.wanted
    with pytest.raises(store.CannotUse):
        store.data_of(one)
    assert not counts()
    assert not list(reseal())
    path = f"asset/credentials/generic-secret/{one.pk}"
    for changed in ({"keyValuePairs": [{"key": "token", "value": "x"}]},
                    {"existingSecretName": "other"}):  # fmt: skip
        answer = call(world, "PUT", path, {"spec": changed})
        assert answer.status_code == 400
        assert answer.json()["problems"][0]["rule"] == "fixed"
    assert call(world, "PUT", path, {"spec": spec}).status_code == 202
    page = world.client("administrator")
    resource = get("credential")
    assert "Replace values" not in page.get(resource.url(one)).content.decode()
    assert page.get(resource.url(one, "values")).status_code == 404
    assert call(world, "DELETE", path).status_code == 204
    looked_for.refresh_from_db()
    assert looked_for.state == ObjectState.DELETING


@pytest.mark.parametrize(
    ("kind", "spec", "path", "rule"),
    [
        ("password", {"existingSecretName": "Not_a_name"}, "existingSecretName", "object_name"),
        ("password", {"existingSecretName": "a" * 64}, "existingSecretName", "object_name"),
        ("password", {"existingSecretName": "gangline-user-1"}, "existingSecretName", "options"),
        ("password", {"existingSecretName": "dockerreg-x"}, "existingSecretName", "options"),
        ("password", {"existingSecretName": "a", "password": "x"}, "password", "existing"),
        ("ngc-api-key", {"existingSecretName": "a"}, "existingSecretName", "existing"),
        (
            "generic-secret",
            {"existingSecretName": "a", "keyValuePairs": [{"key": "k", "value": "v"}]},
            "keyValuePairs.0.value",
            "existing",
        ),
    ],
)
def test_what_cannot_be_such_a_secret_is_told_at_its_field(
    kubernetes: World, kind: str, spec: Any, path: str, rule: str
) -> None:
    answer = create(kubernetes, spec, kind)
    assert answer.status_code == 400, answer.content
    (problem,) = answer.json()["problems"]
    assert (problem["path"], problem["rule"]) == (f"spec.{path}", rule)
    assert not Credential.objects.exists()


def test_only_kubernetes_has_secrets_of_others(world: World) -> None:
    """Above all clusters there may be one; a workload of another kind of cluster is refused."""
    answer = create(world, {"existingSecretName": "hub"})
    assert answer.status_code == 400
    assert answer.json()["problems"][0]["rule"] == "existing"
    make("credential", scope=world.installation.scope, name="hub", kind="genericSecret",
         given={"existingSecretName": "hub"})  # fmt: skip
    (problem,) = submitted(world, variable("hub"), image=IMAGE).json()["problems"]
    assert problem["path"] == "environmentVariables.0.secret.name"


def test_a_workload_names_it_and_a_missing_one_is_said(kubernetes: World) -> None:
    world = kubernetes
    create(world, {"existingSecretName": "hub", "keyValuePairs": [{"key": "token"}]})
    create(world, {"existingSecretName": "any"}, name="any")

    def problems(name: str, key: str = "token") -> list[Any]:
        found = submitted(world, variable(name, key)).json().get("problems", [])
        return [p for p in found if "environmentVariables" in p["path"]]

    assert not problems("hub")
    assert not problems("any", "whatever")
    assert [p["path"] for p in problems("hub", "nope")] == ["environmentVariables.0.secret.key"]
    gone = Problem("missing:object", "", {"kind": "Secret", "value": "hub", "namespace": "v"})
    ClusterObject.objects.filter(name="hub").update(
        state=ObjectState.FAILED, problem=gone.as_stored()
    )
    (problem,) = problems("hub")
    assert problem["path"] == "environmentVariables.0.secret.name"
    assert gone.told.rstrip(".") in problem["message"]
    assert not Workload.objects.exists()


def test_several_may_look_for_the_same_secret(kubernetes: World) -> None:
    """A data source of the Secret and a credential: one that goes leaves the other's."""
    world = kubernetes
    values = {"storage.secretVolume": [{"secret": "hub", "mountPath": "/hub"}]}
    files = make("secret_volume", scope=world.vision.scope, name="files", values=values)
    create(world, {"existingSecretName": "hub"}, "password")
    assert ClusterObject.objects.filter(name="hub").count() == 2
    delete(get("secret_volume"), actor=None, obj=files)
    states = ClusterObject.objects.values_list("owner_type", "state")
    assert dict(states) == {"credential": "waiting", "secret-volume": "deleting"}


def test_the_form_takes_the_name_in_place_of_the_values(kubernetes: World) -> None:
    world = kubernetes
    client = world.client("administrator")
    said = {
        "name": "hub", "scope": world.vision.scope_id, "kind": "genericSecret",
        "existingSecretName": "hub", "pairs": "3",
        "genericSecret.keyValuePairs.0.key": "token",
        "genericSecret.keyValuePairs.0.value": "v4lue",
    }  # fmt: skip
    answer = client.post("/credentials/new", said)
    assert answer.status_code == 422
    assert Page(answer.content.decode()).links == ["f-genericSecret-keyValuePairs-0-value"]
    said["genericSecret.keyValuePairs.0.value"] = ""
    assert client.post("/credentials/new", said).status_code == 302
    one = Credential.objects.get()
    assert (one.object_name, one.is_ours, one.keys) == ("hub", False, ["token"])


def test_a_personal_one_has_values(kubernetes: World) -> None:
    body = {"meta": {"name": "mine"}, "spec": {"password": {"existingSecretName": "hub"}}}
    answer = call(kubernetes, "POST", "user-credentials", body)
    assert answer.status_code == 400
    assert answer.json()["problems"][0]["rule"] == "existing"
