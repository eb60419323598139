"""Submissions that meet each other or a crash, on a real server: F-01, F-02, F-03, F-05, row 71."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from scripts.services import Postgres
from tests.support.web_server import WebServer, web_server

SUBMIT = "workloads/distributed"
MANY = 50


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.needs_postgres)]
)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebServer]:
    folder: Path = tmp_path_factory.mktemp("data")
    more: dict[str, Any] = {}
    if request.param == "postgres":
        postgres: Postgres = request.getfixturevalue("postgres_server")
        more["GANGLINE_DATABASE_URL"] = postgres.create_database()
    with web_server(folder, **more) as running:
        yield running


def at_once(send: Callable[[int], httpx.Response]) -> list[httpx.Response]:
    with ThreadPoolExecutor(MANY) as pool:
        return list(pool.map(send, range(MANY)))


def names(client: httpx.Client, **query: Any) -> list[str]:
    found = client.get("workloads", params={"limit": 200, **query}).json()["workloads"]
    return [row["name"] for row in found]


def test_fifty_submissions_of_one_name_make_one_workload(server: WebServer) -> None:
    with server.client() as client:
        answers = at_once(lambda _: client.post(SUBMIT, json=server.body("same-name")))
        assert Counter(a.status_code for a in answers) == {202: 1, 409: MANY - 1}
        refused = [a.json() for a in answers if a.status_code == 409]
        assert {b["problems"][0]["path"] for b in refused} == {"name"}
        assert names(client, filterBy="name==same-name") == ["same-name"]


def test_fifty_repeats_of_one_request_are_one_workload(server: WebServer) -> None:
    with server.client() as client:
        answers = at_once(
            lambda _: client.post(
                SUBMIT, json=server.body("same-key"), headers={"Idempotency-Key": "click"}
            )
        )
        assert {a.status_code for a in answers} == {202}
        assert len({a.json()["workloadId"] for a in answers}) == 1
        replayed = [a for a in answers if a.headers.get("Idempotent-Replayed") == "true"]
        assert len(replayed) == MANY - 1
        assert names(client, filterBy="name==same-key") == ["same-key"]


def test_fifty_different_submissions_are_all_taken(server: WebServer) -> None:
    with server.client() as client:
        answers = at_once(lambda n: client.post(SUBMIT, json=server.body(f"many-{n}")))
        assert Counter(a.status_code for a in answers) == {202: MANY}
        assert len(names(client, filterBy="name=^many-")) == MANY
        listed = client.get("workloads", params={"limit": 200}).json()["workloads"]
        assert len({row["seq"] for row in listed}) == len(listed)


@pytest.mark.parametrize(
    "server",
    # On PostgreSQL the same is done to a web process of production: tests/production.
    ["sqlite", pytest.param("postgres", marks=[pytest.mark.needs_postgres, pytest.mark.thorough])],
    indirect=True,
)
def test_a_crash_around_the_commit_loses_and_doubles_nothing(server: WebServer) -> None:
    """F-01, F-02: one before it and, when the request is sent again, one after it."""
    send: dict[str, Any] = {
        "json": server.body("crashed"),
        "headers": {"Idempotency-Key": "crashed"},
    }
    for point in ("submit.before_commit", "submit.after_commit"):
        server.stop()
        server.start(GANGLINE_DEBUG="1", GANGLINE_FAIL_POINTS=f"{point}:kill@1")
        with server.client() as client:
            assert names(client, filterBy="name==crashed") == []
            with pytest.raises(httpx.TransportError):
                client.post(SUBMIT, **send)
    server.stop()
    server.start()
    with server.client() as client:
        assert names(client, filterBy="name==crashed") == ["crashed"]
        again = client.post(SUBMIT, **send)
        assert again.status_code == 202
        assert again.headers["Idempotent-Replayed"] == "true"
        assert names(client, filterBy="name==crashed") == ["crashed"]
