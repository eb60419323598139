"""API tokens and the commands that make people, tokens and links."""

import re
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from gangline.accounts.models import ApiToken, User
from gangline.accounts.services import (
    CannotMake,
    create_user,
    live_link,
    make_token,
    revoke_token,
    token_of,
)
from gangline.audit.models import AuditEntry
from gangline.config.env import env
from gangline.db.clock import db_now
from gangline.supervisor.lockfile import LockFile

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return create_user(username="ada")


def run(*command: str) -> str:
    out = StringIO()
    call_command(*command, stdout=out, stderr=StringIO())
    return out.getvalue().strip()


def test_a_token_has_the_form_that_secret_scanners_look_for(user: User) -> None:
    new = make_token(user=user, name="ci", days=30)
    assert re.fullmatch(r"gangline_[a-z0-9]{12}_[A-Za-z0-9_-]{43}", new.text)
    assert new.text.rsplit("_", 1)[0] != new.text
    secret = new.text.split("_", 2)[2]
    assert secret not in str(list(ApiToken.objects.values()))
    assert len(new.token.secret_hash) == 64
    found = token_of(new.text)
    assert found is not None
    assert found.user == user


@pytest.mark.parametrize("days", [0, -1, 91, 10**6])
def test_a_token_always_ends(user: User, days: int) -> None:
    with pytest.raises(CannotMake, match="1 to 90 days"):
        make_token(user=user, name="ci", days=days)


@pytest.mark.parametrize("name", ["", "x" * 64, "a\nb", "<b>"])
def test_names_of_tokens_are_plain(user: User, name: str) -> None:
    with pytest.raises(CannotMake):
        make_token(user=user, name=name, days=1)


def test_ended_tokens_are_no_tokens(user: User) -> None:
    revoked = make_token(user=user, name="one", days=1)
    revoke_token(token=revoked.token, by=user)
    revoke_token(token=revoked.token, by=user)
    expired = make_token(user=user, name="two", days=1)
    ApiToken.objects.filter(pk=expired.token.pk).update(expires_at=db_now() - timedelta(seconds=1))
    assert token_of(revoked.text) is token_of(expired.text) is None
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["token.create", "token.revoke", "token.create"]


def test_the_secret_of_another_token_does_not_fit(user: User) -> None:
    one, two = (make_token(user=user, name=name, days=1).text for name in ("one", "two"))
    assert token_of(f"{one.rsplit('_', 1)[0][:21]}_{two.split('_', 2)[2]}") is None


def test_the_command_prints_a_token_that_works(user: User) -> None:
    text = run("token", "ada", "--days", "7", "--name", "ci")
    found = token_of(text)
    assert found is not None
    assert (found.user, found.name) == (user, "ci")
    assert timedelta(days=6, hours=23) < found.expires_at - db_now() < timedelta(days=7)


def test_the_command_prints_a_link_that_works(user: User) -> None:
    address = run("sign-in-link", "ada")
    assert address.startswith("http://127.0.0.1:8000/enter/")
    link = live_link(address.rpartition("/")[2])
    assert link is not None
    assert link.user == user


def test_the_link_leads_to_where_a_server_of_the_folder_listens(
    user: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GANGLINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("PORT", "8123")
    env.cache_clear()
    try:
        with LockFile(tmp_path, "http://127.0.0.1:8710"):
            assert run("sign-in-link", "ada").startswith("http://127.0.0.1:8710/enter/")
        assert run("sign-in-link", "ada").startswith("http://127.0.0.1:8123/enter/")
    finally:
        monkeypatch.undo()
        env.cache_clear()


@pytest.mark.parametrize("command", [["token", "nobody"], ["sign-in-link", "nobody"]])
def test_commands_say_who_there_is(user: User, command: list[str]) -> None:
    with pytest.raises(CommandError, match=r"There is no user nobody\. Users: ada"):
        run(*command)


def test_people_are_made_by_command(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("create-user", "grace", "--no-password") == "Added grace."
    assert not User.objects.get(username="grace").has_usable_password()
    monkeypatch.setattr("sys.stdin", StringIO("correct horse battery staple\n"))
    run("create-user", "joan")
    assert User.objects.get(username="joan").check_password("correct horse battery staple")
    for name, stdin in (("grace", "x"), ("GRACE", "x"), ("a\nb", "x"), ("kay", "password1234")):
        monkeypatch.setattr("sys.stdin", StringIO(f"{stdin}\n"))
        with pytest.raises(CommandError):
            run("create-user", name)
