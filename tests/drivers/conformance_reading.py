"""The second half of the suite for drivers: rehearsal, restart of the dashboard, watching, logs."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from gangline.drivers.base import (
    Done,
    Driver,
    LogChunk,
    NotYet,
    Observation,
    ObservedState,
)
from tests.drivers.conformance import DriverConformance, Script
from tests.support.waiting import wait_for


class ReadingConformance(DriverConformance):
    """Adds to the first half; drivers inherit this one."""

    # Rehearsal

    def test_a_rehearsal_makes_nothing_and_says_what_it_is_about(self, driver: Driver) -> None:
        ref = self.ref(driver, Script.TALK)
        told = driver.rehearse(ref)
        assert told.problems == ()
        assert told.asked or told.doubts, "silence is no consent"
        assert all(doubt.endswith(".") for doubt in told.doubts)
        assert driver.observe(ref).state is ObservedState.ABSENT
        assert self.owned(driver) == []
        assert driver.read_log(ref, "worker-0", 0, 100).data == b""

    def test_a_rehearsed_attempt_is_created_as_any_other(self, driver: Driver) -> None:
        ref = self.ref(driver, Script.TALK)
        driver.rehearse(ref)
        assert isinstance(driver.create(ref), NotYet | Done)
        driver.commit(ref)
        assert self.over(driver, ref).state is ObservedState.SUCCEEDED
        assert self.whole_log(driver, ref).count(b"line 0\n") == 1

    # After a restart of the dashboard

    def test_another_driver_object_sees_and_ends_what_the_first_made(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP, replicas=2)
        first = self.running(driver, ref)
        other = self.again(driver)
        assert self.identities(other.observe(ref)) == self.identities(first)
        other.suspend(ref)
        assert self.over(driver, ref).state is ObservedState.SUSPENDED

    def test_what_is_owned_is_listed_with_its_slots(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP, replicas=2)
        self.running(driver, ref)
        (owned,) = self.owned(self.again(driver))
        assert (owned.install, owned.workload, owned.attempt) == (self.install, ref.workload, 1)
        assert owned.name == ref.name
        assert owned.namespace == ref.namespace
        assert owned.placement == ref.placement

    def test_what_was_deleted_is_not_listed(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP)
        driver.delete(ref)
        self.until(driver, ref, ObservedState.ABSENT)
        assert self.owned(driver) == []

    def test_another_installation_owns_nothing_here(self, driver: Driver) -> None:
        self.running(driver, self.created(driver, Script.SLEEP))
        assert self.owned(driver, "install-b") == []

    # Watch

    def test_watching_tells_start_and_end(self, driver: Driver) -> None:
        told: list[ObservedState] = []
        with _watching(driver, self.install, lambda seen: told.append(seen.state)):
            ref = self.created(driver, Script.SLEEP)
            wait_for(lambda: ObservedState.RUNNING in told, seconds=self.seconds)
            driver.suspend(ref)
            wait_for(lambda: ObservedState.SUSPENDED in told, seconds=self.seconds)
        assert told.index(ObservedState.RUNNING) < told.index(ObservedState.SUSPENDED)

    def test_watching_gives_signs_of_life(self, driver: Driver) -> None:
        batches = driver.watch(self.install, "")
        found = [next(batches) for _ in range(2)]
        assert found == [[], []]
        _close(batches)

    def test_watching_finds_what_ran_before(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP)
        self.running(driver, ref)
        batches = driver.watch(self.install, "")
        assert [seen.workload for seen in next(batches)] == [ref.workload]
        _close(batches)

    def test_a_watch_says_when_all_that_was_there_has_been_told(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP)
        self.running(driver, ref)
        told: set[str] = set()
        known: list[set[str]] = []
        until = time.monotonic() + self.seconds
        batches = self.again(driver).watch(
            self.install, "", all_told=lambda: known.append(set(told))
        )
        for batch in batches:
            told |= {seen.workload for seen in batch}
            if known or time.monotonic() > until:
                break
        _close(batches)
        assert known == [{ref.workload}]

    # Logs

    def test_a_log_is_read_in_pieces_without_loss_or_repetition(self, driver: Driver) -> None:
        ref = self.created(driver, Script.TALK)
        self.over(driver, ref)
        whole = self.whole_log(driver, ref)
        texts = [line.split(b" ", 3)[3] for line in whole.splitlines()]
        assert texts == [b"line %d" % i for i in range(200)]
        assert self.whole_log(driver, ref, limit=100) == whole

    def test_a_log_can_be_read_on_while_it_grows(self, driver: Driver) -> None:
        ref = self.created(driver, Script.TALK_ON)

        def something() -> LogChunk | None:
            chunk = driver.read_log(ref, "worker-0", 0, 1000)
            return chunk if chunk.data else None

        chunk = wait_for(something, seconds=self.seconds)
        assert chunk is not None
        assert not chunk.end
        more = driver.read_log(ref, "worker-0", chunk.next_offset, 1000)
        assert (more.data, more.next_offset, more.end) == (b"", chunk.next_offset, False)
        driver.suspend(ref)
        self.over(driver, ref)
        assert driver.read_log(ref, "worker-0", chunk.next_offset, 1000).end

    def test_a_log_can_be_read_from_near_its_end(self, driver: Driver) -> None:
        ref = self.created(driver, Script.TALK)
        self.over(driver, ref)
        chunk = driver.read_log(ref, "worker-0", -120, 1000)
        texts = [line.split(b" ", 3)[3] for line in chunk.data.splitlines()]
        assert texts == [b"line 198", b"line 199"]
        assert chunk.end
        assert driver.read_log(ref, "worker-0", -(10**9), 2**20).data == self.whole_log(driver, ref)

    def test_a_chunk_is_never_longer_than_asked(self, driver: Driver) -> None:
        ref = self.created(driver, Script.TALK)
        self.over(driver, ref)
        for limit in (1, 10, 64, 1000):
            assert 0 < len(driver.read_log(ref, "worker-0", 0, limit).data) <= limit

    def test_the_log_of_an_unknown_replica_is_empty(self, driver: Driver) -> None:
        ref = self.created(driver, Script.TALK)
        self.over(driver, ref)
        for replica in ("worker-7", "../worker-0", "", "master-0"):
            assert driver.read_log(ref, replica, 0, 1000) == LogChunk(b"", 0, end=True)

    def test_the_log_of_a_stopped_attempt_stays(self, driver: Driver) -> None:
        ref = self.created(driver, Script.TALK_ON)
        wait_for(lambda: driver.read_log(ref, "worker-0", 0, 1000).data, seconds=self.seconds)
        driver.suspend(ref)
        self.over(driver, ref)
        assert b"stdout F" in self.whole_log(driver, ref)


class _watching:  # noqa: N801 - used as a function
    """Follow a driver in a thread for a while."""

    def __init__(self, driver: Driver, install: str, tell: Callable[[Observation], None]) -> None:
        self.driver, self.install, self.tell = driver, install, tell
        self.over = threading.Event()
        self.began = threading.Event()

    def __enter__(self) -> None:
        self.thread = threading.Thread(target=self._follow)
        self.thread.start()
        assert self.began.wait(10)

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join(10)
        assert not self.thread.is_alive()

    def _follow(self) -> None:
        batches = self.driver.watch(self.install, "")
        for batch in batches:
            self.began.set()
            for seen in batch:
                self.tell(seen)
            if self.over.is_set():
                break
        _close(batches)


def _close(batches: Iterator[Sequence[Observation]]) -> None:
    batches.close()  # type: ignore[attr-defined]
