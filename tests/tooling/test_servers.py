"""The servers and the browser that the tests stand on."""

import dataclasses
import signal

import pytest
from playwright.sync_api import Page, Route

from scripts import services
from tests.support.screens import assert_screen

pytestmark = pytest.mark.thorough

PAGE = """<!doctype html><html lang="en"><head><title>Slow – Gangline</title>
<script>setTimeout(() => fetch("/now"), 2000);</script>
<link rel="stylesheet" href="/slow.css"></head>
<body><main><h1>Slow</h1><button>Save</button></main></body></html>"""


def test_two_databases_of_one_server_know_nothing_of_each_other(
    postgres_server: services.Postgres,
) -> None:
    first = postgres_server.create_database().rpartition("/")[2]
    second = postgres_server.create_database().rpartition("/")[2]
    postgres_server.run_sql("CREATE TABLE here (id int)", database=first)
    find = "SELECT count(*) FROM pg_tables WHERE tablename = 'here'"
    assert postgres_server.run_sql(find, database=first) == "1"
    assert postgres_server.run_sql(find, database=second) == "0"


def test_a_wrong_password_is_refused(postgres_server: services.Postgres) -> None:
    stranger = dataclasses.replace(postgres_server, password="wrong")
    with pytest.raises(services.ServiceFailed, match="authentication failed"):
        stranger.run_sql("SELECT 1")


def test_a_stopped_service_leaves_no_process_and_its_port_free() -> None:
    with services.redis() as server:
        port = server.port
    assert server.process.returncode == 0
    with services.redis(port=port) as again:
        assert again.port == port


def test_a_service_that_cannot_start_says_why() -> None:
    with (
        services.redis() as taken,
        pytest.raises(services.ServiceFailed, match="in use"),
        services.redis(port=taken.port),
    ):
        pytest.fail("It started on a port that is taken.")


def test_a_killed_redis_starts_again_at_its_address() -> None:
    with services.redis() as server:
        url = server.url
        server.process.kill()
        server.start_again()
        assert server.answers()
        assert server.url == url


def test_a_database_that_fell_over_starts_again_with_its_data() -> None:
    with services.postgres(durable=True) as server:
        server.run_sql("CREATE TABLE kept (id int)", database="gangline")
        server.process.send_signal(signal.SIGQUIT)
        server.start_again()
        find = "SELECT count(*) FROM pg_tables WHERE tablename = 'kept'"
        assert server.run_sql(find, database="gangline") == "1"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_browser_draws_a_page(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_content("<style>:root{color-scheme:light dark}</style><h1>Here</h1>")
    assert page.get_by_role("heading", name="Here").is_visible()
    assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is (scheme == "dark")


def test_a_screen_is_judged_once_its_style_sheet_has_come(page: Page) -> None:
    held: list[Route] = []

    def answer(route: Route) -> None:
        if route.request.url.endswith("slow.css"):
            held.append(route)
        elif route.request.url.endswith("now"):
            held.pop().fulfill(content_type="text/css", body="button { min-height: 24px }")
            route.fulfill(body="")
        else:
            route.fulfill(content_type="text/html; charset=utf-8", body=PAGE)

    page.route("**/*", answer)
    page.goto("http://gangline.test/", wait_until="commit")
    page.get_by_role("button").wait_for()
    assert_screen(page, "a slow style sheet", is_signed_in=False)
