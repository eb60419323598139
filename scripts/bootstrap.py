"""Install Gangline's locked dependencies into `.venv`, and the runtime of the examples.

Usage: `python3 scripts/bootstrap.py [server] [dev] [examples]` (default: server). Only the standard
library is used, nothing is asked, and a call that has nothing to do ends within 0.2 s: a stamp in
each environment holds the hash of what was installed. The file keeps to the syntax of old Pythons
so that one of those can say what is missing.
"""

import hashlib
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MINIMUM = (3, 11)
NEWEST_TRIED = 16
LOCKS = {
    "server": ("build.txt", "server.txt"),
    "dev": ("dev.txt",),
    "examples": ("examples.txt",),
}
# What decides how the project itself is installed; its code is used where it lies.
PROJECT_FILES = ["pyproject.toml", "platform/gangline/__init__.py"]


def main(arguments: "list[str]") -> int:
    """Bring the environments that the arguments name up to date."""
    parts = arguments or ["server"]
    unknown = sorted(set(parts) - set(LOCKS))
    if unknown:
        return _refuse(f"There is no part named {unknown[0]}; choose from {', '.join(LOCKS)}.")
    if sys.version_info < MINIMUM:
        return _start_again_with_a_newer_python()
    product = sorted(set(parts) & {"server", "dev"}, reverse=True)
    environments = []
    if product:
        environments.append((os.path.join(ROOT, ".venv"), ["server", *product], True))
    if "examples" in parts:
        folder = os.path.join(_data_folder(), "runtimes", "examples")
        environments.append((folder, ["examples"], False))
    stale = [entry for entry in environments if not _is_current(*entry)]
    if not stale:
        return 0
    # Only now: a call that has nothing to do must not pay for these imports.
    sys.path.append(ROOT)
    from scripts import install

    try:
        with install.only_one_at_a_time(ROOT):
            for folder, wanted, with_project in stale:
                if not _is_current(folder, wanted, with_project):
                    _install(folder, wanted, with_project)
    except install.CannotInstall as problem:
        return _refuse(str(problem))
    return 0


def _install(folder: str, parts: "list[str]", with_project: bool) -> None:
    """Make or mend one environment; its stamp is written last."""
    from scripts import install

    if os.path.islink(folder):
        raise install.CannotInstall(
            f"{folder} is a link to {os.path.realpath(folder)}, which may be the environment of"
            " another copy of Gangline. Remove the link; then one is made here."
        )
    known = _read_stamp(folder)
    # An environment that the tests were installed in keeps them when only the server is asked for.
    parts = [part for part in LOCKS if part in parts or (with_project and part in known)]
    locks = [os.path.join(ROOT, "requirements", name) for part in parts for name in LOCKS[part]]
    stamp = _stamp(parts, with_project)
    shown = os.path.relpath(folder, ROOT) if folder.startswith(ROOT + os.sep) else folder
    environment = install.Environment(folder=folder, shown=shown, root=ROOT)
    environment.make()
    if any(known.get(part) != stamp[part] for part in parts):
        environment.install(locks)
        known = {}
    if with_project and known.get("project") != stamp["project"]:
        environment.install_project()
    _write_stamp(folder, stamp)


def _is_current(folder: str, parts: "list[str]", with_project: bool) -> bool:
    """Tell whether the environment holds exactly what the lock files say."""
    if not os.path.exists(os.path.join(folder, "bin", "python")):
        return False
    known = _read_stamp(folder)
    return all(known.get(key) == value for key, value in _stamp(parts, with_project).items())


def _stamp(parts: "list[str]", with_project: bool) -> "dict[str, str]":
    stamp = {part: _digest([f"requirements/{name}" for name in LOCKS[part]]) for part in parts}
    if with_project:
        stamp["project"] = _digest(PROJECT_FILES)
    return stamp


def _digest(names: "list[str]") -> str:
    # The path is part of it: scripts in an environment hold the path they were made for.
    digest = hashlib.sha256(ROOT.encode())
    for name in names:
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def _read_stamp(folder: str) -> "dict[str, str]":
    try:
        with open(os.path.join(folder, ".stamp"), encoding="utf-8") as file:
            return dict(line.split() for line in file)
    except (OSError, ValueError):
        return {}


def _write_stamp(folder: str, stamp: "dict[str, str]") -> None:
    path = os.path.join(folder, ".stamp")
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.writelines(f"{key} {value}\n" for key, value in sorted(stamp.items()))
    os.replace(path + ".new", path)


def _data_folder() -> str:
    """Return the folder of `GANGLINE_DATA_DIR`, private to its owner, `var` unless said."""
    folder = os.path.abspath(
        os.path.join(ROOT, os.path.expanduser(os.environ.get("GANGLINE_DATA_DIR") or "var"))
    )
    if not os.path.isdir(folder):
        os.makedirs(folder, mode=0o700)
    return folder


def _start_again_with_a_newer_python() -> int:
    import shutil
    import subprocess

    for minor in range(NEWEST_TRIED, MINIMUM[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        # One of pyenv's stand-ins is there for each version that it knows, installed or not.
        if found and subprocess.call([found, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            os.execv(found, [found, "-I", "-S", *sys.argv])
    return _refuse(
        "Gangline needs Python 3.11 or newer, and this machine has only "
        f"Python {sys.version_info[0]}.{sys.version_info[1]}: "
        "please install it (Debian 12 and Ubuntu 24.04: sudo apt-get install python3)."
    )


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
