"""An address with a slash too many leads to the page without it, and never to another host."""

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from gangline.web.errors import page_not_found

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ("/clusters/", "/clusters"),
        ("/workloads/?q=a%20b&page=2", "/workloads?q=a%20b&page=2"),
    ],
)
def test_a_slash_too_many_leads_to_the_page(client: Client, asked: str, there: str) -> None:
    for ask in (client.get, client.head):
        answer = ask(asked)
        assert (answer.status_code, answer["Location"]) == (302, there)
    assert client.post(asked).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example/",
        "//evil.example/clusters/",
        "//clusters/",
        "/\\evil.example/",
        "/clusters//",
        "/nothing/",
        "/api/v1/workloads/",
        f"/workloads/{'0' * 8}/",
    ],
)
def test_no_other_address_is_led_anywhere(client: Client, path: str) -> None:
    answer = client.get("/", PATH_INFO=path)
    assert answer.status_code in (401, 404)
    assert not answer.has_header("Location")


def test_a_path_that_would_name_another_host_is_not_led_there(
    rf: RequestFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if an address of ours were so wide that it took it."""
    monkeypatch.setattr("gangline.web.errors.is_valid_path", lambda path: True)
    monkeypatch.setattr("gangline.web.errors.error_page", lambda *_: HttpResponse(status=404))
    request = rf.get("/")
    request.path = request.path_info = "//evil.example/"
    assert page_not_found(request).status_code == 404
    request.path = request.path_info = "/fine/"
    assert page_not_found(request)["Location"] == "/fine"
