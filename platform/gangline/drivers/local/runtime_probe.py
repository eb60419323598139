"""Program that looks at a runtime from inside: its source is run by the runtime's own Python.

Standard library and old syntax only. Prints one line of JSON. Heavy packages are found, not
imported; only PyTorch is, since what it was built with cannot be known otherwise.
"""

import importlib.metadata
import importlib.util
import json
import platform
import re
import shutil
import subprocess
import sys

DISTRIBUTIONS = {
    "torch": ("torch",),
    "tensorflow": ("tensorflow", "tensorflow-cpu"),
    "jax": ("jax",),
    "xgboost": ("xgboost", "xgboost-cpu"),
    "mpi4py": ("mpi4py",),
    "horovod": ("horovod",),
    "mxnet": ("mxnet",),
}


def version_of(distributions: "tuple[str, ...]") -> str:
    for name in distributions:
        try:
            # What follows a plus names a build, such as Debian's "+gitunknown".
            return importlib.metadata.version(name).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def mpirun_version() -> "str | None":
    program = shutil.which("mpirun")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    return re.sub(r"^mpirun \((.+)\)", r"\1", lines[0].strip()) if lines else None


def is_installed(module: str) -> bool:
    spec = importlib.util.find_spec(module)
    # A folder that happens to have the name is found too, but has no origin.
    return spec is not None and spec.origin is not None


def main() -> None:
    packages = {
        module: version_of(distributions)
        for module, distributions in DISTRIBUTIONS.items()
        if is_installed(module)
    }
    capabilities = {"gloo": False, "nccl": False}
    broken = {}
    if "torch" in packages:
        # A broken build fails in many ways, and each is an answer, not an end.
        try:
            distributed = importlib.import_module("torch.distributed")
            if distributed.is_available():
                capabilities["gloo"] = hasattr(distributed, "ProcessGroupGloo")
                capabilities["nccl"] = bool(distributed.is_nccl_available())
        except Exception as problem:  # noqa: BLE001
            broken["torch"] = f"{type(problem).__name__}: {problem}"[:200]
    found = {
        "python_version": platform.python_version(),
        "packages": packages,
        "capabilities": capabilities,
        "broken": broken,
        "mpirun_version": mpirun_version(),
    }
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
