"""Credentials of every type: what clients send and get, and where no value ever stands."""

import json
import logging
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from assets.credentials import store
from assets.credentials.types import TYPES, serves
from assets.models import Asset, Credential
from gangline.audit.models import AuditEntry
from gangline.lib.sealing import key_of
from gangline.policies.services import save
from gangline.resources.registry import get
from gangline.resources.services import make, update
from gangline.scopes.selectors import tenant_scope
from tests.support.forms import Page
from tests.support.world import World

CANARY = "c4n4ry-5d1f"
KEY = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}\n-----END OPENSSH PRIVATE KEY-----"
SPECS: dict[str, dict[str, Any]] = {
    "dockerRegistry": {"url": "registry.lab:5000", "user": "dana", "password": CANARY},
    "accessKey": {"accessKeyId": "AKIA", "secretAccessKey": CANARY},
    "password": {"user": "dana", "password": CANARY},
    "genericSecret": {
        "keyValuePairs": [{"key": "a", "value": CANARY}, {"key": "b.c", "value": "ключ 🔑\n2"}]
    },
    "sshKey": {"privateKey": KEY},
    "ngcApiKey": {"ngc_api_key": CANARY},
}
DATA: dict[str, set[str]] = {
    "dockerRegistry": {".dockerconfigjson"},
    "accessKey": {"AccessKeyId", "SecretKey"},
    "password": {"UserName", "User", "Password"},
    "genericSecret": {"a", "b.c"},
    "sshKey": {"ssh"},
    "ngcApiKey": {".dockerconfigjson"},
}


def call(world: World, method: str, path: str, body: Any = None, who: str = "administrator") -> Any:
    return Client().generic(
        method,
        f"/api/v1/{path}",
        data=b"" if body is None else json.dumps(body).encode(),
        content_type="application/json",
        headers=world.headers(who),
    )


