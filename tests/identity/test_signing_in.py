"""Signing in with a real provider: who gets in, as whom, with which groups, and who stays out."""

import time
from typing import Any

import pytest
from django.test import Client
from joserfc.jwk import KeySet, RSAKey

from gangline.access.models import AccessRule, Group
from gangline.accounts.models import User
from gangline.accounts.services import create_user, deactivate
from gangline.audit.models import AuditEntry
from gangline.clusters import trials
from gangline.identity import openid, views
from gangline.identity.models import ExternalIdentity, IdentityProvider
from gangline.people.services import give
from tests.support.identity import SECRET, Company, begin, come_back
from tests.support.people import make_group
from tests.support.world import PASSWORD, World

pytestmark = [pytest.mark.usefixtures("loopback_admitted"), pytest.mark.needs_oidc]
ADA = {
    "preferred_username": "ada",
    "name": "Ada Lovelace",
    "email": "ada@example.com",
    "email_verified": True,
    "groups": ["vision", "staff"],
}


@pytest.fixture(autouse=True)
def asked_anew() -> None:
    openid.forget()


@pytest.fixture
def provider(world: World, company: Company) -> IdentityProvider:
    company.knows("sub-ada", **ADA)
    return company.provider()


def sign_in(company: Company, subject: str = "sub-ada", target: str = "", **more: str) -> Any:
    """The answer to the return, as a browser with a session of its own gets it."""
    client = Client()
    answer = come_back(client, company.sign_in(begin(client, target=target, **more), subject))
    answer.browser = client
    return answer


def user_of(answer: Any) -> User | None:
    key = answer.browser.session.get("_auth_user_id")
    return User.objects.get(pk=key) if key else None


def why() -> str:
    entry = AuditEntry.objects.filter(action="session.sign_in_failed").latest("at", "pk")
    return entry.reason.partition(": ")[2].partition(":")[0]


def groups(user: User | None) -> list[str]:
    assert user is not None
    return sorted(user.member_of.values_list("name", flat=True))


def test_a_newcomer_becomes_a_user_with_the_groups_of_the_provider(
    world: World, provider: IdentityProvider, company: Company
) -> None:
    page = Client().get("/login?next=/workloads").content.decode()
    assert 'href="/login/with/company?next=%2Fworkloads"' in page
    answer = sign_in(company, target="/workloads")
    assert (answer.status_code, answer["Location"]) == (302, "/workloads")
    user = user_of(answer)
    assert user is not None
    assert (user.username, user.email, user.full_name) == (
        "ada", "ada@example.com", "Ada Lovelace",
    )  # fmt: skip
    assert not user.has_usable_password()
    assert groups(user) == ["staff", "vision"]
    # Groups give roles by access rules, as any group does.
    give(actor=None, group=Group.objects.get(name="vision"), role="viewer",
         scope=world.vision.scope)  # fmt: skip
    company.knows("sub-ada", **ADA | {"groups": ["staff"], "preferred_username": "renamed"})
    again = user_of(sign_in(company))
    assert again == user
    assert groups(again) == ["staff"]
    assert AuditEntry.objects.filter(action="session.sign_in", object_name="ada").count() == 2
    text = str(list(IdentityProvider.objects.values())) + str(list(AuditEntry.objects.values()))
    assert SECRET not in text


def test_the_deactivated_stay_out(provider: IdentityProvider, company: Company) -> None:
    user = user_of(sign_in(company))
    assert user is not None
    deactivate(user)
    answer = sign_in(company)
    assert (answer.status_code, user_of(answer), why()) == (403, None, "deactivated")


@pytest.mark.parametrize(
    ("name", "email", "code"),
    [("else", "ADA@example.com", "email_taken"), ("Ada", "else@example.com", "name_taken")],
)
def test_who_signs_in_here_already_is_never_taken_over(
    provider: IdentityProvider, company: Company, name: str, email: str, code: str
) -> None:
    local = create_user(username=name, email=email, password=PASSWORD)
    answer = sign_in(company)
    assert (answer.status_code, user_of(answer), why()) == (403, None, code)
    assert not ExternalIdentity.objects.exists()
    # But they connect the two themselves.
    client = Client()
    client.force_login(local, backend="django.contrib.auth.backends.ModelBackend")
    assert "/account/connect/company" in client.get("/account").content.decode()
    location = client.get("/account/connect/company")["Location"]
    assert come_back(client, company.sign_in(location, "sub-ada"))["Location"] == "/account"
    assert user_of(sign_in(company)) == local


