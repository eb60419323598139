"""The objects of a faulty cluster: what lies in its file, and what each object is doing now."""

import json
import os
import re
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gangline.drivers.base import (
    AttemptRef,
    Done,
    NotYet,
    Observation,
    ObservedState,
    Refused,
    ReplicaObservation,
    ReplicaPlacement,
    ReplicaState,
    Result,
)
from gangline.spec.problems import Problem, Role

SCHEMA = """
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE object (
    id INTEGER PRIMARY KEY, uid TEXT NOT NULL, install TEXT NOT NULL, workload TEXT NOT NULL,
    attempt INTEGER NOT NULL, name TEXT NOT NULL, namespace TEXT NOT NULL, placement TEXT NOT NULL,
    behaviour TEXT NOT NULL, replicas INTEGER NOT NULL, grace REAL NOT NULL,
    landed_at REAL NOT NULL, told_at REAL, told_grace REAL, told_why TEXT,
    forced TEXT, forced_at REAL);
CREATE TABLE late (
    id INTEGER PRIMARY KEY, lands_at REAL NOT NULL, op TEXT NOT NULL, ref TEXT NOT NULL);
CREATE TABLE effect (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, pid INTEGER NOT NULL, op TEXT NOT NULL,
    workload TEXT NOT NULL, attempt INTEGER NOT NULL);
CREATE TABLE call (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, pid INTEGER NOT NULL, op TEXT NOT NULL,
    workload TEXT NOT NULL, attempt INTEGER NOT NULL, fault TEXT NOT NULL);
CREATE TABLE fault (
    id INTEGER PRIMARY KEY, op TEXT NOT NULL, workload TEXT NOT NULL, action TEXT NOT NULL,
    seconds REAL NOT NULL, text TEXT NOT NULL, skip INTEGER NOT NULL, times INTEGER NOT NULL);
"""