def body_of(world: World, kind: str, name: str = "one") -> dict[str, Any]:
    place = {"scope": "department", "departmentId": world.department.pk}
    return {"meta": {"name": name, **place}, "spec": SPECS[kind]}


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_is_made_listed_changed_and_deleted_as_clients_know_it(
    world: World, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """AC-A06: no value leaves."""
    caplog.set_level(logging.DEBUG)
    path = f"asset/credentials/{TYPES[kind].path}"
    made = call(world, "POST", path, body_of(world, kind))
    assert made.status_code == 202, made.content
    row = Credential.objects.get()
    assert (made.json()["meta"]["kind"], made.json()["spec"]["keyId"]) == (kind, 1)
    assert made.json()["clusterInfo"] == {"resources": [{"name": f"{TYPES[kind].prefix}-one"}]}
    assert set(store.data_of(row)) == DATA[kind]
    assert CANARY in json.dumps(dict(store.data_of(row))) or "auth" in str(store.data_of(row))
    again = call(world, "POST", path, body_of(world, kind))
    assert again.status_code == 409
    changed = call(world, "PUT", f"{path}/{row.pk}", {"meta": {"description": "of the lab"}})
    assert changed.json()["meta"]["description"] == "of the lab"
    assert changed.json()["spec"]["keyId"] == 1
    rotated = call(world, "PUT", f"{path}/{row.pk}", {"spec": SPECS[kind]})
    assert rotated.json()["spec"]["keyId"] == 2
    assert not [
        other
        for other in TYPES
        if other != kind
        and call(world, "GET", f"asset/credentials/{TYPES[other].path}").json()["entries"]
    ]
    listed = call(world, "GET", f"{path}?usageInfo=true&statusInfo=true&name=one")
    whole = call(world, "GET", f"asset/credentials?projectId={world.vision.pk}")
    assert [len(one.json()["entries"]) for one in (listed, whole)] == [1, 1]
    assert list(whole.json()["entries"][0]["spec"]) == [kind]
    page, resource = Client(), get("credential")
    page.force_login(world.people["administrator"])
    bad = call(world, "POST", path, {**body_of(world, kind, "two"), "spec": _spoiled(kind)})
    assert bad.status_code == 400
    texts = [
        *(one.content.decode() for one in (made, again, changed, rotated, listed, whole, bad)),
        *(page.get(url).content.decode() for url in (resource.list_url(), resource.url(row))),
        page.get(resource.url(row, "values")).content.decode(),
        str(list(AuditEntry.objects.values_list("detail", flat=True))),
        caplog.text,
        repr(row),
    ]
    assert not [text for text in texts if CANARY in text]
    gone = call(world, "DELETE", f"{path}/{row.pk}")
    assert gone.status_code == TYPES[kind].deleted
    assert not Credential.objects.exists()


def _spoiled(kind: str) -> dict[str, Any]:
    """The values with an unknown one, and with the secret one out of order."""
    if kind == "genericSecret":
        return {"keyValuePairs": [{"key": "..a", "value": CANARY}, {"key": "b", "valu": CANARY}]}
    return {**{n: f"{v}\u0000" for n, v in SPECS[kind].items()}, "more": CANARY[:-1]}


@pytest.mark.parametrize("text", ["********", "••••••", "$encrypted$", "", "  ", "a\0b"])
def test_what_only_looks_like_a_value_is_refused_and_absence_keeps_it(
    world: World, text: str
) -> None:
    call(world, "POST", "asset/credentials/password", body_of(world, "password"))
    row = Credential.objects.get()
    path = f"asset/credentials/password/{row.pk}"
    answer = call(world, "PUT", path, {"spec": {"user": "dana", "password": text}})
    assert answer.status_code == 400
    assert answer.json()["problems"][0]["path"] in ("spec.password", "password")
    for body in ({"meta": {"name": "renamed"}}, {"spec": None}):
        assert call(world, "PUT", path, body).status_code == 202
    assert store.data_of(Credential.objects.get())["Password"] == CANARY


def test_it_opens_nowhere_else_and_comes_to_the_newest_key(world: World) -> None:
    one, other = (
        make(
            "credential",
            scope=scope,
            name="hf",
            kind="password",
            given={"user": "dana", "password": CANARY},
        )
        for scope in (world.vision.scope, world.nlp.scope)
    )
    before = key_of(one.sealed)
    out = StringIO()
    call_command("keys", "add", stdout=out)
    call_command("keys", "rotate", stdout=out)
    call_command("keys", "retire", before, stdout=out)
    assert "2 credentials were re-encrypted" in out.getvalue()
    one.refresh_from_db()
    assert key_of(one.sealed) != before
    assert store.data_of(one)["Password"] == CANARY
    Credential.objects.filter(pk=other.pk).update(sealed=one.sealed)
    other.refresh_from_db()
    with pytest.raises(store.CannotUse, match="encrypted for something else"):
        store.data_of(other)


def test_type_place_and_kubernetes_name_never_change(world: World) -> None:
    one = make("credential", scope=world.vision.scope, name="hf", kind="password",
               given={"user": "dana", "password": CANARY})  # fmt: skip
    name = one.object_name
    update(get("credential"), actor=None, obj=one, values={"name": "renamed"})
    one.refresh_from_db()
    assert (one.name, one.object_name) == ("renamed", name)
    path = f"asset/credentials/{one.pk}"
    for spec in ({"sshKey": SPECS["sshKey"]}, {"accessKey": SPECS["accessKey"]}):
        answer = call(world, "PUT", path, {"spec": spec})
        assert answer.json()["problems"][0]["rule"] == "fixed"
    elsewhere = {"scope": "project", "projectId": world.nlp.pk}
    assert call(world, "PUT", path, {"meta": elsewhere}).status_code == 202
    one.refresh_from_db()
    assert one.scope == world.vision.scope


def test_personal_credentials_are_seen_by_their_owner_alone(world: World) -> None:
    body = {"meta": {"name": "my-hf"}, "spec": {"genericSecret": SPECS["genericSecret"]}}
    made = call(world, "POST", "user-credentials", body, "researcher-vision")
    assert made.status_code == 202, made.content
    key, name = made.json()["meta"]["id"], Credential.objects.get().object_name
    assert name not in made.content.decode()
    assert name.startswith("gangline-user-")
    assert len(name) > 40
    for who in ("administrator", "researcher-nlp"):
        assert call(world, "GET", "user-credentials", who=who).json()["entries"] == []
        assert call(world, "GET", f"user-credentials/{key}", who=who).status_code == 404
        assert call(world, "GET", f"asset/credentials/{key}", who=who).status_code == 404
    assert call(world, "GET", "asset/credentials").json()["entries"] == []


@pytest.mark.parametrize(
    ("url", "image", "fits"),
    [
        ("registry.lab:5000", "registry.lab:5000/team/ddp:1", True),
        ("https://registry.lab:5000/v2/", "registry.lab:5000/ddp", True),
        ("registry.lab:5000", "registry.lab/ddp", False),
        ("docker.io", "library/python:3", True),
        ("https://index.docker.io/v1/", "python", True),
        ("corp.reg", "evil.io/corp.reg/x", False),
        ("localhost", "localhost/x", True),
    ],
)
def test_a_login_is_for_images_of_its_registry(url: str, image: str, fits: bool) -> None:
    assert serves(url, image) is fits


def test_what_names_a_credential_keeps_it(world: World) -> None:
    place: Any = {"scope": world.department.scope}
    one = make("credential", name="hub", kind="password", given=SPECS["password"], **place)
    secret = {"name": one.object_name, "authenticationMethod": "password"}
    code = {"repository": "https://git.example/a", "path": "/a", "secretRef": secret}
    source = make("git", name="code", values={"storage.git": [code]}, **place)
    path = f"asset/credentials/{one.pk}"

    def refused() -> Any:
        answer = call(world, "DELETE", path)
        assert answer.status_code == 412, answer.content
        assert call(world, "GET", f"{path}?usageInfo=true").status_code == 200
        return answer.content.decode()

    assert "code" in refused()
    used = call(world, "GET", f"{path}?usageInfo=true").json()["usedBy"]
    assert [row["id"] for row in used["assets"]] == [str(source.pk)]
    Asset.objects.all().delete()
    variable = {"name": "P", "secret": {"name": one.object_name, "key": "Password"}}
    said = {"defaults": {"worker": {"environmentVariables": {"instances": [variable]}}}}
    policy = save(
        actor=world.actor("administrator"), scope=world.vision.scope, text=json.dumps(said)
    )
    assert "policy" in refused()
    other = json.dumps(said).replace(one.object_name, f"{one.object_name}-2")
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=other,
         version=policy.version)  # fmt: skip
    assert call(world, "DELETE", path).status_code == 202


