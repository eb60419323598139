"""Credentials in workloads: which may be named, what is stored, what keeps them."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from assets.models import Credential, PersonalCredential
from gangline.clusters import credentials
from gangline.clusters.models import Cluster
from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.resources.registry import get
from gangline.resources.services import InUse, delete, make
from gangline.scopes.models import Scope
from tests.support.world import World
from workloads.models import Attempt, CredentialUse, Workload
from workloads.services.credentials import values_of

CANARY = "c4n4ry-7f3a"
PAIRS = {"keyValuePairs": [{"key": "token", "value": CANARY}, {"key": "url", "value": "x"}]}
LOGIN = {"user": "dana", "password": CANARY}


def shared(scope: Scope, name: str = "hf", **more: Any) -> Credential:
    values = {"kind": "genericSecret", "given": PAIRS, **more}
    made: Credential = make("credential", scope=scope, name=name, **values)
    return made


def personal(world: World, owner: str, name: str = "my-hf") -> PersonalCredential:
    made: PersonalCredential = make(
        "personal_credential",
        owner=world.people[owner],
        scope=world.installation.scope,
        name=name,
        kind="genericSecret",
        given=PAIRS,
    )
    return made


def submit(world: World, *variables: dict[str, Any], who: str = "researcher-vision") -> Any:
    given = [{"name": f"V{n}"} | one for n, one in enumerate(variables)]
    return Client().post(
        "/api/v1/workloads/distributed",
        world.spec_body(environmentVariables=given),
        content_type="application/json",
        headers=world.headers(who),
    )


def everything_stored() -> str:
    """All rows of all tables, as text."""
    with connection.cursor() as cursor:
        rows: list[Any] = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            rows += cursor.fetchall()
    return repr(rows)


def test_what_is_stored_of_a_workload_are_names(world: World) -> None:
    one = shared(world.department.scope)
    own = personal(world, "researcher-vision")
    answer = submit(
        world,
        {"secret": {"name": one.object_name, "key": "token"}},
        {"userCredential": {"name": "my-hf", "key": "url"}},
        {"description": "Say which", "value": "this"},
    )
    assert answer.status_code == 202, answer.content
    workload, attempt = Workload.objects.get(), Attempt.objects.get()
    assert set(workload.credential_uses.values_list("credential", flat=True)) == {one.pk, own.pk}
    assert attempt.rendered is not None
    assert attempt.rendered["worker"]["late"] == [
        ["V0", "genericsecret-hf", "token"],
        ["V1", own.object_name, "url"],
    ]
    assert values_of(workload) == {
        one.object_name: {"token": CANARY, "url": "x"},
        own.object_name: {"token": CANARY, "url": "x"},
    }
    assert CANARY not in everything_stored()
    assert CANARY not in answer.content.decode()
    spec = answer.json()["spec"]["environmentVariables"]
    assert spec[1]["userCredential"] == {"name": "my-hf", "key": "url"}
    assert own.object_name not in answer.content.decode()


def test_what_one_may_not_use_is_as_unknown_as_what_is_not_there(world: World) -> None:
    elsewhere = shared(world.nlp.scope, "elsewhere")
    foreign = personal(world, "researcher-nlp", "foreign")
    own = personal(world, "researcher-vision")
    shared(world.vision.scope)
    refused = [
        {"secret": {"name": elsewhere.object_name, "key": "token"}},
        {"secret": {"name": "genericsecret-nowhere", "key": "token"}},
        {"secret": {"name": "anything", "key": "token"}},
        {"secret": {"name": foreign.object_name, "key": "token"}},
        {"secret": {"name": own.object_name, "key": "token"}},
        {"secret": {"name": "my-hf", "key": "token"}},
        {"userCredential": {"name": "foreign", "key": "token"}},
        {"userCredential": {"name": "genericsecret-hf", "key": "token"}},
        {"userCredential": {"name": own.object_name, "key": "token"}},
    ]
    answer = submit(world, *refused)
    assert answer.status_code == 400
    problems = answer.json()["problems"]
    paths = [next(iter(one)) for one in refused]
    assert [(p["path"], p["rule"]) for p in problems] == [
        (f"environmentVariables.{n}.{path}.name", "options") for n, path in enumerate(paths)
    ]
    for kind in ("secret", "userCredential"):
        of_kind = [p for p in problems if f".{kind}." in p["path"]]
        assert len({(p["message"], p["accepted"]) for p in of_kind}) == 1
    assert not Workload.objects.exists()


@pytest.mark.parametrize(
    ("variable", "path", "rule"),
    [
        ({"secret": {"name": "genericsecret-hf", "key": "nope"}}, "secret.key", "options"),
        ({"secret": {"name": "dockerreg-lab", "key": "token"}}, "secret.key", "options"),
        ({"description": "Your token"}, "value", "fill"),
        ({"description": "Your token", "value": ""}, "value", "fill"),
        ({}, "value", "required"),
    ],
)
def test_a_wrong_key_and_an_empty_variable_are_told_at_their_place(
    world: World, variable: dict[str, Any], path: str, rule: str
) -> None:
    shared(world.vision.scope)
    registry = {**LOGIN, "url": "registry.lab"}
    shared(world.vision.scope, "lab", kind="dockerRegistry", given=registry)
    answer = submit(world, {"value": "x"}, variable)
    assert answer.status_code == 400
    (problem,) = answer.json()["problems"]
    assert (problem["path"], problem["rule"]) == (f"environmentVariables.1.{path}", rule)
    if rule == "fill":
        assert "Your token" in problem["message"]


@pytest.fixture
def on_kubernetes(world: World, loopback_admitted: None) -> None:
    """The cluster of the world is a Kubernetes that nobody needs to reach."""
    Cluster.objects.filter(pk=world.cluster.pk).update(kind="kubernetes", host_id="")
    access = ClusterCredentials("https://127.0.0.1:9", token="unused")
    credentials.store(Cluster.objects.get(pk=world.cluster.pk), access, by=None)


def of_image(world: World, image: str, *logins: str) -> Any:
    named: dict[str, Any] = (
        {"imagePullSecrets": [{"name": one} for one in logins]} if logins else {}
    )
    return Client().post(
        "/api/v1/workloads/distributed",
        world.spec_body(image=image, **named),
        content_type="application/json",
        headers=world.headers("researcher-vision"),
    )


def test_a_login_goes_to_its_own_registry_alone(world: World, on_kubernetes: None) -> None:
    """Named by hand for another one it is refused; by itself it comes only with its images."""
    login = {**LOGIN, "url": "corp.reg"}
    one = shared(world.vision.scope, "corp", kind="dockerRegistry", given=login)
    for image in ("evil.io/ddp:1", "evil.io/corp.reg/ddp:1", "corp.reg.evil.io/ddp:1", "ddp:1"):
        refused = of_image(world, image, one.object_name)
        (problem,) = refused.json()["problems"]
        assert (refused.status_code, problem["rule"]) == (400, "options"), image
        assert problem["path"] == "imagePullSecrets.0.name"
        assert "corp.reg" in problem["message"]
    assert not Workload.objects.exists()
    for image, logins, pulls in (
        ("evil.io/ddp:1", (), None),
        ("corp.reg/ddp:1", (), [{"name": one.object_name}]),
        ("corp.reg/ddp:1", (one.object_name,), [{"name": one.object_name}]),
    ):
        accepted = of_image(world, image, *logins)
        assert accepted.status_code == 202, accepted.content
        workload = Workload.objects.get()
        rendered = Attempt.objects.get(workload=workload).rendered
        assert rendered is not None
        pods = list(of_key(rendered, "containers"))
        assert pods
        assert [pod.get("imagePullSecrets") for pod in pods] == [pulls] * len(pods)
        assert workload.credential_uses.exists() is bool(pulls)
        workload.attempts.all().delete()
        workload.delete()


def of_key(value: Any, key: str) -> Iterator[dict[str, Any]]:
    """Every object in ``value`` that has ``key``."""
    if isinstance(value, dict):
        if key in value:
            yield value
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from of_key(inner, key)


def test_a_credential_in_use_stays_until_its_workload_goes(world: World) -> None:
    one = shared(world.vision.scope)
    assert submit(world, {"secret": {"name": one.object_name, "key": "url"}}).status_code == 202
    with pytest.raises(InUse) as used:
        delete(get("credential"), actor=None, obj=one)
    assert [name for name, _ in used.value.usages[0].shown] == ["digits"]
    Workload.objects.update(deleted_at=world.cluster.created_at)
    delete(get("credential"), actor=None, obj=one)
    assert not CredentialUse.objects.exists()


def test_a_name_that_is_taken_elsewhere_gives_another_secret(world: World) -> None:
    first, second = shared(world.vision.scope), shared(world.nlp.scope)
    odd = shared(world.vision.scope, "Größe / 1_2")
    assert first.object_name == "genericsecret-hf"
    assert second.object_name.startswith("genericsecret-hf-")
    assert odd.object_name == "genericsecret-groe-1-2"
