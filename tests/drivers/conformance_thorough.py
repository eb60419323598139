"""The rest of what every driver must do: what is repeated, early, late or at the edge."""

import time

from gangline.drivers.base import (
    Done,
    Driver,
    LogChunk,
    NotYet,
    ObservedState,
)
from tests.drivers.conformance import DriverConformance, Script, close
from tests.support.waiting import wait_for


class ThoroughConformance(DriverConformance):
    """The whole suite; what it adds to the half above takes long where the cluster is slow."""

    def test_a_probe_finds_the_cluster_and_what_it_can_run(self, driver: Driver) -> None:
        health = driver.probe()
        assert health.reachable
        assert health.facts is not None
        assert {offer.framework for offer in health.facts.frameworks} >= {"PyTorch", "MPI"}
        assert all(offer.available or offer.reason for offer in health.facts.frameworks)

    def test_capacity_is_positive(self, driver: Driver) -> None:
        capacity = driver.capacity()
        assert capacity is not None
        assert capacity.cpus > 0
        assert capacity.memory > 0

    def test_an_attempt_nobody_created_is_absent(self, driver: Driver) -> None:
        seen = driver.observe(self.ref(driver, Script.SLEEP))
        assert seen.state is ObservedState.ABSENT
        assert seen.replicas == ()

    def test_creating_again_after_the_end_runs_nothing(self, driver: Driver) -> None:
        ref = self.created(driver, Script.TALK)
        first = self.over(driver, ref)
        driver.create(ref)
        second = driver.observe(ref)
        assert second.state is ObservedState.SUCCEEDED
        assert self.identities(second) == self.identities(first)
        assert self.whole_log(driver, ref).count(b"line 0\n") == 1

    def test_commit_may_come_any_time(self, driver: Driver) -> None:
        ref = self.ref(driver, Script.SLEEP)
        driver.create(ref)
        assert isinstance(driver.commit(ref), NotYet | Done)
        self.running(driver, ref)
        assert isinstance(driver.commit(ref), NotYet | Done)

    def test_a_name_of_greatest_length_works(self, driver: Driver) -> None:
        ref = self.ref(driver, Script.SLEEP, name="n" * 51)
        driver.create(ref)
        assert self.running(driver, ref).state is ObservedState.RUNNING

    def test_two_workloads_may_have_the_same_name(self, driver: Driver) -> None:
        one, two = (self.created(driver, Script.SLEEP) for _ in range(2))
        identities = [self.identities(self.running(driver, ref)) for ref in (one, two)]
        assert identities[0] != identities[1]

    def test_times_of_a_replica_are_in_order(self, driver: Driver) -> None:
        replica = self.over(driver, self.created(driver, Script.TALK)).replicas[0]
        assert replica.started_at is not None
        assert replica.ended_at is not None
        assert replica.started_at <= replica.ended_at

    def test_suspending_while_it_starts_ends_it_as_well(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP, replicas=3)
        driver.suspend(ref)
        assert self.over(driver, ref).state is ObservedState.SUSPENDED

    def test_suspending_twice_is_harmless(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP)
        self.running(driver, ref)
        driver.suspend(ref)
        driver.suspend(ref)
        assert self.over(driver, ref).state is ObservedState.SUSPENDED
        assert isinstance(driver.suspend(ref), Done)

    def test_suspending_what_does_not_exist_is_done(self, driver: Driver) -> None:
        ref = self.ref(driver, Script.SLEEP)
        assert isinstance(driver.suspend(ref), Done)
        assert driver.observe(ref).state is ObservedState.ABSENT

    def test_suspending_after_the_end_keeps_the_result(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SUCCEED)
        self.over(driver, ref)
        assert isinstance(driver.suspend(ref), Done)
        assert driver.observe(ref).state is ObservedState.SUCCEEDED

    def test_deleting_twice_is_harmless(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP)
        self.running(driver, ref)
        driver.delete(ref)
        driver.delete(ref)
        self.until(driver, ref, ObservedState.ABSENT)
        assert isinstance(driver.delete(ref), Done)

    def test_deleting_what_does_not_exist_is_done(self, driver: Driver) -> None:
        ref = self.ref(driver, Script.SLEEP)
        assert isinstance(driver.delete(ref), Done)
        assert driver.observe(ref).state is ObservedState.ABSENT

    def test_deleting_while_it_starts_leaves_nothing(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP, replicas=3)
        driver.delete(ref)
        self.until(driver, ref, ObservedState.ABSENT)
        assert isinstance(driver.delete(ref), Done)
        assert ref.workload not in [owned.workload for owned in self.owned(driver)]

    def test_deleting_a_finished_one_makes_it_absent(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SUCCEED)
        self.over(driver, ref)
        assert isinstance(driver.delete(ref), Done)
        assert driver.observe(ref).state is ObservedState.ABSENT

    # Dry run

    def test_a_dry_run_makes_nothing_and_says_what_it_is_about(self, driver: Driver) -> None:
        ref = self.ref(driver, Script.TALK)
        told = driver.dry_run(ref)
        assert told.problems == ()
        assert told.asked or told.doubts, "silence is no consent"
        assert all(doubt.endswith(".") for doubt in told.doubts)
        assert driver.observe(ref).state is ObservedState.ABSENT
        assert self.owned(driver) == []
        assert driver.read_log(ref, "worker-0", 0, 100).data == b""

    def test_an_attempt_after_a_dry_run_is_created_as_any_other(self, driver: Driver) -> None:
        ref = self.ref(driver, Script.TALK)
        driver.dry_run(ref)
        assert isinstance(driver.create(ref), NotYet | Done)
        driver.commit(ref)
        assert self.over(driver, ref).state is ObservedState.SUCCEEDED
        assert self.whole_log(driver, ref).count(b"line 0\n") == 1

    # After a restart of the dashboard

    def test_what_was_deleted_is_not_listed(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP)
        driver.delete(ref)
        self.until(driver, ref, ObservedState.ABSENT)
        assert self.owned(driver) == []

    # Watch

    def test_watching_gives_signs_of_life(self, driver: Driver) -> None:
        batches = driver.watch(self.install, "")
        found = [next(batches) for _ in range(2)]
        assert found == [[], []]
        close(batches)

    def test_watching_finds_what_ran_before(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP)
        self.running(driver, ref)
        batches = driver.watch(self.install, "")
        assert [seen.workload for seen in next(batches)] == [ref.workload]
        close(batches)

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
        close(batches)
        assert known == [{ref.workload}]

    # Logs

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
