"""A cluster that fails as told, for the reconciler's fault tests.

Everything lies in one SQLite file, so that workers in other processes share the cluster, may be
killed at any instant, and the test still knows what really happened: ``FaultyCluster.effects``.

What a workload does is read from its command: ``behave sleep`` (until told to end; also any other
command), ``behave succeed 2``, ``behave fail 2`` (after 2 s), and the scripts of the conformance
suite.
"""

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gangline.drivers.base import (
    NO_FACTS,
    AttemptRef,
    Busy,
    DryRunResult,
    Kept,
    KeptObject,
    LogChunk,
    Observation,
    ObservedState,
    OwnedObject,
    Refused,
    Result,
    Submission,
    TellTrouble,
    Unknown,
    ignore_all_told,
    ignore_trouble,
)
from gangline.drivers.facts import (
    Capacity,
    Facts,
    FieldNote,
    FrameworkOffer,
    Health,
    Runtime,
)
from gangline.lib.problems import Problem as Refusal
from gangline.spec.catalogue import catalogue
from gangline.spec.frameworks import PROGRAMS
from gangline.spec.problems import Advice, Problem, Role
from gangline.spec.workload import ReplicaSpec, WorkerSpec
from tests.drivers.faults import Call, Effect, Fault
from tests.drivers.faulty_objects import (
    SCHEMA,
    Object,
    apply,
    connected,
    land,
    ref_data,
    refusal,
    take_fault,
)


class FaultyCluster:
    """The test's side of the cluster: plans faults, moves workloads, tells the truth."""

    def __init__(
        self,
        path: Path,
        *,
        idempotent: bool = False,
        in_flight_max: float = 2.0,
        start_seconds: float = 0.0,
        admission: str = "theirs",
    ) -> None:
        """Make the cluster at ``path``, or open the one that is there as it is.

        Unless ``idempotent``, two creates of one attempt make two objects: only a caller that looks
        first and waits for what may be under way is safe.
        """
        self.path = path
        self.in_flight_max = in_flight_max
        if path.exists():
            return
        with connected(path) as database:
            database.executescript(f"PRAGMA journal_mode = WAL; BEGIN; {SCHEMA} COMMIT;")
        with self._change() as database:
            for name, value in {
                "idempotent": idempotent,
                "in_flight_max": in_flight_max,
                "start_seconds": start_seconds,
                "admission": admission,
                "unreachable": False,
            }.items():
                database.execute("INSERT INTO setting VALUES (?, ?)", (name, json.dumps(value)))

    def driver(self) -> "FaultyDriver":
        return FaultyDriver(self.path)

    def plan(
        self,
        op: str,
        fault: Fault,
        *,
        workload: str = "*",
        seconds: float = 0.0,
        text: str = "The cluster says no.",
        skip: int = 0,
        times: int = 1,
    ) -> None:
        """Let ``fault`` meet ``times`` calls of ``op`` (``*``: any method) after ``skip``."""
        with self._change() as database:
            database.execute(
                "INSERT INTO fault (op, workload, action, seconds, text, skip, times)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (op, workload, fault.name, seconds, text, skip, times),
            )

    def set_unreachable(self, unreachable: bool) -> None:
        self._set("unreachable", unreachable)

    def force(self, workload: str, state: ObservedState) -> None:
        """Put all objects of a workload into ``state``; ABSENT removes them behind our back."""
        with self._change() as database:
            database.execute(
                "UPDATE object SET forced = ?, forced_at = ? WHERE workload = ?",
                (state.value, time.time(), workload),
            )

    def effects(self, op: str = "", workload: str = "") -> list[Effect]:
        """What really happened, oldest first; late effects appear once they have landed."""
        rows = self._rows("SELECT at, pid, op, workload, attempt FROM effect ORDER BY id")
        found = [Effect(*row) for row in rows]
        return [e for e in found if op in ("", e.op) and workload in ("", e.workload)]

    def calls(self, op: str = "", workload: str = "") -> list[Call]:
        rows = self._rows("SELECT at, pid, op, workload, attempt, fault FROM call ORDER BY id")
        found = [Call(*row) for row in rows]
        return [c for c in found if op in ("", c.op) and workload in ("", c.workload)]

    def objects(self, workload: str = "") -> int:
        """How many objects exist now."""
        with self._change() as database:
            rows = database.execute("SELECT * FROM object").fetchall()
        seen = [Object(row) for row in rows if workload in ("", row["workload"])]
        start = float(self._get("start_seconds"))
        return len([o for o in seen if o.state(start) is not ObservedState.ABSENT])

    def faults_left(self) -> int:
        (row,) = self._rows("SELECT coalesce(sum(times), 0) FROM fault")
        return int(row[0])

    def _set(self, name: str, value: object) -> None:
        with self._change() as database:
            database.execute(
                "UPDATE setting SET value = ? WHERE name = ?", (json.dumps(value), name)
            )

    def _get(self, name: str) -> Any:
        (row,) = self._rows("SELECT value FROM setting WHERE name = ?", name)
        return json.loads(row[0])

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._change() as database:
            return [tuple(row) for row in database.execute(query, values).fetchall()]

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """One transaction; whatever was due to land lands first."""
        with connected(self.path) as database:
            database.execute("BEGIN IMMEDIATE")
            land(database)
            yield database
            database.execute("COMMIT")


