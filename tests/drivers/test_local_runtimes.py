"""Which runtimes this machine has, what a probe learns about them, and what that lets us offer."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gangline.drivers.local import runtimes
from gangline.drivers.local.driver import LocalDriver
from gangline.drivers.local.runtimes import (
    SYSTEM_PYTHON,
    ProbedRuntime,
    find_runtimes,
    frameworks_of,
    how_to_add,
    offered,
    probe_runtime,
    probe_runtimes,
    search_path,
    unfit_reason,
)
from tests.support.example_gangs import examples_python
from tests.support.waiting import wait_for


def make_environment(folder: Path) -> Path:
    """Make an empty virtual environment and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin/python"


def install(python: Path, module: str, *, distribution: str, version: str, code: str = "") -> None:
    """Put a package into an environment as an installer would."""
    (site_packages,) = python.parents[1].glob("lib/python3*/site-packages")
    (site_packages / module).mkdir()
    (site_packages / module / "__init__.py").write_text(code)
    info = site_packages / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
    )


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


# --- Discovery


def test_examples_come_first_then_the_system_and_the_others(tmp_path: Path) -> None:
    for name in ("zeta", "examples", "alpha", ".trash", "Not a name"):
        (tmp_path / "runtimes" / name).mkdir(parents=True)
    (tmp_path / "runtimes/a-file").write_text("")
    found = find_runtimes(tmp_path, {})
    assert list(found) == ["examples", "system", "alpha", "zeta"]
    assert found["system"] == SYSTEM_PYTHON
    assert found["alpha"] == tmp_path / "runtimes/alpha/bin/python"


def test_a_configured_path_is_an_environment_or_an_interpreter_and_wins(tmp_path: Path) -> None:
    (tmp_path / "runtimes/lab").mkdir(parents=True)
    conda = script(tmp_path / "conda/bin/python3", "true")
    direct = script(tmp_path / "elsewhere/python3.12", "true")
    found = find_runtimes(tmp_path, {"lab": tmp_path / "conda", "direct": direct})
    assert (found["lab"], found["direct"]) == (conda, direct)


def test_a_data_folder_without_runtimes_leaves_the_system(tmp_path: Path) -> None:
    assert list(find_runtimes(tmp_path / "new", {})) == ["system"]


def test_the_programs_of_a_runtime_come_before_the_system_s() -> None:
    assert search_path(Path("/opt/lab/bin/python")).startswith("/opt/lab/bin:/usr/local/sbin:")
    folders = search_path(SYSTEM_PYTHON).split(":")
    assert folders[0] == "/usr/bin"
    assert len(folders) == len(set(folders))


# --- Probe


def test_a_probe_finds_packages_by_any_of_their_distributions(tmp_path: Path) -> None:
    python = make_environment(tmp_path / "lab")
    install(python, "xgboost", distribution="xgboost-cpu", version="3.2.0")
    install(python, "tensorflow", distribution="tensorflow", version="2.21.0+lab")
    runtime = probe_runtime("lab", python)
    assert runtime.problem is None
    assert runtime.packages == {"xgboost": "3.2.0", "tensorflow": "2.21.0"}
    assert runtime.python_version == ".".join(map(str, sys.version_info[:3]))
    assert runtime.reference == "local://lab"


def test_a_probe_does_not_import_heavy_packages(tmp_path: Path) -> None:
    python = make_environment(tmp_path / "lab")
    install(python, "jax", distribution="jax", version="0.9", code="raise SystemExit('imported')")
    assert probe_runtime("lab", python).packages == {"jax": "0.9"}


