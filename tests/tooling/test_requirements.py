"""What is not installed is named and left out; in CI it is a failure."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scripts import builds, run_tests, system_packages
from tests.support.waiting import wait_for

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import pytest

@pytest.mark.needs_redis
def test_with_redis(): raise AssertionError("Redis is missing, so this must not run.")

def test_with_nothing(): pass
"""


def run_pytest(
    tmp_path: Path, *arguments: str, **variables: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, object]]:
    """Run the tests above in a session of their own; return what it said and counted."""
    (tmp_path / "test_some.py").write_text(TESTS)
    results = tmp_path / "results.json"
    environment = {key: value for key, value in os.environ.items() if key not in {"CI", "PORT"}}
    environment = {key: value for key, value in environment.items() if "PYTEST" not in key}
    given = {"GANGLINE_MISSING": "redis", "GANGLINE_TEST_RESULTS": str(results), **variables}
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), *arguments]
    done = subprocess.run(
        [*command, f"--rootdir={ROOT}", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=ROOT,
        env={**environment, **given},
        capture_output=True,
        text=True,
        check=False,
    )
    return done, json.loads(results.read_text()) if results.exists() else {}


@pytest.mark.thorough
def test_a_test_whose_part_is_missing_is_left_out_and_named(tmp_path: Path) -> None:
    """Slow, because it starts another session, with a parallel worker as `make test` has."""
    files = tmp_path / "files.json"
    done, results = run_pytest(tmp_path, "-n", "1", GANGLINE_TEST_FILES=str(files))
    assert done.returncode == 0, done.stdout
    assert "redis: 1 left out; install redis-server." in done.stdout
    assert results["left_out"] == {"redis": 1}
    assert json.loads(files.read_text())["needs_redis"] == ["test_some.py"]
    assert (results["passed"], results["failed"], results["skipped"]) == (1, 0, 0)


@pytest.mark.thorough
def test_in_ci_a_missing_part_stops_the_session(tmp_path: Path) -> None:
    """Slow, because it starts another session."""
    done, results = run_pytest(tmp_path, CI="true")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "CI must run every test, and these are not installed: redis." in done.stderr
    assert results == {}


def test_without_root_the_exact_command_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(system_packages, "can_install", lambda: False)
    monkeypatch.setattr(system_packages, "missing_parts", lambda *_: ["redis", "torch"])
    assert system_packages.ensure() == ["redis", "torch"]
    assert (
        "sudo apt-get install --yes --no-install-recommends "
        "python3-numpy python3-torch redis-server\n" in capsys.readouterr().out
    )


def test_what_is_built_needs_no_root(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    built = tmp_path / "built"
    part = dataclasses.replace(
        system_packages.PARTS["kubernetes"], is_there=built.exists, command=("touch", str(built))
    )
    monkeypatch.setattr(system_packages, "PARTS", {"kubernetes": part})
    monkeypatch.setattr(system_packages, "can_install", lambda: False)
    assert system_packages.missing_parts(["kubernetes"]) == ["kubernetes"]
    monkeypatch.setattr(
        system_packages, "missing_parts", lambda *_: [] if built.exists() else ["kubernetes"]
    )
    assert system_packages.ensure() == []
    assert "Building what the tests need: kubernetes." in capfd.readouterr().out


def test_in_ci_the_test_command_refuses_to_leave_anything_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(system_packages, "ensure", lambda names, builds: ["chromium"])
    monkeypatch.setenv("CI", "true")
    assert run_tests.main([]) == 1
    assert "not installed: chromium" in capsys.readouterr().out


def test_kubernetes_is_asked_for_only_by_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def ensure(names: list[str], *, builds: bool) -> list[str]:
        asked.append(names)
        return ["chromium"]

    monkeypatch.setattr(system_packages, "ensure", ensure)
    monkeypatch.setenv("CI", "true")
    assert run_tests.main([]) == 1
    assert run_tests.main(["--only=sqlite"]) == 1
    assert run_tests.main(["--only=kubernetes"]) == 1
    assert ["kubernetes" in names for names in asked] == [True, False, True]
    assert all("redis" in names for names in asked)


class Sessions:
    """Puts a record in the place of pytest: which session ran, and what it was told is missing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, part: system_packages.Part) -> None:
        self.ran: list[tuple[str, list[str]]] = []
        monkeypatch.setattr(system_packages, "PARTS", {part.name: part})
        monkeypatch.setattr(run_tests, "_run", self._run)
        monkeypatch.setattr(shutil, "which", lambda name: name)  # the packages are installed

    def _run(
        self, session: run_tests.Session, marks: str, given: list[str], missing: list[str], **_: Any
    ) -> run_tests.Outcome:
        self.ran.append((session.name, missing))
        return run_tests.Outcome(0, Counter(passed=1))

    @property
    def by_name(self) -> list[tuple[str, list[str]]]:
        """Some run beside others: their order is no promise."""
        return sorted(self.ran)


def part_built_by(built: Path, *commands: str) -> system_packages.Part:
    return dataclasses.replace(
        system_packages.PARTS["kubernetes"],
        is_there=built.exists,
        command=("sh", "-c", "; ".join(commands)),
    )


def test_what_the_last_session_needs_is_built_beside_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first sessions are over before the build may end."""
    built, others_over = tmp_path / "built", tmp_path / "others-over"
    waits = f"echo compiling; until test -e {others_over}; do sleep 0.1; done"
    sessions = Sessions(monkeypatch, part_built_by(built, waits, f"touch {built}"))
    record = sessions._run

    def run(session: run_tests.Session, *rest: Any, **more: Any) -> run_tests.Outcome:
        if session.name == "slurm":
            others_over.touch()
        return record(session, *rest, **more)

    monkeypatch.setattr(run_tests, "_run", run)
    monkeypatch.setenv("CI", "true")
    assert run_tests.main([]) == 0
    names = ("browser", "kubernetes", "postgres", "slurm", "sqlite")
    assert sessions.by_name == [(name, []) for name in names]
    assert "compiling\nWaited" in capsys.readouterr().out


def test_no_session_begins_before_what_it_needs_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The provider of sign-ins is needed by the first session already."""
    part = part_built_by(built := tmp_path / "built", "sleep 0.3", f"touch {built}")
    sessions = Sessions(monkeypatch, dataclasses.replace(part, name="oidc"))
    monkeypatch.setenv("CI", "true")
    assert run_tests.main([]) == 0
    assert [missing for _, missing in sessions.ran] == [[]] * 5


def test_what_cannot_be_built_is_told_to_its_session_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = part_built_by(tmp_path / "never", "echo no module proxy", "exit 1")
    sessions = Sessions(monkeypatch, part)
    run_tests.main([])
    assert [one for one in sessions.ran if one[1]] == [("kubernetes", ["kubernetes"])]
    assert len(sessions.ran) == 5
    assert "no module proxy" in capsys.readouterr().out


def test_a_build_takes_what_tests_leave_and_ends_with_them(tmp_path: Path) -> None:
    part = part_built_by(tmp_path / "never", f"echo $$ > {tmp_path}/pid", "sleep 600")
    with builds.started([]) as running:
        assert running == {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(system_packages, "PARTS", {"kubernetes": part})
        patch.setattr(shutil, "which", lambda name: name)
        with builds.started(["kubernetes"]):
            wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
            group = Path("/proc", (tmp_path / "pid").read_text().strip(), "autogroup")
            assert not group.exists() or group.read_text().endswith(" nice 19\n")
    pid = int((tmp_path / "pid").read_text())
    wait_for(lambda: not Path(f"/proc/{pid}").exists())


def test_thorough_tests_run_only_when_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted: list[str] = []

    def run(session: Any, marks: str, given: Any, missing: Any, **_: Any) -> run_tests.Outcome:
        assert given == []
        wanted.append(marks)
        return run_tests.Outcome(0)

    monkeypatch.setattr(system_packages, "ensure", lambda names, builds: [])
    monkeypatch.setattr(run_tests, "_run", run)
    run_tests.main(["--only=browser"])
    run_tests.main(["--all", "--only=browser"])
    assert [marks.endswith(" and not thorough") for marks in wanted] == [True, False]


def test_later_sessions_collect_the_files_of_their_marks_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Collecting all of them again takes longer than some sessions run."""
    given: dict[str, list[str]] = {}
    files = {"postgres": ["b", "a"], "needs_s3": ["c"], "needs_kubernetes": ["d", "c"], "x": ["e"]}

    def run(
        session: Any, marks: str, paths: list[str], missing: Any, *, folder: Path, **_: Any
    ) -> run_tests.Outcome:
        given[session.name] = paths
        if not paths:
            (folder / run_tests.FILES).write_text(json.dumps(files))
        return run_tests.Outcome(0, Counter(passed=1))

    monkeypatch.setattr(system_packages, "ensure", lambda names, builds: [])
    monkeypatch.setattr(run_tests, "_run", run)
    assert run_tests.main([]) == 0
    assert given["sqlite"] == []
    assert given["postgres"] == ["a", "b"]
    assert given["kubernetes"] == ["c", "d"]
    run_tests.main(["tests/spec"])
    assert set(map(tuple, given.values())) == {("tests/spec",)}


def test_tests_are_spread_by_one_plugin(pytestconfig: pytest.Config) -> None:
    """With two, what shares servers was torn apart, and what takes longest came last."""
    hook = pytestconfig.pluginmanager.hook.pytest_xdist_make_scheduler
    ours = [one.plugin_name for one in hook.get_hookimpls() if one.plugin_name != "dsession"]
    assert ours == ["tests.support.requirements_plugin"]


def test_every_part_has_a_mark() -> None:
    marks = (ROOT / "pyproject.toml").read_text()
    assert system_packages.PARTS
    for name in system_packages.PARTS:
        assert f'"needs_{name}: ' in marks


@pytest.mark.parametrize(
    ("bad", "again", "runs", "code", "said"),
    [
        (["a::x"], [], 2, 0, ["10 passed, 0 failed", "run again, alone: a::x"]),
        (["a::x", "a::y"], ["a::y"], 2, 1, ["9 passed, 1 failed", "run again, alone: a::x"]),
        ([f"a::{n}" for n in range(6)], [], 1, 1, ["4 passed, 6 failed"]),
    ],
)
def test_a_few_that_failed_beside_others_are_asked_once_more_alone(
    bad: list[str],
    again: list[str],
    runs: int,
    code: int,
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran: list[tuple[list[str], bool]] = []

    def run(
        session: Any, marks: str, paths: list[str], missing: Any, *, alone: bool, **_: Any
    ) -> run_tests.Outcome:
        ran.append((paths, alone))
        failed, asked = (again, len(bad)) if alone else (bad, 10)
        counts = Counter(passed=asked - len(failed), failed=len(failed))
        return run_tests.Outcome(int(bool(failed)), counts, failed)

    monkeypatch.setattr(system_packages, "ensure", lambda names, builds: [])
    monkeypatch.setattr(run_tests, "_run", run)
    assert run_tests.main(["--only=sqlite"]) == code
    assert ran == [([], False), (bad, True)][:runs]
    printed = capsys.readouterr().out
    assert all(words in printed for words in said), printed