class Object:
    """One row; what it is doing follows from its behaviour and the time since it landed."""

    def __init__(self, row: sqlite3.Row) -> None:
        self.row = row
        self.workload: str = row["workload"]
        self.attempt: int = row["attempt"]
        self.replicas: int = row["replicas"]
        self.told_why: str | None = row["told_why"]
        word, _, seconds = str(row["behaviour"]).partition(" ")
        self.word, self.seconds = word, float(seconds or 0)

    def ended_at(self, start_seconds: float) -> float | None:
        """When it ends by itself or was made to; None while nothing ends it."""
        own = None
        if self.word in ("succeed", "fail", "talk", "one-fails"):
            own = self.row["landed_at"] + start_seconds + self.seconds
        told = None
        if self.row["told_at"] is not None:
            told = self.row["told_at"] + (self.row["told_grace"] if self.word == "stubborn" else 0)
        times = [t for t in (own, told, self.row["forced_at"]) if t is not None]
        return min(times) if times else None

    def was_told(self, start_seconds: float) -> bool:
        """Whether the request to end came before its own end."""
        own = self.row["landed_at"] + start_seconds + self.seconds
        told = self.row["told_at"]
        ends = self.word in ("succeed", "fail", "talk", "one-fails")
        return told is not None and (not ends or told < own)

    def state(self, start_seconds: float) -> ObservedState:
        now = time.time()
        if self.row["forced"]:
            return ObservedState(self.row["forced"])
        end = self.ended_at(start_seconds)
        if end is not None and now >= end:
            if self.told_why == "delete":
                return ObservedState.ABSENT
            if self.was_told(start_seconds):
                return ObservedState.SUSPENDED
            if self.word in ("fail", "one-fails"):
                return ObservedState.FAILED
            return ObservedState.SUCCEEDED
        if self.row["told_at"] is not None:
            return ObservedState.TERMINATING
        if now < self.row["landed_at"] + start_seconds:
            return ObservedState.STARTING
        return ObservedState.RUNNING

    def observation(self, plain: Observation, start_seconds: float) -> Observation:
        state = self.state(start_seconds)
        failing = 1 if self.word == "one-fails" else 0
        end = self.ended_at(start_seconds) if state in _OVER else None
        replicas = tuple(
            self._replica(i, state, failing, start_seconds, end) for i in range(self.replicas)
        )
        reason = ""
        if state is ObservedState.FAILED:
            reason = "Exited with code 3."
            if self.replicas > 1:
                reason = f"worker-{failing}: {reason}"
        return replace(
            plain,
            state=state,
            reason=reason,
            ext_uid=self.row["uid"],
            replicas=replicas,
            started_at=_at(self.row["landed_at"] + start_seconds),
            ended_at=_at(end),
            first_failure=f"worker-{failing}" if state is ObservedState.FAILED else "",
        )

    def _replica(
        self, index: int, state: ObservedState, failing: int, start: float, end: float | None
    ) -> ReplicaObservation:
        told = ReplicaObservation(
            "worker",
            index,
            index,
            _REPLICA.get(state, ReplicaState.UNKNOWN),
            pod_uid=f"{self.row['uid']}-{index}",
            started_at=_at(self.row["landed_at"] + start),
            ended_at=_at(end),
        )
        if state is ObservedState.SUCCEEDED:
            return replace(told, exit_code=0)
        if state is ObservedState.SUSPENDED:
            return replace(told, signal=9 if self.word == "stubborn" else 15)
        if state is ObservedState.FAILED and index == failing:
            return replace(told, exit_code=3, reason="Exited with code 3.")
        if state is ObservedState.FAILED:
            reason = f"Stopped because worker-{failing} failed."
            return replace(told, state=ReplicaState.STOPPED, reason=reason)
        return told

    def log(self) -> list[bytes]:
        count = {"talk": 200, "talk-on": 1, "stubborn": 1}.get(self.word, 0)
        at = datetime.fromtimestamp(self.row["landed_at"], UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return [f"{at}.000000000Z stdout F line {i}\n".encode() for i in range(count)]

    def ref(self) -> AttemptRef:
        slots = tuple(
            ReplicaPlacement(**{**s, "gpus": tuple(s["gpus"]), "ports": tuple(s["ports"])})
            for s in json.loads(self.row["placement"])
        )
        return AttemptRef(
            install=self.row["install"],
            workload=self.workload,
            attempt=self.attempt,
            name=self.row["name"],
            namespace=self.row["namespace"],
            placement=slots,
            ext_uid=self.row["uid"],
        )


_OVER = (ObservedState.SUCCEEDED, ObservedState.FAILED, ObservedState.SUSPENDED)
_REPLICA = {
    ObservedState.STARTING: ReplicaState.STARTING,
    ObservedState.RUNNING: ReplicaState.RUNNING,
    ObservedState.TERMINATING: ReplicaState.RUNNING,
    ObservedState.SUCCEEDED: ReplicaState.SUCCEEDED,
    ObservedState.FAILED: ReplicaState.FAILED,
    ObservedState.SUSPENDED: ReplicaState.STOPPED,
}


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(path, timeout=20, isolation_level=None)
    database.row_factory = sqlite3.Row
    try:
        yield database
    finally:
        database.close()


def land(database: sqlite3.Connection) -> None:
    due = database.execute("SELECT * FROM late WHERE lands_at <= ? ORDER BY id", (time.time(),))
    for row in due.fetchall():
        database.execute("DELETE FROM late WHERE id = ?", (row["id"],))
        apply(database, row["op"], json.loads(row["ref"]))


def apply(database: sqlite3.Connection, op: str, ref: dict[str, Any]) -> Result:
    key = (ref["workload"], ref["attempt"])
    objects = [
        Object(row)
        for row in database.execute(
            "SELECT * FROM object WHERE workload = ? AND attempt = ?", key
        ).fetchall()
    ]
    start = float(_setting(database, "start_seconds"))
    present = [o for o in objects if o.state(start) is not ObservedState.ABSENT]
    if op == "create":
        if present and _setting(database, "idempotent"):
            return NotYet()
        _insert(database, ref)
    elif op in ("suspend", "delete"):
        open_ = [o for o in present if o.told_why != "delete"]
        if op == "suspend":
            open_ = [o for o in open_ if o.state(start) not in _OVER and o.row["told_at"] is None]
        if not open_:
            return NotYet() if any(o.state(start) not in _OVER for o in present) else Done()
        for row in open_:
            at = row.row["told_at"] if row.row["told_at"] is not None else time.time()
            database.execute(
                "UPDATE object SET told_at = ?, told_grace = ?, told_why = ?, forced = NULL"
                " WHERE id = ?",
                (at, ref["grace"], op, row.row["id"]),
            )
    elif op == "resume":
        return Refused("A stopped attempt is not continued.")
    database.execute(
        "INSERT INTO effect (at, pid, op, workload, attempt) VALUES (?, ?, ?, ?, ?)",
        (time.time(), os.getpid(), op, *key),
    )
    if op == "delete" and all(o.state(start) in _OVER for o in present):
        return Done()
    return Done() if op == "commit" else NotYet()


def _insert(database: sqlite3.Connection, ref: dict[str, Any]) -> None:
    database.execute(
        "INSERT INTO object (uid, install, workload, attempt, name, namespace, placement,"
        " behaviour, replicas, grace, landed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            str(uuid.uuid4()),
            ref["install"],
            ref["workload"],
            ref["attempt"],
            ref["name"],
            ref["namespace"],
            json.dumps(ref["placement"]),
            ref["behaviour"],
            ref["replicas"],
            ref["grace"],
            time.time(),
        ),
    )


