"""A reflector and a cluster that answers oddly for ever: it is spared, and people are told."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from gangline.clusters.drivers.base import AttemptRef
from gangline.clusters.drivers.kubernetes import paging, reflector
from gangline.clusters.drivers.kubernetes.client import Answer, Client, Unreachable
from gangline.clusters.drivers.kubernetes.objects import Objects
from gangline.clusters.drivers.kubernetes.options import Options
from gangline.clusters.drivers.kubernetes.reflector import Reflector
from gangline.clusters.drivers.kubernetes.resources import PODS
from gangline.clusters.drivers.kubernetes.store import Listener, Store
from tests.drivers.kubernetes import raw as made
from tests.drivers.kubernetes.scripted import Say, ScriptedClient, page, status
from tests.support.api_server import Script, answering

GONE = status(410, "Expired")


class Pauses(threading.Event):
    """The pauses of a reflector, noted and cut short; after ``most`` of them it ends."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.noted: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.noted.append(timeout or 0.0)
        if len(self.noted) >= self.most:
            self.set()
        return self.is_set()


def followed(say: Say, *, pauses: int) -> tuple[list[float], Store, ScriptedClient]:
    """Follow pods until so many pauses were made."""
    client, store = ScriptedClient(say), Store({}, Listener())
    one = Reflector(client, PODS, "a=b", store)
    one._stop = Pauses(pauses)
    one.run()
    return one._stop.noted, store, client


def always_410(method: str, path: str, query: Mapping[str, Any]) -> Answer:
    return GONE


def error_events(method: str, path: str, query: Mapping[str, Any]) -> Answer:
    event = {"type": "ERROR", "object": GONE.body}
    return Answer(200, [event]) if query.get("watch") else page(made.pod())


def garbage(method: str, path: str, query: Mapping[str, Any]) -> Answer:
    return Answer(200, ["no event"]) if query.get("watch") else page(made.pod())


def watch_410(method: str, path: str, query: Mapping[str, Any]) -> Answer:
    return GONE if query.get("watch") else page(made.pod())


def no_version(method: str, path: str, query: Mapping[str, Any]) -> Answer:
    return page(made.pod(), version="")


@pytest.mark.parametrize("say", [always_410, error_events, watch_410, garbage, no_version])
def test_a_place_that_is_lost_time_and_again_is_listed_ever_more_rarely(say: Say) -> None:
    pauses, store, client = followed(say, pauses=9)
    lists = client.count("GET")
    assert lists == 9, "each list is followed by a pause"
    assert sum(pauses) > 120
    assert all(pause <= reflector.LONGEST_RELIST_PAUSE for pause in pauses)
    said = store.troubles[PODS, ""]
    assert said.startswith("The watch of pods breaks off again and again. What is there is read ")


def test_f26_one_place_that_is_lost_is_listed_soon_and_is_no_trouble() -> None:
    pauses, store, _ = followed(error_events, pauses=1)
    assert 0 <= pauses[0] <= 2
    assert store.troubles == {}


def test_a_place_that_was_held_for_long_is_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "HELD_SECONDS", 0.0)
    pauses, store, _ = followed(error_events, pauses=6)
    assert max(pauses) <= 2
    assert store.troubles == {}


def test_what_cannot_be_understood_for_ever_is_not_listed_for_ever() -> None:
    def broken(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        return Answer(200, [{"type": "ADDED", "object": {"metadata": 3}}])

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        return broken(method, path, query) if query.get("watch") else page(made.pod())

    pauses, store, client = followed(say, pauses=9)
    assert client.count("GET") == 9
    assert sum(pauses) > 120
    assert store.troubles[PODS, ""].startswith("What the cluster told could not be understood. ")


def test_a_change_without_an_end_is_not_kept_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "MOST_OF_A_CHANGE", 1 << 16)
    read = 0

    class Endless(ScriptedClient):
        @contextlib.contextmanager
        def stream(self, path: str, **more: Any) -> Iterator[tuple[int, Iterator[bytes]]]:
            def pieces() -> Iterator[bytes]:
                nonlocal read
                for read in range(100):  # noqa: B007
                    yield b"x" * (1 << 12)

            yield 200, pieces()

    store = Store({}, Listener())
    one = Reflector(Endless(lambda *_: page(made.pod())), PODS, "a=b", store)
    one._stop = Pauses(1)
    one.run()
    assert read == 16
    assert store.troubles[PODS, ""].startswith("The cluster tells of one change without an end. ")