def test_an_invitation_is_for_the_email_that_the_provider_vouches_for(
    world: World, company: Company
) -> None:
    company.provider(makes_users=False)
    company.knows("sub-ada", **ADA)
    assert (user_of(sign_in(company)), why()) == (None, "uninvited")
    invited = create_user(username="lovelace", email="ada@example.com")
    company.knows("sub-ada", **ADA | {"email_verified": False})
    assert (user_of(sign_in(company)), why()) == (None, "uninvited")
    company.knows("sub-ada", **ADA)
    assert user_of(sign_in(company)) == invited
    # One who has been here is no invitation any more.
    company.knows("sub-eve", **ADA)
    assert (user_of(sign_in(company, "sub-eve")), why()) == (None, "uninvited")


def test_groups_of_others_cannot_be_claimed(
    world: World, provider: IdentityProvider, company: Company
) -> None:
    make_group("Staff")
    user = user_of(sign_in(company))
    assert groups(user) == ["vision"]


def test_the_last_administrator_stays_one(
    world: World, provider: IdentityProvider, company: Company
) -> None:
    user = user_of(sign_in(company))
    AccessRule.objects.filter(role="system_administrator").delete()
    give(actor=None, group=Group.objects.get(name="staff"), role="system_administrator",
         scope=world.installation.scope)  # fmt: skip
    company.knows("sub-ada", **ADA | {"groups": []})
    assert user_of(sign_in(company)) == user
    assert groups(user) == ["staff", "vision"]
    assert AuditEntry.objects.filter(action="user.edit", result="denied").exists()


def test_a_return_is_for_one_browser_once_and_soon(
    provider: IdentityProvider, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client()
    location = company.sign_in(begin(client), "sub-ada")
    assert come_back(Client(), location).status_code == 403
    assert why() == "state"
    assert come_back(client, location).status_code == 302
    client.post("/logout")
    assert come_back(client, location).status_code == 403
    # The provider, too, takes a code once.
    forged = begin(client).partition("state=")[2].partition("&")[0]
    code = location.partition("code=")[2].partition("&")[0]
    answer = client.get("/login/with/company/back", {"state": forged, "code": code})
    assert (answer.status_code, why()) == (403, "code")
    late = company.sign_in(begin(client), "sub-ada")
    monkeypatch.setattr(views, "MOST_SECONDS", 0)
    assert (come_back(client, late).status_code, why()) == (403, "state")
    assert not client.session.get("_auth_user_id")


def test_a_client_without_a_secret_and_one_with_a_wrong_one(world: World, company: Company) -> None:
    company.knows("sub-ada", **ADA)
    company.provider(alias="public", client_id="public", client_secret="")
    client = Client()
    location = company.sign_in(begin(client, "public"), "sub-ada")
    assert come_back(client, location).status_code == 302
    company.provider(client_secret="another")
    assert (user_of(sign_in(company)), why()) == (None, "client")


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example"])
def test_nobody_is_sent_elsewhere(
    provider: IdentityProvider, company: Company, target: str
) -> None:
    assert sign_in(company, target=target)["Location"] == "/"


def test_keys_that_the_provider_has_changed_are_asked_for_again(
    provider: IdentityProvider, company: Company
) -> None:
    client = Client()
    location = company.sign_in(begin(client), "sub-ada")
    ((key, about),) = openid._known.items()
    stale = openid._About(
        about.metadata, KeySet([RSAKey.generate_key(2048, {"kid": "older"})]), time.monotonic() - 60
    )
    openid._known[key] = stale
    assert come_back(client, location).status_code == 302


def test_signing_out_tells_that_the_company_still_knows_them(
    provider: IdentityProvider, company: Company
) -> None:
    client = sign_in(company).browser
    left = client.post("/logout")
    assert left["Location"] == "/login?left=company"
    page = client.get(left["Location"]).content.decode()
    assert f"{company.issuer}/session/end?client_id=gangline" in page


def test_a_provider_that_is_off_is_not_there(provider: IdentityProvider) -> None:
    IdentityProvider.objects.update(is_enabled=False)
    assert "/login/with/" not in Client().get("/login").content.decode()
    assert Client().get("/login/with/company").status_code == 404


def test_testing_tells_what_is_there(
    world: World, provider: IdentityProvider, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "PAUSE", 0.0)
    client = world.client("administrator")
    page = client.post("/identity-providers/company/test").content.decode()
    assert 'data-code="issuer"' in page
    typed = {"name": "x", "issuer": f"{company.issuer}/realm", "_go": "test"}
    page = client.post("/identity-providers/new", typed).content.decode()
    assert 'data-code="no_provider"' in page
