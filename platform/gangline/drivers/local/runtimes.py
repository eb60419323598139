"""The runtimes of this machine: which there are, what each can run, and what that lets us offer.

A runtime is a Python environment that a workload names as its image, ``local://<name>``.
"""

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gangline.drivers import facts
from gangline.spec.frameworks import FRAMEWORKS, PROGRAMS
from gangline.spec.launcher_commands import GLOO, HOROVODRUN, MPIRUN, SRUN

SCHEME = "local://"
SYSTEM_PYTHON = Path("/usr/bin/python3")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROBE_SECONDS = 60
"""The first import of PyTorch from a slow disk, or one of the network, takes half a minute."""
CACHE_NAME = "runtimes.json"
RUNTIMES = "runtimes"
"""Folder of environments in the data folder; replicas find it in GANGLINE_RUNTIMES."""

_NAME = re.compile(r"[a-z0-9]([-a-z0-9_.]*[a-z0-9])?")
_TITLES = {"examples": "Examples", "system": "System Python"}
_MODULES = {
    "PyTorch": "torch",
    "TF": "tensorflow",
    "XGBoost": "xgboost",
    "JAX": "jax",
    "MXNet": "mxnet",
}
_SHOWN = {
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "xgboost": "XGBoost",
    "jax": "JAX",
    "mpi4py": "mpi4py",
    "mxnet": "MXNet",
    "horovod": "Horovod",
}


@dataclass(frozen=True, slots=True)
class ProbedRuntime:
    """A runtime and what its own Python said about itself. With a ``problem`` the rest is empty."""

    name: str
    path: str
    """The interpreter."""
    python_version: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Version by module name (``torch``), empty when the package does not tell."""
    capabilities: Mapping[str, bool] = field(default_factory=dict)
    """``gloo`` and ``nccl``: what PyTorch can communicate with."""
    broken: Mapping[str, str] = field(default_factory=dict)
    """Error by module name of what is installed and cannot be imported."""
    mpirun_version: str | None = None
    problem: str | None = None

    @property
    def reference(self) -> str:
        return SCHEME + self.name


def search_path(python: Path) -> str:
    """Return the PATH under which a runtime's programs run: its own come first."""
    own = str(python.parent)
    return ":".join([own, *(folder for folder in SYSTEM_PATH.split(":") if folder != own)])


def launch_path(data_dir: Path, runtime: str, python: Path) -> str:
    """Return the PATH of a replica: the folder in which ``python`` gets its name comes first."""
    return f"{data_dir / 'bin' / runtime}:{search_path(python)}"


def find_runtimes(data_folder: Path, configured: Mapping[str, Path]) -> dict[str, Path]:
    """Return the interpreter of every runtime by name, in the order to show them.

    There are those below ``<data folder>/runtimes``, the system's Python, and the ``configured``
    ones, whose path is an environment's folder or an interpreter. The last win over the others.
    """
    folder = data_folder / RUNTIMES
    entries = sorted(folder.iterdir()) if folder.is_dir() else []
    own = {entry.name: entry for entry in entries if entry.is_dir() and _NAME.fullmatch(entry.name)}
    system = {"system": SYSTEM_PYTHON} if SYSTEM_PYTHON.exists() else {}
    first = {"examples": own.pop("examples")} if "examples" in own else {}
    found = first | system | own | dict(configured)
    return {name: _interpreter(path) for name, path in found.items()}


def _interpreter(path: Path) -> Path:
    if not path.is_dir():
        return path
    # Not resolved: an environment's interpreter is a link, and the link makes it the environment.
    candidates = [path / "bin/python", path / "bin/python3"]
    return next((python for python in candidates if python.exists()), candidates[0])


