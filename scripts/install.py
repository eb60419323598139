"""Install Gangline's locked dependencies into `.venv`, and the runtimes of the examples.

Usage: `scripts/install.sh [server] [dev] [examples] [tensorflow] [horovod]`, which finds the Python
for it (default: server). Only the standard library is used, and a call that has nothing to do ends
within 0.2 s: a stamp in each environment holds the hash of what was installed.
"""

from __future__ import annotations

import ast
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ROOT / ".venv"
PIP = PRODUCT / "bin" / "pip"
UV = PRODUCT / "bin" / "uv"
LOCKS = {
    "server": ("build.txt", "server.txt", "cli.txt"),
    "dev": ("dev.txt",),
    "examples": ("examples.txt",),
    "tensorflow": ("tensorflow.txt",),
    "horovod": ("horovod-build.txt", "horovod.txt"),
}
RUNTIMES = {"examples", "tensorflow", "horovod"}
# Horovod has no wheels: it is built for the PyTorch of the system's Python, which it then uses.
SYSTEM_PYTHON = Path("/usr/bin/python3")
HOROVOD = {
    "HOROVOD_WITH_PYTORCH": "1",
    "HOROVOD_WITH_GLOO": "1",
    "HOROVOD_WITHOUT_TENSORFLOW": "1",
    "HOROVOD_WITHOUT_MXNET": "1",
}
HEADERS = """\
import os, sys
from torch.utils.cpp_extension import include_paths
places = [*include_paths(), "/usr/include", "/usr/local/include"]
wanted = ("torch/script.h", "pybind11/pybind11.h")
sys.exit(not all(any(os.path.exists(os.path.join(p, w)) for p in places) for w in wanted))
"""
# What decides how the project itself is installed; its code is used where it lies.
PROJECT = (
    "pyproject.toml",
    "platform/gangline/__init__.py",
    "cli/pyproject.toml",
    "cli/gangline_sdk/__init__.py",
)
# uv does not read what pip is configured for.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}


def main(arguments: list[str]) -> None:
    """Bring the environments that the arguments name up to date; the product's always."""
    for name in arguments:
        if name not in LOCKS:
            sys.exit(f"There is no part named {name}; choose from {', '.join(LOCKS)}.")
    # An environment that the tests were installed in keeps them when only the server is asked for.
    dev = ["dev"] if "dev" in arguments or _stamp(PRODUCT).startswith("server dev ") else []
    wanted = [(PRODUCT, ["server", *dev])]
    for runtime in RUNTIMES & set(arguments):
        data = ROOT / Path(os.environ.get("GANGLINE_DATA_DIR") or "var").expanduser()
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        wanted.append((data / "runtimes" / runtime, [runtime]))
    if all(_is_current(*one) for one in wanted):
        return
    lock = os.open(ROOT / "requirements", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)  # a second installation waits, and finds the work done
    for folder, parts in wanted:
        if not _is_current(folder, parts):
            _install(folder, parts)


def _install(folder: Path, parts: list[str]) -> None:
    """Make or mend one environment; its stamp is written last."""
    if folder.is_symlink():
        sys.exit(
            f"{folder} is a link to {folder.resolve()}, which may be the environment of another"
            " copy of Gangline. Remove the link; then one is made here."
        )
    locks = [ROOT / "requirements" / name for part in parts for name in LOCKS[part]]
    if folder == PRODUCT:
        _make_product()
    elif parts == ["horovod"]:
        _prepare_horovod(folder, locks[0])
    elif not (folder / "bin" / "python").exists():
        _run(UV, "venv", "--quiet", "--clear", "--python", sys.executable, folder)
    print(f"Installing the packages of {folder}.", flush=True)
    target = ("--python", folder / "bin" / "python")
    # Compiled at once: where Python may not write beside them, each start would compile them anew.
    quiet = () if sys.stderr.isatty() else ("--quiet",)  # a terminal is shown how far it is
    _run(UV, "pip", "sync", *quiet, "--require-hashes", "--compile-bytecode", *target, *locks)
    if folder == PRODUCT:
        options = ("--quiet", "--no-build-isolation", "--no-deps")
        own = ("--editable", ROOT, "--editable", ROOT / "cli")
        _run(UV, "pip", "install", *target, *options, *own)
    (folder / ".stamp").write_text(_digest(parts))