def _setting(database: sqlite3.Connection, name: str) -> Any:
    (value,) = database.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone()
    return json.loads(value)


def take_fault(
    database: sqlite3.Connection, op: str, workload: str
) -> tuple[str, float, str] | None:
    """The fault that is planned for this call, counted as met."""
    row = database.execute(
        "SELECT * FROM fault WHERE op IN (?, '*') AND workload IN (?, '*') AND times > 0"
        " ORDER BY id LIMIT 1",
        (op, workload),
    ).fetchone()
    if row is None:
        return None
    column = "skip" if row["skip"] else "times"
    database.execute(f"UPDATE fault SET {column} = {column} - 1 WHERE id = ?", (row["id"],))
    return None if row["skip"] else (row["action"], row["seconds"], row["text"])


def ref_data(ref: AttemptRef) -> dict[str, Any]:
    native = ref.rendered or {}
    command = str(native.get("command", ""))
    return {
        "install": ref.install,
        "workload": ref.workload,
        "attempt": ref.attempt,
        "name": ref.name,
        "namespace": ref.namespace,
        "grace": ref.grace_seconds,
        "behaviour": command.removeprefix("behave ") if command.startswith("behave ") else "sleep",
        "replicas": int(native.get("replicas", 1)),
        "placement": [
            {
                "role": slot.role,
                "index": slot.index,
                "rank": slot.rank,
                "cpus": slot.cpus,
                "memory": slot.memory,
                "gpus": slot.gpus,
                "ports": slot.ports,
            }
            for slot in ref.placement
        ],
    }


def _at(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def refusal(text: str) -> Problem:
    """``worker.image: words``: the words at that field; other texts are about no field."""
    found = re.match(r"(workload|worker|master)\.([\w.]+): (.+)", text)
    if found is None:
        code = "cluster:refuses"
        return Problem.of(Role.WORKLOAD, "", code, said=text, accepted="-", label="The cluster")
    code, said = "cluster:not_accepted", found[3]
    return Problem.of(Role(found[1]), found[2], code, said=said, accepted="another value")
