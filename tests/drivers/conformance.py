"""What every driver must do, whatever its cluster: a suite that each driver's tests inherit."""

import json
import shlex
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum

import pytest

from gangline.drivers.base import (
    AttemptRef,
    Done,
    Driver,
    NotYet,
    Observation,
    ObservedState,
    Refused,
    ReplicaPlacement,
    ReplicaState,
    Submission,
    Unknown,
)
from tests.support.waiting import wait_for

INSTALL = "install-a"
OVER = (
    ObservedState.SUCCEEDED,
    ObservedState.FAILED,
    ObservedState.SUSPENDED,
    ObservedState.ABSENT,
)


class Script(Enum):
    """Behaviour that a driver's harness turns into a command."""

    SLEEP = "runs until it is told to end"
    SUCCEED = "exits 0 at once"
    FAIL = "exits 3 at once"
    TALK = "prints 200 lines, line 0 to line 199, and exits 0"
    TALK_ON = "prints one line, then runs until it is told to end"
    STUBBORN = "prints one line, ignores the request to end and runs on"
    ONE_FAILS = "rank 1 exits 3 at once, the others run until they are told to end"


class DriverConformance:
    """Subclasses give the fixture ``driver``, ``new_driver`` and the methods that raise here."""

    seconds = 15.0
    """How long a change of state may take on this cluster."""
    install = INSTALL
    tells_stopped_ends = True
    """After a stop the cluster still tells how each replica ended."""

    @pytest.fixture
    def driver(self) -> Driver:
        raise NotImplementedError

    def again(self, driver: Driver) -> Driver:
        """Another object for the same cluster, as after a restart of the dashboard."""
        raise NotImplementedError

    def values(self, script: Script) -> dict[str, object]:
        """Effective values of a worker that behaves as ``script``."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _ends_everything(self, driver: Driver) -> Iterator[None]:
        self.made: list[AttemptRef] = []
        yield
        for ref in self.made:
            driver.delete(replace(ref, grace_seconds=0))
        for ref in self.made:
            self.until(driver, ref, ObservedState.ABSENT)

    def ref(
        self,
        driver: Driver,
        script: Script,
        *,
        replicas: int = 1,
        grace: int = 10,
        name: str = "gang",
    ) -> AttemptRef:
        """An attempt that is not created yet; the fixture removes it in the end."""
        submission = Submission(
            name=name,
            project="vision",
            framework="PyTorch",
            configuration="workersOnly",
            num_workers=replicas,
            worker=self.values(script),
            master=None,
        )
        slots = tuple(
            ReplicaPlacement("worker", i, i, 0.1, 10_000_000, (), (16_100,) if i == 0 else ())
            for i in range(replicas)
        )
        ref = AttemptRef(
            install=self.install,
            workload=str(uuid.uuid4()),
            attempt=1,
            name=name,
            namespace="vision",
            submission=submission,
            rendered=json.loads(json.dumps(driver.render(submission))),
            placement=slots,
            grace_seconds=grace,
        )
        self.made.append(ref)
        return ref

    def created(
        self, driver: Driver, script: Script, *, replicas: int = 1, grace: int = 10
    ) -> AttemptRef:
        """An attempt that was made and, where that takes a second step, released."""
        ref = self.ref(driver, script, replicas=replicas, grace=grace)
        assert isinstance(driver.create(ref), NotYet | Done)
        assert isinstance(driver.commit(ref), NotYet | Done)
        return ref

    def until(self, driver: Driver, ref: AttemptRef, *states: ObservedState) -> Observation:
        def reached() -> Observation | None:
            seen = driver.observe(ref)
            if seen.state is ObservedState.HELD:
                driver.commit(ref)  # as the reconciler does
            return seen if seen.state in states else None

        found = wait_for(reached, seconds=self.seconds, what=f"{states} of {ref.workload}")
        assert found is not None
        return found

    def running(self, driver: Driver, ref: AttemptRef) -> Observation:
        return self.until(driver, ref, ObservedState.RUNNING)

    def owned(self, driver: Driver, install: str = "") -> list[AttemptRef]:
        """What the driver says is there of an installation, ours where none is said."""
        found = driver.owned_objects(install or self.install)
        assert not isinstance(found, Unknown)
        return [one.ref for one in found]

    def over(self, driver: Driver, ref: AttemptRef) -> Observation:
        return self.until(driver, ref, *OVER)

    def whole_log(self, driver: Driver, ref: AttemptRef, limit: int = 2**16) -> bytes:
        data, offset = b"", 0
        while True:
            chunk = driver.read_log(ref, "worker-0", offset, limit)
            data += chunk.data
            if chunk.end:
                return data
            assert chunk.next_offset > offset, "no progress, and not the end"
            offset = chunk.next_offset

    # What the cluster is

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

    def test_rendering_is_json_and_gives_the_same_each_time(self, driver: Driver) -> None:
        submission = self.ref(driver, Script.SUCCEED).submission
        assert submission is not None
        first = driver.render(submission)
        assert json.loads(json.dumps(first)) == driver.render(submission)

    # Create

    def test_an_attempt_nobody_created_is_absent(self, driver: Driver) -> None:
        seen = driver.observe(self.ref(driver, Script.SLEEP))
        assert seen.state is ObservedState.ABSENT
        assert seen.replicas == ()

    def test_a_created_gang_runs_whole(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP, replicas=3)
        seen = self.running(driver, ref)
        assert [r.state for r in seen.replicas] == [ReplicaState.RUNNING] * 3
        assert [(r.role, r.index, r.rank) for r in seen.replicas] == [
            ("worker", i, i) for i in range(3)
        ]
        assert not seen.incomplete
        assert seen.started_at is not None
        assert seen.ended_at is None
        assert (seen.workload, seen.attempt) == (ref.workload, 1)

    def test_creating_twice_starts_one_gang(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP, replicas=2)
        first = self.running(driver, ref)
        assert isinstance(driver.create(ref), NotYet | Done)
        assert self.identities(self.running(driver, ref)) == self.identities(first)

    def test_creating_at_the_same_time_starts_one_gang(self, driver: Driver) -> None:
        ref = self.ref(driver, Script.TALK, replicas=2)
        threads = [threading.Thread(target=driver.create, args=(ref,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert self.over(driver, ref).state is ObservedState.SUCCEEDED
        assert self.whole_log(driver, ref).count(b"line 0\n") == 1

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

    # The end

    def test_a_gang_whose_processes_exit_0_succeeds(self, driver: Driver) -> None:
        seen = self.over(driver, self.created(driver, Script.SUCCEED, replicas=2))
        assert seen.state is ObservedState.SUCCEEDED
        assert seen.reason == ""
        assert [r.exit_code for r in seen.replicas] == [0, 0]
        assert seen.ended_at is not None
        assert seen.first_failure == ""

    def test_an_exit_code_fails_the_gang_with_its_reason(self, driver: Driver) -> None:
        seen = self.over(driver, self.created(driver, Script.FAIL))
        assert seen.state is ObservedState.FAILED
        assert seen.reason == "Exited with code 3."
        assert seen.replicas[0].exit_code == 3
        assert seen.first_failure == "worker-0"

    def test_one_failure_ends_the_others_and_is_the_cause(self, driver: Driver) -> None:
        seen = self.over(driver, self.created(driver, Script.ONE_FAILS, replicas=3))
        assert seen.state is ObservedState.FAILED
        assert seen.first_failure == "worker-1"
        assert seen.reason == "worker-1: Exited with code 3."
        assert [r.state for r in seen.replicas] == [
            ReplicaState.STOPPED,
            ReplicaState.FAILED,
            ReplicaState.STOPPED,
        ]
        # Under load it may have failed before its neighbour had begun.
        assert seen.replicas[0].reason in (
            "Stopped because worker-1 failed.",
            "Never started, because worker-1 failed.",
        )

    def test_times_of_a_replica_are_in_order(self, driver: Driver) -> None:
        replica = self.over(driver, self.created(driver, Script.TALK)).replicas[0]
        assert replica.started_at is not None
        assert replica.ended_at is not None
        assert replica.started_at <= replica.ended_at

    # Suspend

    def test_suspending_ends_the_processes(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP, replicas=2)
        self.running(driver, ref)
        assert isinstance(driver.suspend(ref), NotYet | Done)
        seen = self.over(driver, ref)
        assert seen.state is ObservedState.SUSPENDED
        assert {r.state for r in seen.replicas} == {ReplicaState.STOPPED}

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

    def test_who_ignores_the_request_is_killed_after_the_grace_period(self, driver: Driver) -> None:
        ref = self.created(driver, Script.STUBBORN, grace=1)
        self.running(driver, ref)
        wait_for(lambda: driver.read_log(ref, "worker-0", 0, 1000).data)
        driver.suspend(ref)
        assert driver.observe(ref).state is ObservedState.TERMINATING
        seen = self.over(driver, ref)
        assert seen.state is ObservedState.SUSPENDED
        if self.tells_stopped_ends:
            assert seen.replicas[0].signal == 9

    # Delete

    def test_deleting_ends_it_and_makes_it_absent(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP, replicas=2)
        self.running(driver, ref)
        assert isinstance(driver.delete(ref), NotYet | Done)
        self.until(driver, ref, ObservedState.ABSENT)

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

    def test_deleting_one_attempt_leaves_the_next_alone(self, driver: Driver) -> None:
        first = self.created(driver, Script.SLEEP)
        self.running(driver, first)
        second = replace(first, attempt=2)
        self.made.append(second)
        driver.delete(first)
        driver.create(second)
        self.until(driver, first, ObservedState.ABSENT)
        assert self.running(driver, second).attempt == 2

    @staticmethod
    def identities(seen: Observation) -> list[str]:
        identities = [replica.pod_uid for replica in seen.replicas]
        assert all(identities)
        return identities


class RemembersDeletes(DriverConformance):
    """For clusters on which a deleted attempt cannot come back, however late its create lands."""

    def test_a_create_that_comes_after_the_delete_starts_nothing(self, driver: Driver) -> None:
        ref = self.ref(driver, Script.TALK)
        driver.delete(ref)
        assert isinstance(driver.create(ref), Refused)
        assert driver.observe(ref).state is ObservedState.ABSENT
        assert driver.read_log(ref, "worker-0", 0, 1000).data == b""


def shell(script: Script) -> str:
    """``script`` for a cluster that runs commands with a POSIX shell."""
    text = {
        Script.SLEEP: "exec sleep 1000",
        Script.SUCCEED: "exit 0",
        Script.FAIL: "exit 3",
        Script.TALK: "i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); done",
        Script.TALK_ON: "echo hello; exec sleep 1000",
        Script.STUBBORN: "trap '' TERM; echo deaf; while :; do sleep 1; done",
        Script.ONE_FAILS: "[ $RANK = 1 ] && exit 3; exec sleep 1000",
    }[script]
    return f"sh -c {shlex.quote(text)}"