def _make_product() -> None:
    """Make the product's environment, whose pip installs uv, unless both are there."""
    if UV.exists() and (PRODUCT / "bin" / "python").exists():
        return
    print(f"Making {PRODUCT} with Python {sys.version.split()[0]}.", flush=True)
    shutil.rmtree(PRODUCT, ignore_errors=True)
    command = [sys.executable, "-I", "-m", "venv", str(PRODUCT)]
    if (
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
        or not PIP.exists()
    ):
        sys.exit(
            "This Python cannot make a virtual environment with pip. Install the package that has "
            "venv (Debian and Ubuntu: sudo apt-get install python3-venv), then try again."
        )
    _run(PIP, "install", "--quiet", "--require-hashes", "-r", ROOT / "requirements" / "build.txt")


def _prepare_horovod(folder: Path, tools: Path) -> None:
    """Make its environment, with the ``tools`` that build it there."""
    lacks = [program for program in ("cmake", "c++") if shutil.which(program) is None]
    probe = [str(SYSTEM_PYTHON), "-I", "-c", HEADERS]
    if (
        lacks
        or not SYSTEM_PYTHON.exists()
        or subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode
    ):
        sys.exit(
            "Horovod is built for the system's PyTorch, which takes some minutes and a compiler. "
            "Install what that needs (Debian 12: sudo apt-get install python3-torch libtorch-dev "
            "pybind11-dev cmake g++, and libopenmpi-dev for mpirun), then try again."
        )
    os.environ.update(HOROVOD)
    os.environ["UV_NO_BUILD_ISOLATION"] = "1"
    python = folder / "bin" / "python"
    if not python.exists():
        _run(
            UV, "venv", "-q", "--clear", "--system-site-packages", "--python", SYSTEM_PYTHON, folder
        )
    _run(UV, "pip", "install", "-q", "--require-hashes", "--python", python, "-r", tools)


def _run(*command: str | Path) -> None:
    # A machine that is busy with something else is slow, not broken.
    variables = {"UV_COMPILE_BYTECODE_TIMEOUT": "900", "UV_PYTHON_DOWNLOADS": "never"}
    if command[0] == UV:
        variables |= _pip_settings()
    environment = {**variables, **os.environ}
    environment.pop("VIRTUAL_ENV", None)
    if subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False).returncode:
        sys.exit(
            "The installation failed; the lines above say why. Start the same command again once "
            "that is mended: it goes on where it stopped."
        )


def _pip_settings() -> dict[str, str]:
    """Return what pip is configured for, its variables included, as the variables of uv."""
    command = [str(PRODUCT / "bin" / "python"), "-m", "pip", "config", "list"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = {}
    for line in shown.splitlines():
        name, _, value = line.partition("=")
        if variable := SETTINGS.get(name.rpartition(".")[2]):
            found[variable] = " ".join(ast.literal_eval(value).split())
    return found


def _is_current(folder: Path, parts: list[str]) -> bool:
    return (folder / "bin" / "python").exists() and _stamp(folder) == _digest(parts)


def _stamp(folder: Path) -> str:
    try:
        return (folder / ".stamp").read_text()
    except OSError:
        return ""


def _digest(parts: list[str]) -> str:
    """Return the parts and a hash of what decides what is installed for them."""
    names = [f"requirements/{name}" for part in parts for name in LOCKS[part]]
    # The path is part of it: scripts in an environment hold the path they were made for.
    digest = hashlib.sha256(bytes(ROOT))
    for name in (*names, *(PROJECT if "server" in parts else ())):
        digest.update((ROOT / name).read_bytes())
    return f"{' '.join(parts)} {digest.hexdigest()}"


if __name__ == "__main__":
    main(sys.argv[1:])
