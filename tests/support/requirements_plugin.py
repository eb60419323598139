"""What a test session needs: its own settings and database, and the programs of marked tests.

Loaded before Django's settings are read. Nothing of the developer's own `GANGLINE_*` variables
reaches the tests: they get an empty data folder and the database that `GANGLINE_TEST_DATABASE`
names (`sqlite`, the default, or `postgres`, a private server made for the session).

Tests marked `needs_<part>` are left out, with a word at the end, where that part is not installed;
under `CI=true` the session fails at once instead.
"""

import atexit
import gc
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from scripts import services, system_packages

ROOT = Path(__file__).resolve().parents[2]
_KEPT = {"GANGLINE_MISSING", "GANGLINE_BED_CACHE"}
_RESULTS, _FILES = "GANGLINE_TEST_RESULTS", "GANGLINE_TEST_FILES"
# A fixture that starts a program tells as much as a mark.
_PART_OF_FIXTURE = {
    "bed": "kubernetes",
    "chromium": "chromium",
    "company": "oidc",
    "postgres_server": "postgres",
    "redis_server": "redis",
    "slurm_lab": "slurm",
    "ssh_server": "sshd",
}
_FIRST = "gw0"
_TOGETHER = ("tests/production/", "tests/cli/")
"""Folders whose tests share servers that take longer to start than most of them."""
_OWN_SERVERS = ("tests/production/test_demo_trainings.py", "tests/production/test_doorbells.py")
"""But these have their own."""
_BY_FILE = (
    "tests/drivers/kubernetes/test_goldens_live.py",
    "tests/drivers/slurm/test_slurm_accounting.py",
    "tests/e2e/",
    "tests/workloads/test_kubernetes_scheduling.py",
)
"""Files, and a folder of them, whose tests share servers or take turns on them."""
_LONG = (
    *_TOGETHER,
    "tests/supervisor/test_embedded.py",
    "tests/api/test_races.py",
    "tests/resources/",
    "tests/examples/",
    "tests/drivers/test_local",
    "tests/drivers/slurm/test_slurm_accounting.py",
    "tests/workloads/",
)
"""First, in this order: whatever takes long must not begin when all else is over."""
_cleanup = ExitStack()
# Also when the settings cannot be loaded, and pytest never gets as far as its own cleaning.
atexit.register(_cleanup.close)
_left_out: Counter[str] = Counter()
_files: dict[str, list[str]] = {}
"""The files of the tests that have a mark, whichever of them run now."""


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Generator[None]:
    """Set the environment before pytest-django reads the settings."""
    _set_environment()
    return (yield)


def _set_environment() -> None:
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    database = os.environ.get("GANGLINE_DATABASE_URL", "") if is_worker else _database_url()
    data = ROOT / (os.environ.get("GANGLINE_DATA_DIR") or "var")
    os.environ.setdefault("GANGLINE_TEST_RUNTIMES", str(data / "runtimes"))
    for name in [*os.environ]:
        if name == "PORT" or (name.startswith("GANGLINE_") and not _stays(name)):
            del os.environ[name]
    folder = tempfile.mkdtemp(prefix="gangline-test-")
    _cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
    os.environ["GANGLINE_DATA_DIR"] = folder
    os.environ["GANGLINE_DEMO"] = "0"
    if not is_worker:
        # What parallel processes share.
        os.environ["GANGLINE_TEST_SESSION"] = folder
    if database:
        os.environ["GANGLINE_DATABASE_URL"] = database
    if "GANGLINE_MISSING" not in os.environ:
        os.environ["GANGLINE_MISSING"] = ",".join(system_packages.missing_parts())


def _stays(name: str) -> bool:
    return name in _KEPT or name.startswith("GANGLINE_TEST_")


def _database_url() -> str:
    kind = os.environ.get("GANGLINE_TEST_DATABASE", "sqlite")
    if kind == "sqlite":
        return ""
    if kind != "postgres":
        raise pytest.UsageError(f"GANGLINE_TEST_DATABASE is sqlite or postgres, not {kind}.")
    return _cleanup.enter_context(services.postgres()).url


def _missing() -> list[str]:
    return [name for name in os.environ["GANGLINE_MISSING"].split(",") if name]