def test_more_pairs_is_no_button_where_there_are_none(world: World) -> None:
    one = make("credential", scope=world.vision.scope, name="hub", kind="password",
               given=SPECS["password"])  # fmt: skip
    client = world.client("administrator")
    for said in ({"_go": "more-pairs"}, {"pairs": "9" * 5000}):
        answer = client.post(get("credential").url(one, "values"), said)
        assert answer.status_code == 422
    one.refresh_from_db()
    assert one.rotations == 1


def test_new_values_begin_with_the_keys_that_are_there(world: World) -> None:
    pairs = {"keyValuePairs": [{"key": f"key-{n}", "value": CANARY} for n in range(4)]}
    one = make(
        "credential", scope=world.vision.scope, name="four", kind="genericSecret", given=pairs
    )
    browser = world.client("administrator")
    for at in ("values", "copy"):
        page = browser.get(f"/credentials/{one.pk}/{at}").content.decode()
        assert all(f'value="key-{n}"' in page for n in range(4))
        assert CANARY not in page


def test_a_copy_names_the_secret_that_others_keep(world: World) -> None:
    given = {"existingSecretName": "theirs"}
    one = make("credential", scope=tenant_scope(), name="a", kind="password", given=given)
    shown = Page(world.client("administrator").get(f"/credentials/{one.pk}/copy").content.decode())
    named = {e.attributes.get("name"): e.attributes.get("value") for e in shown.elements}
    assert (named["name"], named["existingSecretName"]) == ("a-copy", "theirs")


def test_an_empty_list_says_whom_to_ask_who_may_create_none(world: World) -> None:
    person = world.client("researcher-vision")
    told = person.get("/credentials").content.decode()
    assert 'data-testid="whom-to-ask"' in told
    assert "administrator" in told
    assert 'href="/my-credentials"' in told
    own = person.get("/my-credentials/new").content.decode()
    assert "Git needs a credential of the project" in own
    boss = world.client("administrator")
    assert "whom-to-ask" not in boss.get("/credentials").content.decode()