def test_a_probe_sees_nothing_of_the_product_s_own_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leak/jax").mkdir(parents=True)
    (tmp_path / "leak/jax/__init__.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "leak"))
    assert probe_runtime("lab", make_environment(tmp_path / "lab")).packages == {}


def test_a_torch_that_cannot_be_imported_is_named_with_its_error(tmp_path: Path) -> None:
    python = make_environment(tmp_path / "lab")
    code = "raise ImportError('libcudart.so.12 is missing')"
    install(python, "torch", distribution="torch", version="2.9", code=code)
    runtime = probe_runtime("lab", python)
    assert runtime.broken == {"torch": "ImportError: libcudart.so.12 is missing"}
    offer = frameworks_of([runtime])["PyTorch"]
    assert not offer.available
    assert offer.reason == (
        "PyTorch in local://lab cannot be imported: ImportError: libcudart.so.12 is missing"
    )


def test_mpirun_of_the_runtime_is_found_before_the_system_s(tmp_path: Path) -> None:
    python = make_environment(tmp_path / "lab")
    script(python.with_name("mpirun"), "echo 'mpirun (Open MPI) 9.9.9'")
    assert probe_runtime("lab", python).mpirun_version == "Open MPI 9.9.9"


def test_an_mpirun_that_fails_is_not_offered(tmp_path: Path) -> None:
    python = make_environment(tmp_path / "lab")
    script(python.with_name("mpirun"), "echo broken; exit 3")
    assert probe_runtime("lab", python).mpirun_version is None


def test_a_runtime_without_a_python_says_where_it_was_looked_for(tmp_path: Path) -> None:
    problem = probe_runtime("lab", tmp_path / "bin/python").problem
    assert problem == f"There is no Python at {tmp_path}/bin/python."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("echo 'cannot open shared object' >&2; exit 127", "cannot open shared object"),
        ("exit 3", "it ended with exit code 3"),
        ("echo no json", "it ended with exit code 0"),
        ("echo '{\"unknown\": 1}'", "it ended with exit code 0"),
    ],
)
def test_a_python_that_does_not_work_says_what_it_said(
    tmp_path: Path, text: str, expected: str
) -> None:
    runtime = probe_runtime("lab", script(tmp_path / "bin/python", text))
    assert runtime.problem == f"Its Python does not work: {expected}"


def test_a_file_that_is_no_program_is_a_problem_in_words(tmp_path: Path) -> None:
    path = tmp_path / "python"
    path.write_text("not a program")
    problem = probe_runtime("lab", path).problem
    assert problem is not None
    assert problem.startswith("Its Python does not start: ")


def test_a_python_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    python = script(tmp_path / "bin/python", f"sleep 600 & echo $! > {pid_file}; wait")
    runtime = probe_runtime("lab", python, seconds=0.5)
    assert runtime.problem == "Its Python gave no answer within 0.5 seconds."
    pid = int(pid_file.read_text())
    try:
        wait_for(lambda: not is_running(pid), what="the child to be gone")
    finally:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Tell whether the process lives; one that is dead and not yet reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_the_runtime_of_the_examples_offers_xgboost() -> None:
    offer = frameworks_of([probe_runtime("examples", examples_python())])["XGBoost"]
    assert (offer.available, offer.runtimes) == (True, ("local://examples",))
    assert int(offer.version.partition(".")[0]) >= 3


@pytest.mark.needs_torch
def test_the_system_s_torch_talks_gloo() -> None:
    runtime = probe_runtime("system", SYSTEM_PYTHON)
    assert runtime.capabilities["gloo"] is True
    assert frameworks_of([runtime])["PyTorch"].available
    assert "PyTorch 1." in offered(runtime).detail or "PyTorch 2." in offered(runtime).detail


@pytest.mark.needs_mpi
def test_debian_s_mpirun_is_offered_with_its_version() -> None:
    offer = frameworks_of([probe_runtime("system", SYSTEM_PYTHON)])["MPI"]
    assert offer.available
    assert offer.version.startswith("Open MPI ")


# --- Cache


def note_starts(python: Path, log: Path) -> None:
    """Let every process of the environment's Python leave its pid in ``log``."""
    (site_packages,) = python.parents[1].glob("lib/python3*/site-packages")
    line = f"import os; open({str(log)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
    (site_packages / "note_starts.pth").write_text(line)


def starts(log: Path) -> int:
    # A virtual environment runs its .pth files twice, so pids are counted and not lines.
    return len(set(log.read_text().split()))


def test_a_runtime_is_probed_again_only_after_it_changed(tmp_path: Path) -> None:
    log, cache = tmp_path / "starts", tmp_path / "runtimes.json"
    python = make_environment(tmp_path / "lab")
    note_starts(python, log)
    first = probe_runtimes({"lab": python}, cache)
    assert probe_runtimes({"lab": python}, cache) == first
    assert starts(log) == 1

    install(python, "jax", distribution="jax", version="0.9")
    (changed,) = probe_runtimes({"lab": python}, cache)
    assert changed.packages == {"jax": "0.9"}
    assert starts(log) == 2


def test_a_problem_is_not_kept(tmp_path: Path) -> None:
    cache = tmp_path / "runtimes.json"
    (missing,) = probe_runtimes({"lab": tmp_path / "lab/bin/python"}, cache)
    assert missing.problem is not None
    python = make_environment(tmp_path / "lab")
    (found,) = probe_runtimes({"lab": python}, cache)
    assert found.problem is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"x": 3}', '{"lab": {"packages": 1}}'])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, content: str) -> None:
    cache = tmp_path / "runtimes.json"
    cache.write_text(content)
    (runtime,) = probe_runtimes({"lab": make_environment(tmp_path / "lab")}, cache)
    assert runtime.problem is None
    assert "lab/bin/python" in cache.read_text()