class FaultyDriver:
    """Implements ``Driver`` over the file of a ``FaultyCluster``."""

    kind = "faulty"
    unsupported: Mapping[str, str] = {}
    mapped = frozenset(catalogue(WorkerSpec)) | frozenset(catalogue(ReplicaSpec))

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cluster = FaultyCluster(path)
        self.in_flight_max = float(self._cluster._get("in_flight_max"))

    def probe(self) -> Health:
        if self._meet("probe", _NOBODY) is not None:
            return Health(reachable=False, reason=_UNREACHABLE)
        image = Runtime("local://system", "System Python", True, tuple(PROGRAMS))
        offers = tuple(
            FrameworkOffer(name, available=True, runtimes=(image.reference,)) for name in PROGRAMS
        )
        return Health(True, facts=Facts("1", offers, (image,)))

    def capacity(self) -> Capacity:
        return Capacity(self._cluster._get("admission"), cpus=64, memory=2**38)

    def check(self, submission: Submission, facts: Facts) -> list[Problem]:
        return []

    def advise(self, submission: Submission, facts: Facts) -> list[Advice]:
        return []

    def field_notes(
        self,
        *,
        framework: str,
        role: Role,
        has_own_master: bool,
        launcher: str = "",
        facts: Facts = NO_FACTS,
    ) -> Mapping[str, FieldNote]:
        return {}

    def render(self, submission: Submission) -> dict[str, Any]:
        return {
            "command": submission.worker.command or "",
            "replicas": submission.num_workers + (submission.master is not None),
        }

    def dry_run(self, ref: AttemptRef) -> DryRunResult:
        """The same fault as planned for ``dry_run``; a plan for ``create`` is left to it."""
        fault = self._meet("dry_run", ref)
        if fault is None:
            return DryRunResult(asked=("the whole training",))
        if fault[0] != "REFUSED":
            return DryRunResult(doubts=(_UNREACHABLE,))
        return DryRunResult(problems=(refusal(fault[2]),))

    def observe(self, ref: AttemptRef) -> Observation:
        if self._meet("observe", ref) is not None:
            return Observation(
                ref.workload, ref.attempt, ObservedState.UNKNOWN, _UNREACHABLE, is_cut_off=True
            )
        return self._look(ref)

    def create(self, ref: AttemptRef) -> Result:
        return self._write("create", ref)

    def commit(self, ref: AttemptRef) -> Result:
        return self._write("commit", ref)

    def suspend(self, ref: AttemptRef) -> Result:
        return self._write("suspend", ref)

    def resume(self, ref: AttemptRef) -> Result:
        return self._write("resume", ref)

    def delete(self, ref: AttemptRef) -> Result:
        return self._write("delete", ref)

    def owned_objects(self, install: str) -> Sequence[OwnedObject] | Unknown:
        if self._meet("owned_objects", _NOBODY) is not None:
            return Unknown(_UNREACHABLE)
        start = self._start_seconds()
        rows = self._objects("SELECT * FROM object WHERE install = ? ORDER BY id", install)
        there = [row for row in rows if row.state(start) is not ObservedState.ABSENT]
        return [OwnedObject(row.ref(), "object") for row in there]

    def delete_object(self, owned: OwnedObject) -> Result:
        return self._write("delete", owned.ref)

    def apply(self, wanted: KeptObject) -> Kept:
        says = "There are no objects to keep on this cluster."
        return Kept("failed", Refusal("kind", "", {"raw": says, "value": wanted.kind}))

    def remove(self, wanted: KeptObject) -> Kept:
        return Kept("gone")

    def watch(
        self,
        install: str,
        cursor: str,
        tell: TellTrouble = ignore_trouble,
        all_told: Callable[[], None] = ignore_all_told,
    ) -> Iterator[Sequence[Observation]]:
        """The first list may meet a fault, and is tried until none is left; then all is told."""
        while self._meet("list", _NOBODY) is not None:
            yield []
            time.sleep(0.05)
        told: dict[tuple[str, int], Observation] = {}
        while True:
            began = time.monotonic()
            keys = {
                (row.workload, row.attempt): row.ref()
                for row in self._objects("SELECT * FROM object WHERE install = ?", install)
            }
            changed = []
            for key, ref in keys.items():
                seen = self._look(ref)
                if told.get(key) != seen:
                    told[key] = seen
                    changed.append(replace(seen, read_monotonic=began))
            yield changed
            all_told()
            all_told = ignore_all_told
            time.sleep(0.05)

    def silent_for(self) -> float | None:
        return None

    def read_log(self, ref: AttemptRef, replica: str, offset: int, limit: int) -> LogChunk:
        self._meet("read_log", ref)
        seen = self._look(ref)
        rows = [o for o in self._found(ref) if o.told_why != "delete"]
        index = replica.removeprefix("worker-")
        if not rows or index not in [str(i) for i in range(rows[0].replicas)]:
            return LogChunk(b"", 0, end=True)
        lines = rows[0].log()
        whole = b"".join(lines)
        if offset < 0:
            start = max(0, len(whole) + offset)
            offset = whole.find(b"\n", start - 1) + 1 if start else 0
        data = whole[offset : offset + limit]
        after = offset + len(data)
        over = seen.state.is_terminal or seen.state is ObservedState.SUSPENDED
        return LogChunk(data, after, end=over and after >= len(whole))

    def _look(self, ref: AttemptRef) -> Observation:
        plain = Observation(ref.workload, ref.attempt, ObservedState.ABSENT)
        for row in self._found(ref):
            state = row.state(self._start_seconds())
            if state is not ObservedState.ABSENT:
                return row.observation(plain, self._start_seconds())
        return plain

    def _write(self, op: str, ref: AttemptRef) -> Result:
        fault = self._meet(op, ref)
        if fault is None:
            return self._effect(op, ref)
        name, seconds, text = fault
        if name == "HANG":
            time.sleep(seconds)
        elif name == "BUSY":
            return Busy(seconds, "Too many requests.", is_for_all=True)
        elif name == "REFUSED":
            return Refused(text, (refusal(text),))
        elif name in ("KILL_BEFORE", "STOP_BEFORE"):
            os.kill(os.getpid(), _SENT[name])
            return self._effect(op, ref)
        elif name in ("KILL_AFTER", "STOP_AFTER"):
            result = self._effect(op, ref)
            os.kill(os.getpid(), _SENT[name])
            return result
        elif name == "ERROR_AFTER":
            self._effect(op, ref)
        elif name == "LATE":
            with self._cluster._change() as database:
                database.execute(
                    "INSERT INTO late (lands_at, op, ref) VALUES (?, ?, ?)",
                    (time.time() + seconds, op, json.dumps(ref_data(ref))),
                )
        return Unknown(f"The cluster answered 500 to {op}." if seconds == 0 else _UNREACHABLE)

    def _effect(self, op: str, ref: AttemptRef) -> Result:
        with self._cluster._change() as database:
            return apply(database, op, ref_data(ref))

    def _meet(self, op: str, ref: AttemptRef) -> tuple[str, float, str] | None:
        """Note the call and take the fault that is planned for it."""
        with self._cluster._change() as database:
            (away,) = database.execute(
                "SELECT value FROM setting WHERE name = 'unreachable'"
            ).fetchone()
            found: tuple[str, float, str] | None
            if json.loads(away):
                found = ("HANG", 0.0, "")
            else:
                found = take_fault(database, op, ref.workload)
            fault = found[0] if found else ""
            columns = "INSERT INTO call (at, pid, op, workload, attempt, fault)"
            row = (time.time(), os.getpid(), op, ref.workload, ref.attempt, fault)
            database.execute(f"{columns} VALUES (?, ?, ?, ?, ?, ?)", row)
        if found and op in _READS:
            if found[0] in _SENT:
                os.kill(os.getpid(), _SENT[found[0]])
                return None
            time.sleep(found[1])
        return found

    def _found(self, ref: AttemptRef) -> list[Object]:
        query = "SELECT * FROM object WHERE workload = ? AND attempt = ? ORDER BY id"
        return self._objects(query, ref.workload, ref.attempt)

    def _objects(self, query: str, *values: object) -> list[Object]:
        with self._cluster._change() as database:
            return [Object(row) for row in database.execute(query, values).fetchall()]

    def _start_seconds(self) -> float:
        return float(self._cluster._get("start_seconds"))


_NOBODY = AttemptRef("", "", 0, "")
_UNREACHABLE = "The cluster does not answer."
_READS = ("observe", "probe", "list", "owned_objects", "read_log", "dry_run")
_SENT = {
    "KILL_BEFORE": signal.SIGKILL,
    "KILL_AFTER": signal.SIGKILL,
    "STOP_BEFORE": signal.SIGSTOP,
    "STOP_AFTER": signal.SIGSTOP,
}
