"""What is followed while the rights of a login come and go."""

import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from gangline.drivers.kubernetes import followed as module
from gangline.drivers.kubernetes.client import Answer, Client, Unreachable
from gangline.drivers.kubernetes.followed import Following
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.reflector import Reflector
from gangline.drivers.kubernetes.resources import NAMESPACES, PODS
from gangline.drivers.kubernetes.store import Listener, Store
from tests.drivers.kubernetes import raw as made
from tests.drivers.kubernetes.scripted import ScriptedClient, page
from tests.support.waiting import wait_for

KIND = KINDS["PyTorch"]
JOBS = KIND.resource
KEY = ("w-1", 1)
HERE, ELSEWHERE = "gangline-vision", "of-others"


class Clock:
    """Goes on only when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(time, "monotonic", found)
    return found


@pytest.fixture
def following(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Following:
    """Of jobs and pods, in a cluster with one namespace of ours; the test is its reflectors."""
    monkeypatch.setattr(Reflector, "start", lambda self: None)
    found = Following(client(), "install-a", [JOBS, PODS], Store({JOBS: KIND}, Listener()))
    found.start()
    return found


def client() -> Client:
    place = {"metadata": {"name": HERE}}
    return ScriptedClient(lambda _, path, __: page(place) if path == NAMESPACES.path() else page())


def lists(held: Store, *namespaces: str) -> None:
    """The job is there, and whoever follows all namespaces, or these, says so."""
    job = held.cut(JOBS, made.job())
    assert job is not None
    for namespace in namespaces:
        held.listed(JOBS, [job], time.monotonic(), namespace)


def forbids(held: Store) -> None:
    held.trouble(JOBS, "may not", is_forbidden=True)


def test_a_right_that_is_granted_later_ends_what_was_followed_in_its_place(
    following: Following, clock: Clock
) -> None:
    held = following.store
    forbids(held)
    held.listed(PODS, [], 1.0)
    following.adapt()
    lists(held, HERE)
    clock.now += 60
    lists(held, "")
    following.adapt()
    assert set(following._reflectors) == {(JOBS, ""), (PODS, "")}
    assert held.of(KEY)[0] is not None, "the stream in its place tells of it"
    held.alive(PODS)
    assert held.heard_at == clock.now

    held.changed(JOBS, made.job(), clock.now, HERE)  # what the stopped one was just about to say
    clock.now += 60
    following.adapt()
    held.alive(JOBS)
    held.alive(PODS)
    assert held.heard_at == clock.now
    assert not held.is_heard((JOBS, HERE)), "were it followed again, it had to be listed first"


def test_a_right_that_is_withdrawn_later_counts_until_another_stream_tells(
    following: Following, clock: Clock
) -> None:
    held = following.store
    lists(held, "")
    held.listed(PODS, [], 1.0)
    before = clock.now
    clock.now += 60
    forbids(held)
    following.adapt()
    held.alive(PODS)
    following.adapt()
    assert held.heard_at == before, "of the jobs nobody has told since"
    assert held.of(KEY)[0] is not None

    lists(held, HERE)
    following.adapt()
    assert held.heard_at == clock.now
    assert held.of(KEY)[0] is not None
    assert following.trouble == ""


def test_what_nobody_tells_of_any_more_is_not_repeated_as_if_it_were_heard(
    following: Following,
) -> None:
    """Its job is in a namespace that is not followed: only a strong read can tell."""
    held = following.store
    job = held.cut(JOBS, made.job(namespace=ELSEWHERE))
    assert job is not None
    held.listed(JOBS, [job], 1.0)
    held.listed(PODS, [], 1.0)
    forbids(held)
    following.adapt()
    held.take(0)
    held.listed(JOBS, [], 2.0, HERE)
    following.adapt()
    assert held.of(KEY)[0] is None
    assert list(held.take(0)) == [KEY]


def test_a_namespace_that_is_gone_is_no_silence(
    following: Following, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = following.store
    held.listed(PODS, [], 1.0)
    forbids(held)
    following.adapt()
    lists(held, HERE)
    monkeypatch.setattr(following, "client", ScriptedClient(lambda *_: page()))
    clock.now += 60
    held.alive(PODS)
    following.adapt()
    assert held.heard_at == clock.now
    assert held.of(KEY)[0] is None


class Slow:
    """Lists its namespaces once it is let."""

    def __init__(self, answer: Answer | None) -> None:
        self.answer, self.asked, self.let = answer, 0, threading.Event()

    def say(self, method: str, path: str, query: Mapping[str, Any]) -> Answer:
        assert path == NAMESPACES.path()
        self.asked += 1
        assert self.let.wait(5)
        if self.answer is None:
            raise Unreachable("It did not answer in time.")
        return self.answer


@pytest.mark.parametrize("answer", [page({"metadata": {"name": HERE}}), None])
def test_the_watch_goes_on_while_namespaces_are_listed_slowly(
    answer: Answer | None, following: Following, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever watches has to say that it is alive, more often than a request may take."""
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    slow = Slow(answer)
    following.client = ScriptedClient(slow.say)
    forbids(following.store)
    began = time.perf_counter()
    for _ in range(4):
        following.adapt()
        clock.now += 2 * module.LOOK_EVERY
    assert time.perf_counter() - began < 5
    assert slow.asked == 1, "not again while one is under way"

    slow.let.set()
    assert following._look is not None
    following._look.join(20)
    following.adapt()
    assert ((JOBS, HERE) in following._reflectors) == (answer is not None)
    assert following.trouble == ("" if answer else "It did not answer in time.")
    clock.now += module.LOOK_EVERY / 2
    following.adapt()
    assert slow.asked == 1, "nor right after it"
    clock.now += module.LOOK_EVERY
    following.adapt()
    wait_for(lambda: slow.asked == 2, seconds=20)
