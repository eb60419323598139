"""A name with several addresses: the check and every request find the one that answers."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

import pytest

from gangline.drivers import addresses
from gangline.drivers.checks import State, Step
from gangline.drivers.kubernetes import probe
from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.drivers.kubernetes.client import Client
from tests.support.api_server import Script, answering
from tests.support.certificates import pair

LOOPBACK = addresses.AllowedAddresses(addresses.networks("127.0.0.0/8"))
NAME, DEAD, ALIVE = "api.lab.example.org", "127.0.0.9", "127.0.0.1"


@contextmanager
def silent(port: int) -> Iterator[None]:
    """Something at the dead address that takes no connection and refuses none."""
    with ExitStack() as held:
        listening = held.enter_context(socket.socket())
        listening.bind((DEAD, port))
        listening.listen(0)
        for _ in range(4):
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((DEAD, port))
        yield


def named(
    access: ClusterCredentials, monkeypatch: pytest.MonkeyPatch, *found: str
) -> ClusterCredentials:
    """The same server under a name with these addresses."""
    monkeypatch.setattr(addresses, "resolve", lambda host, port: list(found))
    port = addresses.parse(access.server).port
    return replace(access, server=f"https://{NAME}:{port}", tls_server_name=ALIVE)


def look(access: ClusterCredentials) -> dict[str, Step]:
    with closing(Client(access, LOOPBACK)) as client:
        steps: dict[str, Step] = {}
        probe.probe(client, tell=lambda step: steps.update({step.name: step}))
        return steps


@pytest.mark.parametrize(
    ("found", "is_silent"),
    [
        ((DEAD, ALIVE), False),
        ((ALIVE, DEAD), False),
        ((ALIVE, DEAD), True),
        pytest.param((DEAD, ALIVE), True, marks=pytest.mark.thorough),
    ],
)
def test_one_address_that_answers_is_enough(
    monkeypatch: pytest.MonkeyPatch, found: tuple[str, str], is_silent: bool
) -> None:
    with answering(Script()) as access, ExitStack() as held:
        if is_silent:
            held.enter_context(silent(addresses.parse(access.server).port))
        there = named(access, monkeypatch, *found)
        steps = look(there)
        assert steps["Reachability"].state == State.OK, steps["Reachability"]
        assert steps["Version"].state == State.OK, steps
        with closing(Client(there, LOOPBACK)) as client:
            assert client.request("GET", "/version").ok


def test_a_certificate_that_ended_is_dated_from_whichever_address_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with answering(Script(), pair("old", begins=-9, ends=-3, server=True)) as access:
        steps = look(named(access, monkeypatch, DEAD, ALIVE))
    assert "expired on " in steps["Certificate"].sentence


def test_a_name_of_which_no_address_answers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(Script()) as access:
        steps = look(named(access, monkeypatch, DEAD, "127.0.0.8"))
    assert "refuses connections: nothing listens there" in steps["Reachability"].sentence


def test_every_address_is_judged_before_any_is_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(Script()) as access:
        steps = look(named(access, monkeypatch, ALIVE, "169.254.169.254"))
    assert steps["Reachability"].state == State.FAILED
    assert "169.254.169.254" in steps["Reachability"].sentence
