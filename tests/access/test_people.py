"""Users, groups, roles and access rules by page and by API."""

import re
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from gangline.access.grants import can, held_anywhere
from gangline.access.models import AccessRule, CustomRole, Group
from gangline.access.permissions import Permission
from gangline.access.roles import ROLES
from gangline.accounts.models import SignInLink, User
from gangline.accounts.services import set_password
from gangline.db.clock import db_now
from gangline.forms.fields import dom_id
from gangline.lib.problems import Refused
from gangline.people.services import give
from gangline.resources.services import make
from gangline.scopes.selectors import tenant_scope
from tests.support.people import make_group, make_role
from tests.support.world import PASSWORD, World

pytestmark = pytest.mark.django_db
NEW = {"new_password1": PASSWORD, "new_password2": PASSWORD}


def browser(world: World, name: str) -> Client:
    return world.client(name)


def invited(client: Client, **more: Any) -> str:
    """The path of the link that an invitation shows."""
    page = client.post("/users/new", {"username": "dana", **more})
    assert page.status_code == 200, page.content.decode()
    assert "no-store" in page["Cache-Control"]
    found = re.search(
        r'data-testid="invite-link">http://testserver(/enter/[^<]+)<', page.content.decode()
    )
    assert found is not None
    return found.group(1)


def test_an_invitation_is_a_link_that_sets_a_password_once(world: World) -> None:
    group = make_group("team")
    link = invited(browser(world, "administrator"), email="d@example.com", groups=[group.pk])
    dana, guest = User.objects.get(username="dana"), Client()
    assert [one.name for one in dana.member_of.all()] == ["team"]
    assert guest.get(link, headers={"Sec-Fetch-Site": "none"}).status_code == 200
    assert guest.post(link, {**NEW, "new_password2": "another"}).status_code == 422
    assert guest.post(link, {"new_password1": "short", "new_password2": "short"}).status_code == 422
    assert guest.post(link, NEW)["Location"] == "/"
    assert guest.get("/account").status_code == 200
    dana.refresh_from_db()
    assert dana.check_password(PASSWORD)
    assert Client().post(link, NEW).status_code == 410


def test_a_link_ends_after_72_hours_or_with_the_next_one(world: World) -> None:
    admin = browser(world, "administrator")
    first = invited(admin)
    dana = User.objects.get(username="dana")
    page = admin.post(f"/users/{dana.uid}/link").content.decode()
    assert Client().get(first).status_code == 410
    found = re.search(r"(/enter/[^<\"]+)", page)
    assert found is not None
    assert Client().get(found.group(1)).status_code == 200
    SignInLink.objects.filter(user=dana).update(expires_at=db_now())
    assert Client().get(found.group(1)).status_code == 410


def test_deactivating_ends_sessions_and_can_be_undone(world: World) -> None:
    admin, viewer = browser(world, "administrator"), browser(world, "viewer-vision")
    user = world.people["viewer-vision"]
    assert viewer.get("/workloads").status_code == 200
    assert admin.post(f"/users/{user.uid}/delete").status_code == 302
    assert viewer.get("/workloads").status_code == 302
    user.refresh_from_db()
    assert (user.is_active, user.deactivated_at is None) == (False, False)
    assert admin.post(f"/users/{user.uid}/activate").status_code == 302
    assert viewer.get("/workloads").status_code == 200
    admin.post(f"/users/{user.uid}/sign-out")
    assert viewer.get("/workloads").status_code == 302


def test_who_holds_less_does_not_act_for_who_holds_more(world: World) -> None:
    role = make_role("help-desk", Permission.USER_VIEW, Permission.USER_EDIT)
    helper = world.people["stranger"]
    give(actor=None, user=helper, role=role.key, scope=world.installation.scope)
    client = browser(world, "stranger")
    for name in ("administrator", "viewer-vision"):
        person = world.people[name]
        for action in ("link", "sign-out", "activate"):
            assert client.post(f"/users/{person.uid}/{action}").status_code == 403
        for action in ("password", "logout"):
            answer = client.post(
                f"/api/v1/users/{person.uid}/{action}", headers=world.headers("stranger")
            )
            assert answer.status_code == 403
    assert not SignInLink.objects.exists()


def test_a_refused_rule_keeps_what_was_chosen(world: World) -> None:
    lead, friend = browser(world, "project_administrator-vision"), world.people["stranger"]
    page = lead.get("/access-rules/new").content.decode()
    assert 'value="researcher"' in page
    assert 'value="system_administrator"' not in page
    given = {
        "subject": f"user:{friend.uid}",
        "role": "researcher",
        "scope": str(world.vision.scope_id),
    }
    assert (
        lead.post("/access-rules/new", given | {"scope": str(world.nlp.scope_id)}).status_code
        == 422
    )
    assert (
        lead.post("/access-rules/new", given | {"role": "department_administrator"}).status_code
        == 422
    )
    assert not AccessRule.objects.filter(user=friend).exists()
    assert lead.post("/access-rules/new", given).status_code == 302
    again = lead.post("/access-rules/new", given)
    assert again.status_code == 422
    assert f'value="user:{friend.uid}" selected' in again.content.decode()
    rule = AccessRule.objects.get(user=friend)
    assert rule.created_by == world.people["project_administrator-vision"]
    assert lead.post(f"/access-rules/{rule.pk}/delete").status_code == 302
    assert held_anywhere(friend) == frozenset()


