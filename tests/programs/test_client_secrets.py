"""Service accounts and access keys: what the contract of resources does not say of them."""

from typing import Any

import pytest
from django.test import Client

from gangline.access.models import AccessRule, CustomRole
from gangline.accounts.models import ClientSecret, User
from gangline.audit.models import AuditEntry
from gangline.db.clock import db_now
from gangline.people.services import give
from gangline.programs.models import AccessKey, ServiceAccount
from gangline.resources.services import make
from tests.support.world import World, make_world


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def browser(world: World, person: str) -> Client:
    return world.client(person)


def signs_in(client: ClientSecret, secret: str) -> bool:
    body = {"grantType": "client_credentials", "clientID": str(client.pk), "clientSecret": secret}
    return Client().post("/api/v1/token", body, "application/json").status_code == 200


def shown_secret(answer: Any) -> str:
    assert answer.status_code == 200
    return str(answer.context["secret"])


def test_a_secret_is_shown_once_and_replaced(world: World) -> None:
    client = browser(world, "administrator")
    first = shown_secret(client.post("/service-accounts/new", {"name": "ci"}))
    account = ServiceAccount.objects.get()
    assert signs_in(account, first)
    page = f"/service-accounts/{account.pk}"
    assert client.get(f"{page}/secret").status_code == 200
    second = shown_secret(client.post(f"{page}/secret"))
    assert not signs_in(account, first)
    assert signs_in(account, second)
    later = client.get(page).content.decode() + str(list(AuditEntry.objects.values()))
    stored = str(list(ClientSecret.objects.values()))
    account.refresh_from_db()
    assert not [text for text in (first, second) if text in later + stored]
    assert account.secret_hash not in later
    edits = AuditEntry.objects.filter(action="service_account.edit")
    assert set(edits.get().detail) == {"secret_hash"}


def test_a_deleted_account_leaves_its_name_and_no_rights(world: World) -> None:
    account = make("service_account", name="ci")
    give(actor=None, user=account.user, role="researcher", scope=world.vision.scope)
    answer = browser(world, "administrator").post(f"/service-accounts/{account.pk}/delete")
    assert answer.status_code == 302
    assert not signs_in(account, account.secret)
    assert not AccessRule.objects.filter(user=account.user_id).exists()
    assert not User.objects.get(pk=account.user_id).is_active
    assert make("service_account", name="ci").user_id != account.user_id


def test_nobody_gets_the_secret_of_who_may_do_more(world: World) -> None:
    now = db_now()
    permissions = ["service_account.edit", "service_account.view"]
    role = CustomRole.objects.create(
        key="keeper", name="Keeper", permissions=permissions, created_at=now, updated_at=now
    )
    everywhere = world.installation.scope
    give(actor=None, user=world.people["stranger"], role=role.key, scope=everywhere)
    small, large = (make("service_account", name=name) for name in ("small", "large"))
    give(actor=None, user=large.user, role="viewer", scope=world.vision.scope)
    client = browser(world, "stranger")
    assert client.post(f"/service-accounts/{small.pk}/secret").status_code == 200
    assert client.post(f"/service-accounts/{large.pk}/secret").status_code == 403
    assert signs_in(large, large.secret)


def test_access_keys_are_of_people_and_at_most_twenty(world: World) -> None:
    person = world.people["researcher-vision"]
    made = [make("access_key", user=person, name=f"key-{n}") for n in range(20)]
    client = browser(world, "researcher-vision")
    assert client.post("/access-keys/new", {"name": "one-more"}).status_code == 422
    assert client.post(f"/access-keys/{made[0].pk}/delete").status_code == 302
    assert client.post("/access-keys/new", {"name": "one-more"}).status_code == 200
    assert browser(world, "head").get(f"/access-keys/{made[1].pk}/secret").status_code == 404
    account = make("service_account", name="ci")
    world.people["ci"] = account.user
    answer = Client().post(
        "/api/v1/access-keys", {"name": "own"}, "application/json", headers=world.headers("ci")
    )
    assert answer.status_code == 400


def test_older_addresses_ask_the_same_permissions(world: World) -> None:
    account = make("service_account", name="ci")
    key = make("access_key", user=world.people["head"], name="own")
    found = {}
    for person in ("administrator", "head", "stranger"):
        client = Client(headers=world.headers(person))
        apps, keys = client.get("/api/v1/apps"), client.get("/api/v1/administration/access-keys")
        assert (apps.status_code, keys.status_code) == (200, 200)
        rows = {row["id"] for row in [*apps.json(), *keys.json()["accessKeys"]]}
        found[person] = rows
        if person != "administrator":
            assert client.post(f"/api/v1/apps/{account.pk}/secret").status_code == 404
            assert client.delete(f"/api/v1/apps/{account.pk}").status_code == 404
            made = client.post("/api/v1/apps", {"name": "mine"}, "application/json")
            assert made.status_code == 403
    both = {str(account.pk), str(key.pk)}
    assert found == {"administrator": both, "head": {str(key.pk)}, "stranger": set()}


def token_of(key: ClientSecret, address: str = "192.0.2.7") -> tuple[int, str]:
    body = {"grantType": "client_credentials", "clientID": str(key.pk), "clientSecret": key.secret}
    answer = Client().post("/api/v1/token", body, "application/json", REMOTE_ADDR=address)
    return answer.status_code, answer.json().get("accessToken", "")


def asks(token: str, method: str = "GET", address: str = "192.0.2.7") -> int:
    headers = {"Authorization": f"Bearer {token}"}
    answer = Client().generic(method, "/api/v1/access-keys", b'{"name": "second"}',
                              "application/json", headers=headers, REMOTE_ADDR=address)  # fmt: skip
    return answer.status_code


def test_a_key_is_good_until_its_end_from_its_addresses_for_what_it_is(world: World) -> None:
    person = world.people["researcher-vision"]
    limits: Any = {"addresses": "192.0.2.0/24, 10.0.0.0/8", "is_read_only": True}
    key = make("access_key", user=person, name="limited", **limits)
    assert token_of(key, "198.51.100.1")[0] == 400
    assert token_of(key, "::ffff:10.1.2.3")[0] == 200
    status, token = token_of(key)
    assert (status, asks(token), asks(token, address="198.51.100.1")) == (200, 200, 401)
    assert asks(token, "POST") == 403
    AccessKey.objects.update(is_read_only=False)
    assert asks(token, "POST") == 201
    AccessKey.objects.filter(pk=key.pk).update(expires_at=db_now())
    assert (asks(token), token_of(key)[0]) == (401, 400)


def test_limits_are_typed_shown_and_audited(world: World) -> None:
    client = browser(world, "researcher-vision")
    values = {"name": "limited", "addresses": "10.0.0.0/33", "expires_at": ""}
    answer = client.post("/access-keys/new", values)
    assert (answer.status_code, "10.0.0.0/33" in answer.content.decode()) == (422, True)
    answer = client.post("/access-keys/new", values | {"addresses": "10.0.0.0/8"})
    assert answer.status_code == 200
    key = AccessKey.objects.get()
    assert "10.0.0.0/8" in client.get(f"/access-keys/{key.pk}").content.decode()
    detail = AuditEntry.objects.get(action="access_key.create").detail
    assert detail["addresses"] == "10.0.0.0/8"