def pytest_configure(config: pytest.Config) -> None:
    config.add_cleanup(_cleanup.close)
    # Programs that tests start are the product alone, without the tests' own app.
    os.environ["DJANGO_SETTINGS_MODULE"] = "gangline.config.settings"
    if _missing() and os.environ.get("CI") == "true":
        raise pytest.UsageError(
            f"CI must run every test, and these are not installed: {', '.join(_missing())}. "
            f"Get them with: {'; '.join(system_packages.how_to_get(_missing()))}"
        )


class Folder(pytest.Package):
    """A folder of tests: what has the scope of a package ends with the last of them."""

    def setup(self) -> None:
        """Nothing is imported: no file says that it is a package."""


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if path.parent != ROOT / "tests":
        return None
    folder: pytest.Collector = Folder.from_parent(parent, path=path)
    return folder


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    missing = set(_missing())
    for item in items:
        _mark_by_fixtures(item)
        _note_files(item)
        lacking = sorted(_needs(item) & missing)
        if lacking:
            _left_out.update(lacking[:1])
        (dropped if lacking else kept).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
    items[:] = sorted(kept, key=_when)


def _when(item: pytest.Item) -> tuple[bool, int]:
    # While nothing long runs beside them: each waits until all others have left the bed.
    is_first = "own_processes" in _fixtures(item)
    long = (number for number, path in enumerate(_LONG) if item.nodeid.startswith(path))
    return not is_first, next(long, len(_LONG))


def pytest_collection_finish() -> None:
    """What was imported and collected stays: the garbage collector need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    if os.environ.get("PYTEST_XDIST_WORKER", _FIRST) == _FIRST:
        _tell_files(Path(os.environ.get(_FILES) or os.devnull))


def _tell_files(path: Path) -> None:
    """Write which files have tests with which mark, all at once, as others wait for it."""
    if _files and not path.exists():
        written = path.with_suffix(".new")
        written.write_text(json.dumps(_files))
        written.rename(path)


def _mark_by_fixtures(item: pytest.Item) -> None:
    fixtures = _fixtures(item)
    for fixture, part in _PART_OF_FIXTURE.items():
        if fixture in fixtures:
            item.add_marker(f"needs_{part}")
    if "chromium" in fixtures:
        item.add_marker("browser")


def _note_files(item: pytest.Item) -> None:
    path = item.nodeid.partition("::")[0]
    for mark in item.iter_markers():
        if path not in (files := _files.setdefault(mark.name, [])):
            files.append(path)


def _fixtures(item: pytest.Item) -> Sequence[str]:
    return getattr(item, "fixturenames", ())


def _needs(item: pytest.Item) -> set[str]:
    return {mark.name.removeprefix("needs_") for mark in item.iter_markers()}


class Grouped(LoadScopeScheduling):  # type: ignore[misc]
    """Spreads tests over processes, but keeps together what shares a large set of servers.

    With `--dist=loadfile` whole files, so that what a file shares is made once.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if path not in _OWN_SERVERS:
            for folder in _TOGETHER:
                if path.startswith(folder):
                    return folder
        whole = self.config.getvalue("dist") == "loadfile" or path.startswith(_BY_FILE)
        return path if whole else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Grouped:
    config.option.loadscopereorder = False  # they come in the order of `_when`
    return Grouped(config, log)


def pytest_testnodedown(node: Any) -> None:
    """Take over what a parallel worker knows; all collected the same tests."""
    _left_out.update(node.workeroutput.get("left_out", {}) if not _left_out else {})


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = dict(_left_out)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if _left_out:
        terminalreporter.section("tests that need what is not installed")
        for name, count in sorted(_left_out.items()):
            terminalreporter.line(
                f"{name}: {count} left out; {system_packages.PARTS[name].advice}."
            )
    results = os.environ.get(_RESULTS)
    if results:
        _write_results(Path(results), terminalreporter.stats)


def _write_results(path: Path, stats: dict[str, Sequence[object]]) -> None:
    counts = {kind: len(stats.get(kind, ())) for kind in ("passed", "failed", "error", "skipped")}
    bad = [
        getattr(one, "nodeid", "") for kind in ("failed", "error") for one in stats.get(kind, ())
    ]
    path.write_text(json.dumps({**counts, "bad": sorted({*bad}), "left_out": _left_out}))
