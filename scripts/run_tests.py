"""Run the tests in the order and on the databases that Gangline promises.

Usage: `python -m scripts.run_tests [--all] [--only=sqlite|postgres|browser|slurm|kubernetes]
[pytest arguments]`. Five sessions: everything but the browser on SQLite, what is marked `postgres`
again on PostgreSQL, the browser tests, those on a real Slurm, and those on a real Kubernetes,
which is built meanwhile where it is not yet. Tests marked `thorough` run with `--all` only, and
Hypothesis tries all its examples then. Each session ends with its slowest tests. A few that failed
beside others are run once more, alone: what then passes was short of a processor, and is named at
the end; what fails again is red. What is not installed is installed, or named and left out; under
`CI=true` that is a failure, and so is a session without a test. `tests/repository` is a check of
`make lint`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts import builds, system_packages

ROOT = Path(__file__).resolve().parent.parent
TESTS_FAILED, NO_TEST = 1, 5
FEW = 5
"""More than these failures are no accident of a busy machine: they are not asked again."""
OPTIONS = ("--ignore=tests/repository", "--durations=20", "--durations-min=1")


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


_PLAIN = "not browser and not needs_kubernetes and not needs_s3 and not needs_slurm"
SESSIONS = (
    # A third of their time these wait: for servers that they start, for gangs, for leases.
    Session(
        "sqlite", "everything but the browser, on SQLite", _PLAIN, processes=4, spread="loadfile"
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
    ),
    # These wait for schedulers, not for a processor.
    Session(
        "slurm",
        "on a real Slurm",
        "needs_slurm",
        one_of=("needs_slurm",),
        processes=3,
        parts=("slurm", "slurmdbd"),
    ),
    # Most of these wait for a cluster, not for a processor.
    Session(
        "kubernetes",
        "on a real Kubernetes, and with a real S3 server",
        "(needs_kubernetes or needs_s3)",
        one_of=("needs_kubernetes", "needs_s3"),
        processes=3,
        parts=("kubernetes", "s3"),
    ),
)


def main(arguments: list[str]) -> int:
    """Run the sessions; return the first exit code that is not 0."""
    only = [one.removeprefix("--only=") for one in arguments if one.startswith("--only=")]
    given = [one for one in arguments if not one.startswith("--only=") and one != "--all"]
    more = "" if "--all" in arguments else " and not thorough"
    chosen = [session for session in SESSIONS if not only or session.name in only]
    missing = system_packages.ensure(_needed(chosen), builds=False)
    with builds.started(missing) as running:
        lacking = [name for name in missing if name not in running]
        if lacking and os.environ.get("CI") == "true":
            print(f"CI must run every test; not installed: {', '.join(lacking)}.")
            return 1
        codes, totals, unsteady = [], Counter[str](), list[str]()
        files: Mapping[str, list[str]] = {}
        for session in chosen:
            for name in running.keys() & set(_needed([session])):
                running[name].wait()
                missing = system_packages.missing_parts(missing)
            if session.database == "postgres" and "postgres" in missing:
                print(f"\nLeft out: {session.title}.")
                continue
            needed = _needed([session])
            lacks = [name for name in missing if name in needed]
            where = sorted({file for mark in session.one_of for file in files.get(mark, ())})
            code, told = _run(session, session.marks + more, given or where, lacks)
            files = files or told.get("files", {})
            if code == TESTS_FAILED and 0 < len(told.get("bad", ())) <= FEW:
                code, again = _run(session, session.marks + more, told["bad"], lacks, alone=True)
                unsteady += sorted({*told["bad"]} - {*again.get("bad", told["bad"])})
                told |= {key: again.get(key, told[key]) for key in ("failed", "error")}
                told["passed"] += again.get("passed", 0)
            totals.update({key: n for key, n in told.items() if isinstance(n, int)})
            codes.append(code)
    _say_totals(totals, missing, unsteady)
    return next((code for code in codes if code), 0)


def _needed(sessions: Collection[Session]) -> list[str]:
    """Parts without which tests of these sessions cannot run."""
    others = {part for one in SESSIONS if one not in sessions for part in one.parts}
    return [name for name in system_packages.PARTS if name not in others]


def _run(
    session: Session, marks: str, given: list[str], missing: list[str], *, alone: bool = False
) -> tuple[int, dict[str, Any]]:
    """Exit code, and what the session told: how many tests passed, which failed, which files have
    a mark. ``alone``: one test after the other."""
    print(f"\nTests: {session.title}{', what failed once more' * alone}.", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gangline-results-") as folder:
        results = Path(folder) / "results.json"
        environment = {
            **os.environ,
            "GANGLINE_MISSING": ",".join(missing),
            "GANGLINE_TEST_DATABASE": session.database,
            "GANGLINE_TEST_RESULTS": str(results),
            "GANGLINE_TEST_THOROUGH": str(int("not thorough" not in marks)),
        }
        spread = ("-n", str(session.processes), f"--dist={session.spread}") if not alone else ()
        options = ("-m", marks, *spread, *OPTIONS)
        command = [sys.executable, "-m", "pytest", *options, *given]
        before = _processor_time()
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        told = json.loads(results.read_text()) if results.exists() else {}
    used = _processor_time() - before
    print(f"Took {time.monotonic() - began:.0f} s, and {used:.0f} s of processors.", flush=True)
    code = done.returncode
    # With tests narrowed by hand, or parts missing, a session may rightly have nothing to run.
    if code == NO_TEST and (given or missing):
        code = 0
    elif code == NO_TEST:
        print(f"No test ran in this session: {session.title}.")
    return code, told


def _processor_time() -> float:
    """Seconds that ended children took: not those of servers which a session leaves to others."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
