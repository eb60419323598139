"""What the check looks at beside Slurm itself: file system, containers, programs, frameworks.

All of it is looked at on the login node, with the modules that every job loads; few sites have
others on the nodes, and a job that misses something there says so.
"""

from collections.abc import Mapping, Sequence

from gangline.drivers.checks import State
from gangline.spec.frameworks import FRAMEWORKS

from . import containers
from .commands import quoted

SHARED = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "fhgfs", "gfs2", "glusterfs", "gpfs", "lustre",
        "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "pvfs2", "quobyte", "smb2", "virtiofs",
        "wekafs",
    }
)  # fmt: skip
"""File systems that several machines see."""
PROGRAMS = ("git", "rclone", "aws", "mpirun", "horovodrun", "nvidia-smi", "enroot", "flock")
LIBRARIES: Mapping[str, Sequence[str]] = {
    "torch": ("PyTorch",),
    "tensorflow": ("TF",),
    "xgboost": ("XGBoost",),
    "jax": ("JAX",),
    "mxnet": ("MXNet",),
    "mpi4py": ("MPI",),
    "horovod": ("Horovod",),
}
"""Packages of Python, and the frameworks that a program needs them for."""
_FIND = "import importlib.util as u, sys; print(*(n for n in sys.argv[1:] if u.find_spec(n)))"
Found = tuple[State, str, str]
"""State, sentence and what to do."""


def file_system(kind: str, free: str) -> Found:
    """Of the folder for runs, by what `df -T` calls it."""
    if kind in SHARED or kind.startswith(("fuse.", "nfs")):
        return State.OK, f"{kind}, {free} free.", ""
    says = f"It is a disk of the login node ({kind or 'unknown'}), {free} free."
    return State.WARNING, says, "Choose a folder that compute nodes see at the same path."


def loaded(modules: Sequence[str], program: str) -> str:
    """The program, in a shell with the modules that every job loads."""
    if not modules:
        return program
    load = f"module load {' '.join(map(quoted, modules))} > /dev/null 2>&1"
    # A login shell begins with a PATH of its own.
    return f'timeout 20 bash -lc {quoted(f"PATH=$PATH:$1; {load}; {program}")} - "$PATH"'


LOOK = (
    f"for p in {' '.join(PROGRAMS)}; do ! command -v $p > /dev/null || echo program $p; done;"
    " echo mpi $(srun --mpi=list 2>&1 | tr '\\n' ' ');"
    f" echo libraries $(python3 -c {quoted(_FIND)} {' '.join(LIBRARIES)} 2> /dev/null)"
)


def container(found: str) -> Found:
    if found == containers.PYXIS:
        return State.OK, "pyxis: Slurm starts containers itself.", ""
    if found:
        return State.OK, f"{found} runs images on the nodes.", ""
    says = "None: programs run on the nodes as they are, without images."
    return State.SKIPPED, says, "For images install apptainer, or pyxis and enroot, on all nodes."


def frameworks(libraries: Sequence[str], programs: Sequence[str], mpi: str) -> Found:
    """What python3 of the login node has; an environment of one's own may have any other."""
    names = sorted({name for one in libraries for name in LIBRARIES.get(one, ())} & set(FRAMEWORKS))
    ways = ["mpirun"] if "mpirun" in programs else []
    ways += ["srun with pmix"] if "pmix" in mpi else []
    says = (
        f"Python there has {', '.join(names) or 'none of them'}."
        f" MPI is started by {' or '.join(ways) or 'nothing'}."
    )
    if names or ways:
        return State.OK, says, ""
    fix = "Name modules that have them, or let commands name an interpreter that does."
    return State.WARNING, says, fix


def controller_fix(said: str) -> str:
    """What to do about a controller that does not answer, by what its programs say."""
    words = said.lower()
    if "munge" in words or "authentication" in words:
        return "Start munged on the login node, with the same key as on the controller."
    if "unable to contact" in words or "timed out" in words or "refused" in words:
        return "Run scontrol ping to see whether slurmctld is up and can be reached from here."
    if "config" in words or "resolve" in words:
        return "Name the slurm.conf of the cluster in its settings."
    return "Try squeue as this account on the login node."
