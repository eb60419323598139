"""The thread that looks at attempts one after the other."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gangline.drivers.base import AttemptRef, Observation, ObservedState
from gangline.drivers.observation_queue import Looker
from tests.support.waiting import wait_for


def ref(workload: str) -> AttemptRef:
    return AttemptRef("install-a", workload, 1, workload)


class Held:
    """Looks that wait until they are let go; ``order`` is that in which they began."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.go = threading.Event()

    def look(self, one: AttemptRef) -> Observation:
        self.order.append(one.workload)
        self.go.wait(10)
        return Observation(one.workload, one.attempt, ObservedState.RUNNING)


@contextmanager
def busy(held: Held) -> Iterator[Looker]:
    """A looker that is at its first look."""
    looker = Looker(held.look)
    looker.start()
    try:
        looker.ask(ref("busy"))
        wait_for(lambda: held.order, what="the first look")
        yield looker
    finally:
        held.go.set()
        looker.stop()


@pytest.mark.parametrize("waits_already", [False, True])
def test_what_is_asked_for_first_is_looked_at_before_all_others(waits_already: bool) -> None:
    held = Held()
    with busy(held) as looker:
        for name in ("a", "b", *(["gone"] if waits_already else [])):
            looker.ask(ref(name))
        looker.ask(ref("gone"), is_first=True)
        looker.ask(ref("gone"))
        assert len(looker) == 3
        held.go.set()
        wait_for(lambda: len(held.order) == 4, what="all looks")
    assert held.order == ["busy", "gone", "a", "b"]
