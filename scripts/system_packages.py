"""Debian packages that the tests need: what is missing, and how to install it.

Usage: `python3 scripts/system_packages.py` installs what is missing when it runs as root, and else
prints the command that does. Only the standard library is used.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SYSTEM_PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Part:
    """Something outside Python that tests marked `needs_<name>` cannot do without."""

    name: str
    packages: tuple[str, ...]
    is_there: Callable[[], bool]
    command: tuple[str, ...] = ()
    """What builds it, once its packages are installed; run in the root of the work tree."""

    @property
    def advice(self) -> str:
        """What to do to get it, as the end of a sentence."""
        if self.command:
            return f"run {shlex.join(self.command)}"
        return f"install {' '.join(self.packages)}"


def postgres_programs() -> Path | None:
    """Return the folder with `initdb` and `postgres` of the newest installed PostgreSQL."""
    found = sorted(
        (path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()),
        key=lambda path: int(path.parent.name.partition(".")[0]),
    )
    if found:
        return found[-1]
    initdb = shutil.which("initdb")
    return Path(initdb).resolve().parent if initdb else None


def chromium_program() -> str | None:
    """Return the browser that the tests drive."""
    return shutil.which("chromium")


def _has(program: str) -> Callable[[], bool]:
    return lambda: shutil.which(program) is not None


def _has_daemon(program: str) -> bool:
    # Where daemons lie is not in everybody's PATH.
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin") is not None


def _slurm_is_there() -> bool:
    # Slurm starts the ranks of Open MPI with a library that it opens by its name for developers.
    has_pmix = any(Path("/usr/lib").glob("*/libpmix.so")) or any(
        Path("/usr/lib").glob("*/pmix2/lib/libpmix.so")
    )
    return has_pmix and all(map(_has_daemon, ("slurmctld", "slurmd", "munged", "sbatch")))


def _slurmdbd_is_there() -> bool:
    return all(map(_has_daemon, ("slurmdbd", "mariadbd", "mariadb-install-db")))


def _system_python_has_torch() -> bool:
    look = (
        "import importlib.util as u, sys; "
        "sys.exit(not all(u.find_spec(n) for n in ('torch', 'numpy')))"
    )
    return Path(SYSTEM_PYTHON).exists() and _succeeds([SYSTEM_PYTHON, "-c", look])


def _kubernetes_is_built() -> bool:
    if os.environ.get("GANGLINE_TEST_KUBECONFIG"):
        return True
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    from tests.beds.kubernetes import building, components

    is_built = building.is_built(components.TESTED)
    return is_built and all(map(shutil.which, ("openssl", "setpriv")))


def _s3_is_built() -> bool:
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    from tests.beds.kubernetes import building, components

    return building.is_built(components.S3)


def _identity_provider_is_installed() -> bool:
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    from tests.support.oidc import installing

    return installing.is_installed()


def _bubblewrap_works() -> bool:
    # Installed is not enough: some machines forbid the namespaces that it makes.
    wrap = ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-pid"]
    return shutil.which("bwrap") is not None and _succeeds([*wrap, "true"])


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


PARTS = {
    part.name: part
    for part in (
        Part("chromium", ("chromium", "fonts-dejavu-core"), lambda: chromium_program() is not None),
        Part("redis", ("redis-server",), _has("redis-server")),
        Part("postgres", ("postgresql",), lambda: postgres_programs() is not None),
        Part("mpi", ("openmpi-bin",), _has("mpirun")),
        Part("torch", ("python3-torch", "python3-numpy"), _system_python_has_torch),
        Part("cc", ("gcc", "libc6-dev"), _has("cc")),
        Part("bwrap", ("bubblewrap",), _bubblewrap_works),
        Part(
            "kubernetes",
            ("openssl",),
            _kubernetes_is_built,
            command=("make", "bed-build", "WITH=jobset volcano"),
        ),
        Part(
            "oidc",
            ("npm",),
            _identity_provider_is_installed,
            command=(sys.executable, "-m", "tests.support.oidc.installing"),
        ),
        Part("s3", (), _s3_is_built, command=("make", "bed-build", "WITH=s3")),
        Part(
            "slurm",
            (
                "slurmctld",
                "slurmd",
                "slurm-client",
                "slurm-wlm-basic-plugins",
                "munge",
                "libpmix-dev",
            ),
            _slurm_is_there,
        ),
        Part("slurmdbd", ("slurmdbd", "mariadb-server"), _slurmdbd_is_there),
        Part("sshd", ("openssh-server", "openssh-client"), lambda: _has_daemon("sshd")),
        Part("registry", ("docker-registry",), _has("docker-registry")),
    )
}


def missing_parts(names: Iterable[str] = PARTS) -> list[str]:
    """Return the names of the parts that are not here."""
    return [name for name in names if not PARTS[name].is_there()]


def install_command(names: Iterable[str]) -> list[str]:
    """Return the command that installs these parts, for root."""
    packages = sorted({package for name in names for package in PARTS[name].packages})
    return ["apt-get", "install", "--yes", "--no-install-recommends", *packages]


def how_to_get(names: Iterable[str]) -> list[str]:
    """Return the commands that bring these parts here, for a person to run."""
    packages = [name for name in names if lacks_packages(PARTS[name])]
    steps = [f"sudo {' '.join(install_command(packages))}"] if packages else []
    return steps + [shlex.join(PARTS[name].command) for name in names if PARTS[name].command]


def lacks_packages(part: Part) -> bool:
    """Tell whether Debian packages of this part that is not here have to be installed."""
    # The packages that a part is built or run with are named like their programs.
    return not part.command or not all(map(shutil.which, part.packages))


def can_install() -> bool:
    """Tell whether this process may install Debian packages."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def ensure(names: Iterable[str] = PARTS, *, builds: bool = True) -> list[str]:
    """Install what is missing if that is allowed, build it too unless told; return the rest."""
    missing = missing_parts(names)
    packages = [name for name in missing if lacks_packages(PARTS[name])]
    if packages and can_install():
        _install(packages)
    elif packages:
        print(f"Not installed here, and only root may install it: {', '.join(packages)}.")
        print(f"  sudo {' '.join(install_command(packages))}", flush=True)
    for name in missing if builds else ():
        if PARTS[name].command and not lacks_packages(PARTS[name]):
            print(f"Building what the tests need: {name}.", flush=True)
            subprocess.run(PARTS[name].command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False)
    still = missing_parts(missing)
    if "bwrap" in still and shutil.which("bwrap"):
        print("bubblewrap is installed, but this machine does not let it make namespaces.")
    return still


def _install(names: list[str]) -> None:
    print(f"Installing what the tests need: {', '.join(names)}.", flush=True)
    quietly = ["-qq", "-o", "DPkg::Lock::Timeout=120", "-o", "Dpkg::Use-Pty=0"]
    for command in (["apt-get", "update"], install_command(names)):
        done = subprocess.run(
            [command[0], *quietly, *command[1:]],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode != 0:
            print(f"This did not work: {' '.join(command)}", flush=True)
            return


def main() -> int:
    """Install or name what is missing; the exit code says whether something still is."""
    missing = ensure()
    if not missing:
        print(f"Everything that the tests need is here: {', '.join(PARTS)}.")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
