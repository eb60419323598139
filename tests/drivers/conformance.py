"""What every driver must do, whatever its cluster: a suite that each driver's tests inherit."""

import json
import shlex
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
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
from gangline.spec.typed import typed
from gangline.spec.workload import WAITING, WorkerSpec
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
    WAIT = "is an interactive session: sleeps for ever"
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
            worker=typed(WorkerSpec, self.values(script)),
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

    def test_rendering_is_json_and_gives_the_same_each_time(self, driver: Driver) -> None:
        submission = self.ref(driver, Script.SUCCEED).submission
        assert submission is not None
        first = driver.render(submission)
        assert json.loads(json.dumps(first)) == driver.render(submission)

    # Create

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

    # Suspend

    def test_suspending_ends_the_processes(self, driver: Driver) -> None:
        ref = self.created(driver, Script.SLEEP, replicas=2)
        self.running(driver, ref)
        assert isinstance(driver.suspend(ref), NotYet | Done)
        seen = self.over(driver, ref)
        assert seen.state is ObservedState.SUSPENDED
        assert {r.state for r in seen.replicas} == {ReplicaState.STOPPED}

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

    def test_deleting_one_attempt_leaves_the_next_alone(self, driver: Driver) -> None:
        first = self.created(driver, Script.SLEEP)
        self.running(driver, first)
        second = replace(first, attempt=2)
        self.made.append(second)
        driver.delete(first)
        driver.create(second)
        self.until(driver, first, ObservedState.ABSENT)
        assert self.running(driver, second).attempt == 2

    # Restart of the dashboard, watch, log

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

    def test_another_installation_owns_nothing_here(self, driver: Driver) -> None:
        self.running(driver, self.created(driver, Script.SLEEP))
        assert self.owned(driver, "install-b") == []

    def test_watching_tells_start_and_end(self, driver: Driver) -> None:
        told: list[ObservedState] = []
        with Watching(driver, self.install, lambda seen: told.append(seen.state)):
            ref = self.created(driver, Script.SLEEP)
            wait_for(lambda: ObservedState.RUNNING in told, seconds=self.seconds)
            driver.suspend(ref)
            wait_for(lambda: ObservedState.SUSPENDED in told, seconds=self.seconds)
        assert told.index(ObservedState.RUNNING) < told.index(ObservedState.SUSPENDED)

    def test_a_log_is_read_in_pieces_without_loss_or_repetition(self, driver: Driver) -> None:
        ref = self.created(driver, Script.TALK)
        self.over(driver, ref)
        whole = self.whole_log(driver, ref)
        texts = [line.split(b" ", 3)[3] for line in whole.splitlines()]
        assert texts == [b"line %d" % i for i in range(200)]
        assert self.whole_log(driver, ref, limit=100) == whole

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


class Watching:
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
        close(batches)


def close(batches: Iterator[Sequence[Observation]]) -> None:
    batches.close()  # type: ignore[attr-defined]


def shell(script: Script) -> str:
    """``script`` for a cluster that runs commands with a POSIX shell."""
    if script is Script.WAIT:
        return WAITING
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
