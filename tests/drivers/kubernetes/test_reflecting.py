"""A reflector and a cluster that answers oddly for ever: it is spared, and people are told."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef
from gangline.drivers.kubernetes import paging, reflector
from gangline.drivers.kubernetes.access import Options
from gangline.drivers.kubernetes.client import Answer, Client, Unreachable
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.objects import Objects
from gangline.drivers.kubernetes.reflector import Reflector
from gangline.drivers.kubernetes.resources import PODS, Resource
from gangline.drivers.kubernetes.store import Listener, Store
from tests.drivers.kubernetes import raw as made
from tests.drivers.kubernetes.scripted import Say, ScriptedClient, page, status
from tests.support.api_server import Script, answering

GONE = status(410, "Expired")
JOBS = KINDS["PyTorch"].resource


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


def followed(
    say: Say, *, pauses: int, resource: Resource = PODS
) -> tuple[list[float], Store, ScriptedClient]:
    """Follow pods, unless said, until so many pauses were made."""
    client, store = ScriptedClient(say), Store({JOBS: KINDS["PyTorch"]}, Listener())
    one = Reflector(client, resource, "a=b", store)
    one._stop = Pauses(pauses)
    one.run()
    return one._stop.noted, store, client


def always_410(method: str, path: str, query: Mapping[str, Any]) -> Answer:
    return GONE


def error_events(method: str, path: str, query: Mapping[str, Any]) -> Answer:
    event = {"type": "ERROR", "object": GONE.body}
    return Answer(200, [event]) if query.get("watch") else page(made.pod())


def watch_410(method: str, path: str, query: Mapping[str, Any]) -> Answer:
    return GONE if query.get("watch") else page(made.pod())


def no_version(method: str, path: str, query: Mapping[str, Any]) -> Answer:
    return page(made.pod(), version="")


@pytest.mark.parametrize("say", [always_410, error_events, watch_410, no_version])
def test_a_place_that_is_lost_time_and_again_is_listed_ever_more_rarely(say: Say) -> None:
    pauses, store, client = followed(say, pauses=9)
    lists = client.count("GET")
    assert lists == 9, "each list is followed by a pause"
    assert sum(pauses) > 120
    assert all(pause <= reflector.LONGEST_RELIST_PAUSE for pause in pauses)
    said = store.troubles[PODS, ""]
    assert said.startswith("The watch of pods keeps failing. It is listed again ")


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
    assert store.troubles[PODS, ""].startswith("The answer of the cluster could not be read. ")


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
    assert store.troubles[PODS, ""].startswith("The cluster sends an endless event. ")


def test_a_large_change_in_many_pieces_takes_no_longer_than_it_must() -> None:
    event = json.dumps({"type": "ADDED", "object": {"words": "x" * (8 << 20)}}).encode() + b"\n"
    pieces = (event[at : at + 64] for at in range(0, len(event), 64))
    began = time.monotonic()
    assert [e["type"] for e in reflector._events(pieces)] == ["ADDED"]
    assert time.monotonic() - began < 3


# A kind that is not there

NOWHERE = Answer(404, "default backend - 404")
GROUPS = "/apis"


class Lost:
    """Has a job and a pod; each watch is answered by 404, as is what is asked for in ``lost``."""

    def __init__(self, *lost: str, served: Mapping[str, list[str]]) -> None:
        self.lost, self.served = lost, served
        """Versions of the jobs' group with their kinds."""

    def say(self, method: str, path: str, query: Mapping[str, Any]) -> Answer:
        if query.get("watch") or path in self.lost:
            return NOWHERE
        if path == GROUPS:
            versions = [{"version": version} for version in self.served]
            return Answer(200, {"groups": [{"name": JOBS.group, "versions": versions}]})
        if path == JOBS.root:
            return Answer(200, {"resources": [{"name": one} for one in self.served["v1"]]})
        return page(made.pod()) if path == PODS.path() else page(made.job())


SERVED, OTHERS, OLDER = {"v1": ["pytorchjobs"]}, {"v1": ["tfjobs"]}, {"v1beta1": ["pytorchjobs"]}


@pytest.mark.parametrize("served", [SERVED, {}])
def test_pods_are_not_gone_though_a_proxy_finds_no_way_to_them(
    served: Mapping[str, list[str]],
) -> None:
    """No cluster is without pods, whatever it says of its kinds."""
    pauses, store, client = followed(Lost(served=served).say, pauses=3)
    assert list(store.pods) == ["pod-worker-0"]
    assert "default backend - 404" in store.troubles[PODS, ""].lower()
    assert client.asked.count(("GET", PODS.path(), False)) == 1, "the place in the stream holds"
    assert client.count("GET", watch=True) == 3
    assert max(pauses) < reflector.FORBIDDEN_PAUSE


@pytest.mark.parametrize(
    ("lost", "served"), [((), SERVED), ([GROUPS], OTHERS), ([JOBS.root], OTHERS)]
)
def test_objects_are_not_gone_before_the_cluster_itself_says_that_it_lacks_their_kind(
    lost: list[str], served: Mapping[str, list[str]]
) -> None:
    _, store, _ = followed(Lost(*lost, served=served).say, pauses=3, resource=JOBS)
    assert list(store.jobs) == ["job-1"]
    assert "default backend - 404" in store.troubles[JOBS, ""].lower()


@pytest.mark.parametrize("served", [OTHERS, OLDER, {}])
def test_objects_of_a_kind_that_was_removed_are_gone_and_are_listed_when_it_comes_back(
    served: Mapping[str, list[str]],
) -> None:
    pauses, store, client = followed(Lost(served=served).say, pauses=3, resource=JOBS)
    assert store.jobs == {}
    assert store.troubles == {}
    assert pauses == [reflector.FORBIDDEN_PAUSE] * 3
    assert client.asked.count(("GET", JOBS.path(), False)) == 3, "each time a list comes first"


def test_a_kind_that_never_was_there_is_no_trouble() -> None:
    lost = Lost(JOBS.path(), served={})
    pauses, store, _ = followed(lost.say, pauses=2, resource=JOBS)
    assert store.is_heard((JOBS, ""))
    assert store.troubles == {}
    assert pauses == [reflector.FORBIDDEN_PAUSE] * 2


# Lists without an end


def endless() -> Say:
    count = iter(range(10**9))

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        token = f"page-{next(count)}"
        return page(made.pod(uid=f"{token}-{len(token)}"), following=token)

    return say


def test_a_list_that_never_ends_is_a_trouble_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "MOST_PAGES", 20)
    pauses, store, client = followed(endless(), pauses=6)
    assert client.count("GET") == 6 * 20
    assert sum(pauses) > 5
    assert store.troubles[PODS, ""] == "https://cluster.example lists without an end."
    assert store.pods == {}


def test_a_strong_read_that_never_ends_is_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "MOST_PAGES", 20)
    client = ScriptedClient(endless())
    with pytest.raises(Unreachable, match="lists without an end"):
        Objects(client, Options()).pods(AttemptRef("i", "w", 1, "gang", "vision"))
    assert client.count("GET") == 20


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
            assert (said, b"rate limiting" in b"".join(pieces)) == (429, True)
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