# --- Offers


def runtime(
    name: str, *modules: str, mpirun: str | None = None, gloo: bool = True
) -> ProbedRuntime:
    packages = dict.fromkeys(modules, "1.0")
    return ProbedRuntime(
        name=name,
        path=f"/opt/{name}/bin/python",
        python_version="3.11.2",
        packages=packages,
        capabilities={"gloo": gloo, "nccl": False},
        mpirun_version=mpirun,
    )


BROKEN = ProbedRuntime("lab", "/opt/lab/bin/python", problem="There is no Python at /opt/lab.")
ADVICE = how_to_add(Path("/data"))


def test_the_way_to_a_further_runtime_is_told_with_its_real_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the sentence says works: an environment that is put there is found."""
    monkeypatch.setattr(runtimes, "SYSTEM_PYTHON", tmp_path / "none")
    facts = LocalDriver(tmp_path, "host-a").probe().facts
    assert facts is not None
    place = f"{tmp_path.resolve()}/runtimes/<name>"
    assert facts.detail["moreRuntimes"] == (
        f"To add one, put or link a virtual environment into {place}."
    )
    assert all(place in offer.why_not for offer in facts.frameworks if offer.framework == "TF")
    make_environment(Path(place.replace("<name>", "lab")))
    facts = LocalDriver(tmp_path, "host-a").probe().facts
    assert facts is not None
    assert "local://lab" in [runtime.reference for runtime in facts.runtimes if runtime.available]


@pytest.mark.parametrize(
    ("framework", "runtimes", "reason"),
    [
        ("TF", [], f"There is no runtime on this machine. {ADVICE}"),
        ("TF", [runtime("a")], f"The only runtime here has no TensorFlow. {ADVICE}"),
        (
            "TF",
            [runtime("a"), runtime("b", "torch")],
            f"None of the 2 runtimes here has TensorFlow. {ADVICE}",
        ),
        (
            "XGBoost",
            [BROKEN],
            f"local://lab does not work: There is no Python at /opt/lab. {ADVICE}",
        ),
        (
            "PyTorch",
            [runtime("a"), runtime("b", "torch", gloo=False)],
            "PyTorch in local://b was built without gloo.",
        ),
        (
            "MPI",
            [runtime("a", "mpi4py")],
            "mpirun is not installed on this machine. Install Open MPI (Debian: openmpi-bin).",
        ),
    ],
)
def test_a_framework_that_cannot_run_says_why(
    framework: str, runtimes: list[ProbedRuntime], reason: str
) -> None:
    offer = frameworks_of(runtimes, ADVICE)[framework]
    assert (offer.available, offer.why_not, offer.runtimes) == (False, reason, ())


@pytest.mark.parametrize(
    ("framework", "module"),
    [("PyTorch", "torch"), ("TF", "tensorflow"), ("XGBoost", "xgboost"), ("JAX", "jax")],
)
def test_a_framework_is_offered_with_the_runtimes_that_have_it(framework: str, module: str) -> None:
    runtimes = [runtime("a", module), runtime("b"), BROKEN, runtime("c", module)]
    offer = frameworks_of(runtimes)[framework]
    assert (offer.available, offer.reason, offer.version) == (True, "", "1.0")
    assert offer.runtimes == ("local://a", "local://c")


def test_mpi_prefers_the_runtime_that_has_mpi4py() -> None:
    runtimes = [runtime("a", mpirun="Open MPI 4.1.4"), runtime("b", "mpi4py", mpirun="Open MPI 5")]
    offer = frameworks_of(runtimes)["MPI"]
    assert offer.runtimes == ("local://b", "local://a")
    assert offer.version == "Open MPI 5"


def test_an_unfit_runtime_says_why() -> None:
    assert unfit_reason("JAX", runtime("a")) == "local://a has no JAX."
    assert unfit_reason("JAX", BROKEN) == "There is no Python at /opt/lab."
    assert unfit_reason("MPI", runtime("a")) == "mpirun is not installed here."
    assert unfit_reason("JAX", runtime("a", "jax")) == ""


def test_the_form_shows_what_a_runtime_holds() -> None:
    shown = offered(runtime("examples", "xgboost", "mpi4py", mpirun="Open MPI 4.1.4"))
    assert (shown.reference, shown.title) == ("local://examples", "Examples")
    assert shown.frameworks == ("XGBoost", "MPI")
    assert shown.detail == "Python 3.11.2, XGBoost 1.0, mpi4py 1.0"
    assert (offered(BROKEN).available, offered(BROKEN).reason) == (False, BROKEN.problem)