def test_the_question_is_answered_by_the_rule_that_gives_it(world: World) -> None:
    admin, dana = browser(world, "administrator"), world.people["stranger"]
    asked: dict[str, Any] = {
        "user": dana.pk,
        "permission": "workload.delete",
        "scope": world.vision.scope_id,
    }

    def allowed() -> str:
        page = admin.get("/access-check", asked).content.decode()
        found = re.search(r'data-allowed="(\w+)"', page)
        assert found is not None, page
        return found.group(1)

    assert allowed() == "no"
    rule = give(
        actor=None, group=make_group("ml", dana), role="researcher", scope=world.department.scope
    )
    assert allowed() == "own"
    assert f"/access-rules/{rule.pk}" in admin.get("/access-check", asked).content.decode()
    give(actor=None, user=dana, role="project_administrator", scope=world.vision.scope)
    assert allowed() == "yes"
    AccessRule.objects.filter(user=dana).delete()
    rule.delete()
    assert allowed() == "no"
    account = make("service_account", name="ci")
    give(actor=None, user=account.user, role="project_administrator", scope=world.vision.scope)
    asked["user"] = str(account.user.pk)
    assert allowed() == "yes"


def test_who_adds_a_member_comes_back_to_the_project(world: World) -> None:
    admin, page = browser(world, "administrator"), f"/projects/{world.vision.pk}"
    found = re.search(r'href="(/access-rules/new[^"]+)"', admin.get(page).content.decode())
    assert found is not None
    dana = world.people["stranger"]
    body = {
        "subject": f"user:{dana.uid}",
        "role": "researcher",
        "scope": str(world.vision.scope.pk),
    }
    add = found.group(1).replace("&amp;", "&")
    assert admin.post(add, body)["Location"] == page
    elsewhere = add.replace(f"next={page}", "next=//evil.example")
    assert admin.post(elsewhere, body | {"role": "viewer"})["Location"].startswith("/access-rules/")


def test_a_role_is_made_of_boxes_and_not_deleted_while_it_is_given(world: World) -> None:
    admin = browser(world, "administrator")
    body = {"name": "Night watch", "permissions": ["workload.view", "workload.stop"]}
    assert admin.post("/roles/new", body | {"permissions": []}).status_code == 422
    assert admin.post("/roles/new", body | {"permissions": ["root"]}).status_code == 422
    assert admin.post("/roles/new", body | {"name": "viewer"}).status_code == 422
    assert admin.post("/roles/new", body).status_code == 302
    role = CustomRole.objects.get()
    assert (role.pk, role.key) == (100, "night-watch")
    user = world.people["stranger"]
    give(actor=None, user=user, role=role.key, scope=world.vision.scope)
    assert can(user, Permission.WORKLOAD_STOP, world.vision.scope)
    assert admin.post(f"/roles/{role.pk}/delete").status_code == 409
    built_in = [f"/roles/built-in/{key}" for key in ROLES]
    for path in ("/roles", f"/roles/{role.pk}", f"/roles/{role.pk}/edit", *built_in):
        assert admin.get(path).status_code == 200
    assert browser(world, "viewer-vision").get("/roles/built-in/viewer").status_code == 404


def test_one_s_own_account(world: World) -> None:
    client, user = browser(world, "viewer-vision"), world.people["viewer-vision"]
    other = browser(world, "viewer-vision")
    assert client.post("/account", {"full_name": "Vi", "email": "not"}).status_code == 422
    assert client.post("/account", {"full_name": "Vi", "email": "v@example.com"}).status_code == 302
    taken = browser(world, "viewer-nlp").post("/account", {"email": "V@example.com"})
    assert taken.status_code == 422
    assert client.post("/account/password", NEW).status_code == 302
    assert client.get("/account").status_code == 200
    assert other.get("/account").status_code == 302
    assert client.post("/account/password", {**NEW, "old_password": "wrong"}).status_code == 422
    user.refresh_from_db()
    assert (user.full_name, user.check_password(PASSWORD)) == ("Vi", True)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("key", "field", "first", "second"),
    [
        ("group", "name", "Ärzte", "äRZTE"),
        ("role", "name", "Ärzte", "A\u0308rzte"),
        ("user", "email", "ada@Bücher.example", "ada@bÜcher.example"),
    ],
)
def test_what_differs_in_case_alone_is_taken_in_any_script(
    world: World, key: str, field: str, first: str, second: str
) -> None:
    given: dict[str, dict[str, Any]] = {
        "role": {"permissions": ["user.view"]},
        "user": {"password": "!"},
    }

    def made(number: int, value: str) -> Any:
        values = given.get(key, {}) | {field: value}
        if key == "user":
            values["username"] = f"person-{number}"
        return make(key, **values)

    made(1, first)
    with pytest.raises(Refused) as refused:
        made(2, second)
    assert [(one.path, one.code) for one in refused.value.problems] == [(field, "unique")]
    other = made(2, "other@example.org")
    setattr(other, field, second)
    with pytest.raises(IntegrityError), transaction.atomic():
        other.save()