def test_a_large_change_in_many_pieces_takes_no_longer_than_it_must() -> None:
    event = json.dumps({"type": "ADDED", "object": {"words": "x" * (8 << 20)}}).encode() + b"\n"
    pieces = (event[at : at + 64] for at in range(0, len(event), 64))
    began = time.monotonic()
    assert [e["type"] for e in reflector._events(pieces)] == ["ADDED"]
    assert time.monotonic() - began < 3


# Lists without an end


def endless(*, same: bool) -> Say:
    count = iter(range(10**9))

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        token = "again" if same else f"page-{next(count)}"
        return page(made.pod(uid=f"{token}-{len(token)}"), following=token)

    return say


@pytest.mark.parametrize("same", [True, False])
def test_a_list_that_never_ends_is_a_trouble_and_not_kept(
    same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "MOST_PAGES", 20)
    pauses, store, client = followed(endless(same=same), pauses=6)
    assert client.count("GET") == 6 * (2 if same else 20)
    assert sum(pauses) > 5
    assert store.troubles[PODS, ""] == "https://cluster.example lists without an end."
    assert store.pods == {}


@pytest.mark.parametrize("bound", ["MOST_PAGES", "MOST_OBJECTS"])
def test_a_strong_read_that_never_ends_is_doubt(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, bound, 20)
    client = ScriptedClient(endless(same=False))
    with pytest.raises(Unreachable, match="lists without an end"):
        Objects(client, Options()).pods(AttemptRef("i", "w", 1, "gang", "vision"))
    assert client.count("GET") in (20, 21)


# A rest that a stream is asked for


@contextlib.contextmanager
def asked_for_rest(code: int, seconds: str) -> Iterator[tuple[Client, Script]]:
    script = Script(status=code, page=b"no", headers={"Retry-After": seconds} if seconds else {})
    with answering(script) as access, contextlib.closing(Client(access)) as client:
        yield client, script


@pytest.mark.parametrize("code", [429, 503])
def test_f12_a_stream_that_is_refused_for_now_lets_everything_rest(code: int) -> None:
    with asked_for_rest(code, "7") as (client, script):
        with client.stream(PODS.path(), query={"watch": True}) as (said, _):
            assert said == code
        assert 6 < client.rest_left <= 7
        assert client.list(PODS).status == 429
        with client.stream(PODS.path("vision", "gang-0", "log")) as (said, pieces):
            assert (said, b"left alone" in b"".join(pieces)) == (429, True)
        assert len(script.seen) == 1, "nothing is sent to it meanwhile"


def test_f12_a_watch_comes_back_when_it_was_told_to() -> None:
    with asked_for_rest(429, "7") as (client, script):
        one = Reflector(client, PODS, "a=b", Store({}, Listener()))
        one._version, one._list_due = "7", time.monotonic() + 600
        one._stop = Pauses(1)
        one.run()
        assert one._stop.noted == pytest.approx([7.0], abs=0.5)
        assert len(script.seen) == 1


def test_a_refusal_without_an_end_is_not_read_to_it() -> None:
    with (
        answering(Script(endless=True, status=403)) as access,
        contextlib.closing(Client(access)) as client,
        client.stream(PODS.path()) as (said, pieces),
    ):
        assert said == 403
        assert len(b"".join(pieces)) < 1 << 20


def test_a_token_that_a_server_repeats_is_not_told() -> None:
    """What a server says is shown, logged and stored."""
    script = Script(status=403)
    with answering(script) as access, contextlib.closing(Client(access)) as client:
        assert len(access.token) > 10
        body = {"kind": "Status", "message": f"token {access.token} is bad"}
        script.page = json.dumps(body).encode()
        assert client.list(PODS).message == "token [token] is bad"
        with client.stream(PODS.path()) as (said, pieces):
            assert said == 403
            told = b"".join(pieces)
    assert b"token [token] is bad" in told
    assert access.token.encode() not in told
