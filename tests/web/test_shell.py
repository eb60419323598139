"""The shell of every page: places, theme, error pages, the question before harm."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.test import RequestFactory

from gangline.web import confirm, errors, navigation
from gangline.web.views.theme import set_theme
from tests.support.world import World


def _request(
    path: str = "/workloads", *, signed_in: bool = True, user: Any = None, **cookies: str
) -> HttpRequest:
    request = RequestFactory().get(path)
    person: Any = SimpleNamespace(
        is_authenticated=True, get_username=lambda: "researcher", is_anonymous=False
    )
    request.user = user or (person if signed_in else AnonymousUser())
    request.session = {}  # type: ignore[assignment]
    request.COOKIES.update(cookies)
    request.META["gangline.request_id"] = "7f3a09b2"
    return request


def _page(request: HttpRequest) -> str:
    question = confirm.Question(
        "Stop <b>3</b> workloads?", "8 GPUs are released.", "Stop 3 workloads", "/stop",
        "/workloads", is_harmful=True, hidden={"id": ["1", "2"], "action": "stop"},
    )  # fmt: skip
    return str(confirm.ask(request, question).render().content, "utf-8")


@pytest.mark.django_db
def test_an_administrator_sees_every_place_and_a_stranger_only_the_open_ones(world: World) -> None:
    places = {item.label for item in navigation._places}
    open_to_all = {item.label for item in navigation._places if item.permission is None}
    assert {"Home", "Workloads", "Clusters", "Projects", "Users", "Settings"} <= places
    seen = {link.label for link in navigation.links(_request(user=world.people["administrator"]))}
    assert seen == places
    assert {link.label for link in navigation.links(_request())} == open_to_all


def test_exactly_the_place_the_page_lies_under_is_current() -> None:
    for path, label in (("/", "Home"), ("/workloads/7/logs", "Workloads"), ("/nowhere", None)):
        current = [link.label for link in navigation.links(_request(path)) if link.is_current]
        assert current == ([label] if label else [])


@pytest.mark.django_db
def test_a_page_has_one_heading_one_main_and_named_navigation() -> None:
    page = _page(_request())
    assert page.count("<h1") == 1
    assert page.count("<main") == 1
    assert re.findall(r"<nav[^>]*aria-label=\"([^\"]+)\"", page) == ["Main"]
    assert page.count("<nav") == 1
    assert "<title>Stop &lt;b&gt;3&lt;/b&gt; workloads? – Gangline</title>" in page
    assert page.index('class="skip"') < page.index("<main")


@pytest.mark.django_db
def test_a_page_before_sign_in_has_no_rail() -> None:
    page = _page(_request(signed_in=False))
    assert 'class="rail"' not in page
    assert "Sign out" not in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("cookie", "attribute"),
    [("dark", 'data-theme="dark"'), ("light", 'data-theme="light"'), ("system", None), ("x", None)],
)
def test_the_theme_comes_with_the_first_byte(cookie: str, attribute: str | None) -> None:
    tag = re.search(r"<html[^>]*>", _page(_request(gangline_theme=cookie)))
    assert tag
    assert (attribute or "data-theme") in tag[0] or attribute is None
    assert attribute is not None or "data-theme" not in tag[0]


def test_a_theme_is_remembered_and_the_person_stays_where_they_were() -> None:
    request = RequestFactory().post("/theme", {"theme": "dark", "next": "/workloads?q=a"})
    response = set_theme(request)
    assert response.status_code == 302
    assert response["Location"] == "/workloads?q=a"
    cookie = response.cookies[navigation.THEME_COOKIE]
    assert cookie.value == "dark"
    assert cookie["samesite"] == "Lax"


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "/\\evil.example"])
def test_the_theme_form_does_not_lead_elsewhere(target: str) -> None:
    response = set_theme(RequestFactory().post("/theme", {"theme": "dark", "next": target}))
    assert response["Location"] == "/"


def test_an_unknown_theme_changes_nothing() -> None:
    response = set_theme(RequestFactory().post("/theme", {"theme": "<script>", "next": "/"}))
    assert navigation.THEME_COOKIE not in response.cookies


def test_a_theme_is_not_changed_by_a_link() -> None:
    assert set_theme(RequestFactory().get("/theme")).status_code == 405


@pytest.mark.django_db
def test_the_question_before_harm_is_escaped_and_cancel_has_the_focus() -> None:
    page = _page(_request())
    assert "Stop &lt;b&gt;3&lt;/b&gt; workloads?</h1>" in page
    assert re.search(r'<a class="button" href="/workloads" data-close autofocus>Cancel</a>', page)
    assert re.search(r'<form method="post" action="/stop">', page)
    assert re.findall(r'name="id" value="(\d)"', page) == ["1", "2"]


@pytest.mark.django_db
@pytest.mark.parametrize("status", [400, 403, 404])
def test_an_error_page_has_heading_way_on_and_the_id_of_the_log(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    response = errors.error_page(_request(), status)
    page = response.content.decode()
    assert response.status_code == status
    assert page.count("<h1") == 1
    assert 'aria-label="Main"' in page
    assert 'class="button primary"' in page
    assert "7f3a09b2" in page
    assert "7f3a09b2" in caplog.text
    assert {record.levelname for record in caplog.records} == {"INFO"}


@pytest.mark.django_db
def test_a_refusal_says_what_is_missing_and_who_can_grant_it() -> None:
    refusal = errors.Refusal("You need the role Editor in <vision>.", "administrator")
    page = errors.permission_denied(_request(), PermissionDenied(refusal)).content.decode()
    assert "You need the role Editor in &lt;vision&gt;." in page
    assert "<b>administrator</b>" in page


def test_the_page_of_our_own_error_needs_no_request_and_no_database(
    caplog: pytest.LogCaptureFixture,
) -> None:
    response = errors.server_error(_request())
    page = response.content.decode()
    assert response.status_code == 500
    assert "Something went wrong on our side" in page
    assert "7f3a09b2" in page
    assert "7f3a09b2" in caplog.text


def test_the_last_page_comes_even_when_its_template_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(name: str) -> None:
        raise ValueError(name)

    monkeypatch.setattr("gangline.web.errors.loader.get_template", fails)
    response = errors.server_error(_request())
    assert response.status_code == 500
    assert b"<h1>Something went wrong</h1>" in response.content
    assert "the error page failed too" in caplog.text


def test_the_api_gets_errors_as_json() -> None:
    response = errors.page_not_found(_request("/api/v1/nothing"))
    assert response.status_code == 404
    assert response["Content-Type"] == "application/json"


@pytest.mark.django_db
def test_a_refused_sign_in_keeps_the_name_and_takes_the_focus_to_the_error() -> None:
    from gangline.accounts.forms import SignInForm

    data = {"username": '"><script>', "password": "secret-word"}
    form = SignInForm(_request(), data, locked=True)
    assert not form.is_valid()
    page = render_to_string("accounts/login.html", {"form": form, "next": "/x"}, _request("/login"))
    assert "<title>Error: Sign in – Gangline</title>" in page
    assert "&quot;&gt;&lt;script&gt;" in page
    assert "secret-word" not in page
    assert page.count("autofocus") == 1
    assert 'autocomplete="username"' in page
    assert 'autocomplete="current-password"' in page