def probe_runtime(
    name: str, python: Path, *, seconds: float = PROBE_SECONDS, before: Sequence[str] = ()
) -> ProbedRuntime:
    """Ask the runtime's own Python, in a child process that is killed after ``seconds``.

    ``before``: words that confine the program whose line they begin.
    """
    if not python.exists():
        return ProbedRuntime(name, str(python), problem=f"There is no Python at {python}.")
    source = _PROBE_FILE.read_text(encoding="utf-8")
    try:
        child = subprocess.Popen(
            [*before, str(python), "-E", "-c", source],
            cwd="/",
            env={"PATH": search_path(python), "HOME": str(Path.home()), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as problem:
        return ProbedRuntime(name, str(python), problem=f"Its Python does not start: {problem}.")
    try:
        output, errors = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        # What it started may hold the pipes open: the whole session ends.
        os.killpg(child.pid, 9)
        child.communicate()
        return ProbedRuntime(
            name, str(python), problem=f"Its Python gave no answer within {seconds:g} seconds."
        )
    return _read_answer(name, python, child.returncode, output, errors)


def _read_answer(name: str, python: Path, code: int, output: bytes, errors: bytes) -> ProbedRuntime:
    lines = output.decode(errors="replace").splitlines()
    try:
        answer: dict[str, Any] = json.loads(lines[-1])
        return ProbedRuntime(name, str(python), **answer)
    except (IndexError, ValueError, TypeError):
        said = errors.decode(errors="replace").strip().splitlines()
        reason = said[-1][:200] if said else f"it ended with exit code {code}"
        return ProbedRuntime(name, str(python), problem=f"Its Python does not work: {reason}")


def probe_runtimes(
    runtimes: Mapping[str, Path],
    cache: Path,
    confined: Callable[[Path], Sequence[str]] = lambda python: (),
) -> tuple[ProbedRuntime, ...]:
    """Probe each runtime, or take the answer from ``cache`` if nothing in it changed since.

    ``confined``: what to put before an interpreter's command line.

    Takes seconds when something changed: never call it in the way of a start or a request.
    """
    known = _read_cache(cache)
    probed: list[ProbedRuntime] = []
    kept: dict[str, Any] = {}
    for name, python in runtimes.items():
        key = f"{python} {_stamp(python)}"
        try:
            runtime = ProbedRuntime(name, str(python), **known[key])
        except (KeyError, TypeError):
            runtime = probe_runtime(name, python, before=confined(python))
        probed.append(runtime)
        # A problem may pass, so it is looked at again each time.
        if runtime.problem is None:
            answer = asdict(runtime)
            kept[key] = {part: answer[part] for part in answer if part not in ("name", "path")}
    if kept != known:
        _write_cache(cache, kept)
    return tuple(probed)


def _stamp(python: Path) -> str:
    """Fingerprint of what an installation into the runtime, or of mpirun, would change."""
    prefix = python.parent.parent
    watched = [
        python,
        prefix / "pyvenv.cfg",
        *sorted(prefix.glob("lib/python3*/site-packages")),
        *sorted(prefix.glob("lib/python3*/dist-packages")),
        *sorted(prefix.glob("local/lib/python3*/dist-packages")),
        *sorted(Path.home().glob(".local/lib/python3*/site-packages")),
        *(Path(folder) / "mpirun" for folder in search_path(python).split(":")),
    ]
    seen = [f"{path} {path.stat().st_mtime_ns}" for path in watched if path.exists()]
    digest = hashlib.sha256("\n".join(seen).encode())
    digest.update(_PROBE_FILE.read_bytes())
    return digest.hexdigest()


def _read_cache(path: Path) -> dict[str, Any]:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write_cache(path: Path, known: Mapping[str, Any]) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    draft.write_text(json.dumps(known, indent=1), encoding="utf-8")
    draft.replace(path)


def how_to_add(data_folder: Path) -> str:
    """How a person brings a runtime of their own, in a sentence."""
    place = data_folder / RUNTIMES / "<name>"
    return f"To add one, put or link a virtual environment into {place}."


def frameworks_of(
    runtimes: Sequence[ProbedRuntime], advice: str = ""
) -> dict[str, facts.FrameworkOffer]:
    """Return for each framework whether a runtime here can run it, and if not, why.

    ``advice`` follows the reasons that a further runtime would mend.
    """
    return {framework: _offer(framework, runtimes, advice) for framework in PROGRAMS}


def _offer(framework: str, runtimes: Sequence[ProbedRuntime], advice: str) -> facts.FrameworkOffer:
    fit = [runtime for runtime in runtimes if not unfit_reason(framework, runtime)]
    if not fit:
        reason, remedy = _why_nowhere(framework, runtimes, advice)
        return facts.FrameworkOffer(framework, False, reason, remedy=remedy)
    if framework == "MPI":
        # Most programs are Python's; mpirun alone runs only compiled ones.
        fit.sort(key=lambda runtime: "mpi4py" not in runtime.packages)
        version = fit[0].mpirun_version or f"Horovod {fit[0].packages.get('horovod', '')}"
    else:
        version = fit[0].packages[_MODULES[framework]]
    references = tuple(runtime.reference for runtime in fit)
    return facts.FrameworkOffer(framework, True, version=version, runtimes=references)


def _why_nowhere(framework: str, runtimes: Sequence[ProbedRuntime], advice: str) -> tuple[str, str]:
    """Why no runtime can run it, and what would mend that."""
    label = FRAMEWORKS[framework].label
    if not runtimes:
        return "There is no runtime on this machine.", advice
    if all(runtime.problem is not None for runtime in runtimes):
        return f"{runtimes[0].reference} does not work: {runtimes[0].problem}", advice
    for runtime in runtimes:
        # Something is there and does not work: that says more than a count.
        if runtime.problem is None and _MODULES.get(framework) in runtime.packages:
            return unfit_reason(framework, runtime), ""
    if framework == "MPI":
        remedy = "Install Open MPI (Debian: openmpi-bin)."
        return "mpirun is not installed on this machine.", remedy
    if len(runtimes) == 1:
        return f"The only runtime here has no {label}.", advice
    return f"None of the {len(runtimes)} runtimes here has {label}.", advice


def unfit_reason(framework: str, runtime: ProbedRuntime) -> str:
    """Return why ``runtime`` cannot run ``framework``, in a sentence; empty when it can."""
    if runtime.problem is not None:
        return runtime.problem
    if framework == "MPI":
        return "" if launchers(runtime) else "mpirun is not installed here."
    label, module = FRAMEWORKS[framework].label, _MODULES[framework]
    if module not in runtime.packages:
        return f"{runtime.reference} has no {label}."
    if module in runtime.broken:
        return f"{label} in {runtime.reference} cannot be imported: {runtime.broken[module]}"
    if framework == "PyTorch" and not runtime.capabilities.get("gloo"):
        return f"{label} in {runtime.reference} was built without gloo."
    return ""


def offered(runtime: ProbedRuntime) -> facts.Runtime:
    """Return the runtime as the form shows it."""
    frameworks = tuple(name for name in PROGRAMS if not unfit_reason(name, runtime))
    parts = [f"Python {runtime.python_version}"] if runtime.python_version else []
    for module, version in runtime.packages.items():
        parts.append(f"{_SHOWN.get(module, module)} {version}".strip())
    return facts.Runtime(
        reference=runtime.reference,
        title=_TITLES.get(runtime.name, runtime.name),
        available=runtime.problem is None,
        frameworks=frameworks,
        detail=", ".join(parts),
        reason=runtime.problem or "",
        launchers=launchers(runtime),
    )


def launchers(runtime: ProbedRuntime) -> tuple[str, ...]:
    """Values of the field `launcher` that the runtime has what they need for."""
    if runtime.problem is not None:
        return ()
    by_horovod = (HOROVODRUN, GLOO) if "horovod" in runtime.packages else ()
    return (*([MPIRUN] if runtime.mpirun_version else []), *by_horovod)


LAUNCHER_OF = {MPIRUN: "mpirun", HOROVODRUN: "Horovod", GLOO: "Horovod", SRUN: "srun"}
"""What a runtime must have for each value of the field `launcher`."""
NO_SRUN = "This machine has no Slurm that starts the ranks."


def no_launcher(launcher: str, runtimes: Sequence[facts.Runtime]) -> str:
    """Why a launcher is not to be had from any of ``runtimes``; empty: it is."""
    if launcher == SRUN:
        return NO_SRUN
    if any(launcher in runtime.launchers for runtime in runtimes):
        return ""
    if launcher == MPIRUN:
        return "mpirun is not installed on this machine."
    return "No runtime of this machine has Horovod."


_PROBE_FILE = Path(__file__).with_name("runtime_probe.py")
