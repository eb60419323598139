"""Run the tests in the order and on the databases that Gangline promises.

Usage: `python -m scripts.run_tests [--all] [--only=sqlite|postgres|browser|slurm|kubernetes]
[pytest arguments]`. Five sessions: everything but the browser on SQLite, and then what is marked
`postgres` again on PostgreSQL; beside them, because they wait for pages and schedulers as long as
they work, the browser tests, those on a real Slurm, and those on a real Kubernetes, which is built
meanwhile where it is not yet. Tests marked `thorough` run with `--all` only, and Hypothesis tries
all its examples then. Each session ends with its slowest tests. A few that failed beside others are
run once more, alone, when all else is over: what then passes was short of a processor, and is named
at the end; what fails again is red. What is not installed is installed, or named and left out;
under `CI=true` that is a failure, and so is a session without a test. `tests/repository` is a check
of `make lint`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from scripts import builds, system_packages

ROOT = Path(__file__).resolve().parent.parent
TESTS_FAILED, INTERRUPTED, NO_TEST = 1, 2, 5
FEW = 5
"""More than these failures are no accident of a busy machine: they are not asked again."""
OPTIONS = ("--ignore=tests/repository", "--durations=20", "--durations-min=1")
LOOK_EVERY = 0.3
FILES = "files.json"
"""Which files have tests with which mark, told by the first session that collects all."""


@dataclass(frozen=True)
class Session:
    """One run of pytest."""

    name: str
    title: str
    marks: str
    """Which tests, as `-m` of pytest takes it."""
    one_of: tuple[str, ...] = ()
    """Each of them has one of these marks: files without are not collected, once it is known."""
    processes: int = 2
    spread: str = "load"
    """Single tests, or with `loadfile` whole files: what a file shares is made once."""
    database: str = "sqlite"
    parts: tuple[str, ...] = ()
    """What no other session needs."""
    is_beside: bool = False
    """It runs beside those that are not: it waits as long as it works."""


_PLAIN = "not browser and not needs_kubernetes and not needs_s3 and not needs_slurm"
SESSIONS = (
    # A third of their time these wait: for servers that they start, for gangs, for leases.
    Session(
        "sqlite", "everything but the browser, on SQLite", _PLAIN, processes=3, spread="loadfile"
    ),
    Session(
        "postgres",
        "what PostgreSQL could break, on PostgreSQL",
        f"postgres and {_PLAIN}",
        one_of=("postgres",),
        spread="loadfile",
        database="postgres",
    ),
    Session(
        "browser",
        "the product in a browser",
        "browser and not needs_kubernetes and not needs_slurm",
        one_of=("browser",),
        is_beside=True,
    ),
    Session(
        "slurm",
        "on a real Slurm",
        "needs_slurm",
        one_of=("needs_slurm",),
        processes=3,
        parts=("slurm", "slurmdbd"),
        is_beside=True,
    ),
    Session(
        "kubernetes",
        "on a real Kubernetes, and with a real S3 server",
        "(needs_kubernetes or needs_s3)",
        one_of=("needs_kubernetes", "needs_s3"),
        processes=3,
        parts=("kubernetes", "s3"),
        is_beside=True,
    ),
)


def main(arguments: list[str]) -> int:
    """Run the sessions; return the first exit code that is not 0."""
    only = [one.removeprefix("--only=") for one in arguments if one.startswith("--only=")]
    given = [one for one in arguments if not one.startswith("--only=") and one != "--all"]
    more = "" if "--all" in arguments else " and not thorough"
    chosen = [session for session in SESSIONS if not only or session.name in only]
    missing = system_packages.ensure(_needed(chosen), builds=False)
    with (
        builds.started(missing) as running,
        tempfile.TemporaryDirectory(prefix="gangline-results-") as folder,
    ):
        lacking = [name for name in missing if name not in running]
        if lacking and os.environ.get("CI") == "true":
            print(f"CI must run every test; not installed: {', '.join(lacking)}.")
            return 1
        run = Run(Path(folder), given, more, running, missing)
        with run.beside([session for session in chosen if session.is_beside]):
            run.sessions([session for session in chosen if not session.is_beside])
        return run.end(chosen)


def _needed(sessions: Collection[Session]) -> list[str]:
    """Parts without which tests of these sessions cannot run."""
    others = {part for one in SESSIONS if one not in sessions for part in one.parts}
    return [name for name in system_packages.PARTS if name not in others]


@dataclass
class Run:
    """The sessions of one call, and what came of them."""

    folder: Path
    given: list[str]
    """Arguments for pytest."""
    more: str
    """What is asked of the marks of every test."""
    building: Mapping[str, builds.Build]
    missing: list[str]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    _is_over: threading.Event = field(default_factory=threading.Event)
    """Those that run in front are."""

    def sessions(self, chosen: Sequence[Session], output: TextIO | None = None) -> None:
        """One after the other; what they say goes to ``output``, or to where we write."""
        for session in chosen:
            for name in set(_needed([session])) & self.building.keys():
                self.building[name].wait(output)
            if session.database == "postgres" and "postgres" in self._lacks(session):
                print(f"\nLeft out: {session.title}.", file=output, flush=True)
                continue
            outcome = self._ask(session, self.given or self._where(session), output=output)
            self.outcomes[session.name] = outcome
            if outcome.code == INTERRUPTED:
                return

    @contextmanager
    def beside(self, chosen: Sequence[Session]) -> Iterator[None]:
        """Run these in a thread around the block; what they say is passed on after it."""
        log = self.folder / "beside"
        with log.open("w") as output, ThreadPoolExecutor(1) as pool:
            future = pool.submit(self._beside, chosen, output)
            try:
                yield
            finally:
                self._is_over.set()
            _pass_on(log, future)
            future.result()

    def _beside(self, chosen: Sequence[Session], output: TextIO) -> None:
        # The first session collects all tests and tells which files the others need not look at.
        while not (self.given or self._files.exists() or self._is_over.wait(LOOK_EVERY)):
            continue
        self.sessions(chosen, output)

    def end(self, chosen: Sequence[Session]) -> int:
        """Run a few that failed once more, say what came of all, and return the exit code."""
        unsteady: list[str] = []
        totals = Counter[str]()
        for session in chosen:
            if (found := self.outcomes.get(session.name)) is None:
                continue
            if found.code == TESTS_FAILED and 0 < len(found.bad) <= FEW:
                again = self._ask(session, found.bad, alone=True)
                unsteady += sorted({*found.bad} - {*again.bad}) if again.counts else []
                passed = found.counts["passed"] + again.counts["passed"]
                again.counts |= {"passed": passed, "skipped": found.counts["skipped"]}
                self.outcomes[session.name] = found = again
            totals.update(found.counts)
        _say_totals(totals, system_packages.missing_parts(self.missing), unsteady)
        return next((found.code for found in self.outcomes.values() if found.code), 0)

    @property
    def _files(self) -> Path:
        return self.folder / FILES

    def _lacks(self, session: Session) -> list[str]:
        return system_packages.missing_parts(n for n in _needed([session]) if n in self.missing)

    def _where(self, session: Session) -> list[str]:
        """Files with its tests, as far as that is known."""
        files = json.loads(self._files.read_text()) if self._files.exists() else {}
        return sorted({file for mark in session.one_of for file in files.get(mark, ())})

    def _ask(
        self,
        session: Session,
        given: list[str],
        *,
        output: TextIO | None = None,
        alone: bool = False,
    ) -> Outcome:
        lacks = self._lacks(session)
        marks = session.marks + self.more
        outcome = _run(session, marks, given, lacks, folder=self.folder, output=output, alone=alone)
        # With tests narrowed by hand, or parts missing, a session may rightly have nothing to run.
        if outcome.code == NO_TEST and (given or lacks):
            outcome.code = 0
        elif outcome.code == NO_TEST:
            print(f"No test ran in this session: {session.title}.", file=output, flush=True)
        return outcome


@dataclass
class Outcome:
    """Exit code of a session, how many tests came to what, and the names of those that failed."""

    code: int
    counts: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)


def _run(
    session: Session,
    marks: str,
    given: list[str],
    missing: list[str],
    *,
    folder: Path,
    output: TextIO | None,
    alone: bool,
) -> Outcome:
    """One call of pytest; ``alone``: one test after the other."""
    again = ", what failed once more" * alone
    print(f"\nTests: {session.title}{again}.", file=output, flush=True)
    began = time.monotonic()
    results = folder / f"{session.name}{'-again' * alone}.json"
    environment = {
        **os.environ,
        "GANGLINE_MISSING": ",".join(missing),
        "GANGLINE_TEST_DATABASE": session.database,
        "GANGLINE_TEST_RESULTS": str(results),
        "GANGLINE_TEST_THOROUGH": str(int("not thorough" not in marks)),
    }
    if not given:
        environment["GANGLINE_TEST_FILES"] = str(folder / FILES)
    spread = ("-n", str(session.processes), f"--dist={session.spread}") if not alone else ()
    command = [sys.executable, "-m", "pytest", "-m", marks, *spread, *OPTIONS, *given]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=output, stderr=output
    ) as process:
        # Not those of servers that it leaves to others.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    took, worked = time.monotonic() - began, used.ru_utime + used.ru_stime
    print(f"Took {took:.0f} s, and {worked:.0f} s of processors.", file=output, flush=True)
    told = json.loads(results.read_text()) if results.exists() else {}
    counts = Counter({key: n for key, n in told.items() if isinstance(n, int)})
    return Outcome(process.returncode, counts, told.get("bad", []))


def _pass_on(log: Path, future: Future[None]) -> None:
    """Print what stands in the log, and what comes, until the work is done."""
    with log.open() as said:
        while not future.done():
            print(said.read(), end="", flush=True)
            time.sleep(LOOK_EVERY)
        print(said.read(), end="", flush=True)


def _say_totals(totals: Counter[str], missing: list[str], unsteady: list[str]) -> None:
    for test in unsteady:
        print(f"Passed only when it was run again, alone: {test}")
    if missing:
        print(f"\nLeft out, because it is not installed: {', '.join(missing)}.")
        for step in system_packages.how_to_get(missing):
            print(f"  {step}")
    failed = totals["failed"] + totals["error"]
    skipped = f", {totals['skipped']} skipped" if totals["skipped"] else ""
    print(f"\nTests: {totals['passed']} passed, {failed} failed{skipped}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