def test_guesses_of_one_s_own_password_are_limited(world: World) -> None:
    user = world.people["viewer-vision"]
    set_password(user, PASSWORD)
    user.refresh_from_db()
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")

    def guess(password: str) -> int:
        other = dict.fromkeys(("new_password1", "new_password2"), "another horse, another staple")
        return client.post("/account/password", {**other, "old_password": password}).status_code

    def guess_by_token(password: str, address: str) -> int:
        answer = Client(REMOTE_ADDR=address).post(
            "/api/v1/me/password",
            {"currentPassword": password, "newPassword": "another horse, another staple"},
            content_type="application/json",
            headers=world.headers("viewer-vision"),
        )
        return answer.status_code

    assert [guess("wrong") for _ in range(5)] == [422] * 4 + [429]
    assert guess(PASSWORD) == 429
    assert guess_by_token(PASSWORD, "127.0.0.1") == 429
    elsewhere = "198.51.100.7"
    assert [guess_by_token("wrong", elsewhere) for _ in range(5)] == [400] * 4 + [429]
    assert guess_by_token(PASSWORD, elsewhere) == 429
    user.refresh_from_db()
    assert user.check_password(PASSWORD)
    assert guess_by_token(PASSWORD, "198.51.100.8") == 200


def test_a_temporary_password_is_replaced_first(world: World) -> None:
    answer = Client().post(
        "/api/v1/users",
        {"email": "dana@example.com", "resetPassword": True},
        content_type="application/json",
        headers=world.headers("administrator"),
    )
    assert answer.status_code == 201, answer.json()
    password = answer.json()["tempPassword"]
    client = Client()
    signed_in = client.post("/login", {"username": "dana@example.com", "password": password})
    assert signed_in["Location"] == "/account/password"
    assert client.get("/workloads")["Location"] == "/account/password"
    assert client.get("/api/v1/workloads").status_code == 403
    done = client.post("/account/password", {**NEW, "old_password": password})
    assert done["Location"] == "/account"
    assert client.get("/workloads").status_code == 200


def test_groups_are_served_and_refused_while_they_have_rules(world: World) -> None:
    headers = world.headers("administrator")
    api: Any = Client(headers=headers)
    user = world.people["stranger"]
    body = {"name": "team", "description": "Ours", "members": [str(user.uid)]}
    made = api.post("/api/v1/groups", body, content_type="application/json")
    assert made.status_code == 201, made.json()
    assert made.json()["members"] == [str(user.uid)]
    path = f"/api/v1/groups/{made.json()['id']}"
    assert (
        api.post(
            "/api/v1/groups", body | {"name": "Team"}, content_type="application/json"
        ).status_code
        == 409
    )
    assert api.put(path, {"name": "crew"}, content_type="application/json").status_code == 200
    assert list(Group.objects.get().members.all()) == [user]
    give(actor=None, group=Group.objects.get(), role="viewer", scope=world.vision.scope)
    assert api.delete(path).status_code == 409
    AccessRule.objects.filter(group__isnull=False).delete()
    assert api.delete(path).status_code == 204


def test_an_invitation_gives_a_first_role_within_what_the_inviter_holds(world: World) -> None:
    admin = browser(world, "administrator")
    place = {"role": "researcher", "scope": str(world.vision.scope.pk)}
    for missing in place:
        page = admin.post("/users/new", {"username": "dana"} | place | {missing: ""})
        assert page.status_code == 422
        assert f'href="#{dom_id(missing)}"' in page.content.decode()
    strange = {"username": "dana"} | place | {"scope": "0"}
    assert admin.post("/users/new", strange).status_code == 422
    assert not User.objects.filter(username="dana").exists()
    invited(admin, **place)
    dana = User.objects.get(username="dana")
    assert can(dana, Permission.WORKLOAD_CREATE, world.vision.scope)
    assert not can(dana, Permission.WORKLOAD_CREATE, world.nlp.scope)
    needed = (Permission.USER_VIEW, Permission.USER_CREATE, Permission.ACCESS_RULE_CREATE)
    inviter = make_role("inviter", *needed)
    give(actor=None, user=world.people["stranger"], role=inviter.key, scope=tenant_scope())
    refused = browser(world, "stranger").post(
        "/users/new", {"username": "rob", "role": "system_administrator", "scope": place["scope"]}
    )
    assert refused.status_code == 422
    assert not User.objects.filter(username="rob").exists()
