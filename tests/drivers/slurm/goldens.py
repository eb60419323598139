"""The batch script of each framework, as files to read and to compare.

`python -m tests.drivers.slurm.goldens` writes them anew.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gangline.drivers.base import Submission
from gangline.drivers.slurm import rendering, script
from gangline.spec.catalogue import catalogue
from gangline.spec.frameworks import PROGRAMS, WORKERS_AND_MASTER, WORKERS_ONLY
from gangline.spec.launcher_commands import LAUNCHER_CHOICES
from gangline.spec.slurm import OWN_SCRIPT
from gangline.spec.typed import typed
from gangline.spec.workload import ReplicaSpec, WorkerSpec

FOLDER = Path(__file__).with_name("golden")
WORKER: Mapping[str, Any] = {
    "command": "python train.py",
    "args": "--epochs 10 --port $(MASTER_PORT)",
    "environmentVariables": [{"name": "NCCL_DEBUG", "value": "INFO"}],
    "compute.cpuCoreRequest": 4,
    "compute.cpuMemoryRequest": "8Gi",
    "compute.gpuDevicesRequest": 2,
}
FULL: Mapping[str, Any] = {
    "workingDir": "/shared/vision/my runs",
    "createHomeDir": True,
    "category": "Train",
    "labels": [{"name": "team", "value": "vision"}],
    "annotations": [{"name": "purpose", "value": 'it\'s a "test"'}],
    "nodePools": [{"name": "default"}, {"name": "fast"}, {"name": "slow"}],
    "nodeType": "a100",
    "terminationGracePeriodSeconds": 120,
    "slurm.account": "team-b",
    "slurm.qos": "normal",
    "slurm.timeLimit": 5400,
    "slurm.reservation": "spring",
    "slurm.gpuType": "a100",
    "slurm.modules": [{"name": "cuda/12.4"}],
    "slurm.options": [
        {"name": "licenses", "value": "matlab:1"},
        {"name": "mail-user", "value": "ada@example.org"},
        {"name": "exclusive"},
    ],
    "environmentVariables": [
        {"name": "KEY", "secret": {"name": "hub", "key": "token"}},
        {"name": "PLACE", "value": "$(HOME)/x $$(HOME) $(no name)"},
    ],
}
CONTAINED: Mapping[str, Any] = {
    "image": "registry.example:5000/vision/train:1.4",
    "workingDir": "/code/src",
    "storage.git": [
        {
            "name": "code",
            "path": "/code",
            "repository": "https://git.example/team/code",
            "branch": "main",
            "secretRef": {"name": "password-git"},
        }
    ],
    "storage.s3": [{"name": "sets", "path": "/sets", "bucket": "datasets"}],
    "storage.hostPath": [{"name": "shared", "path": "/shared/it's here", "mountPath": "/shared"}],
    "storage.nfs": [
        {"name": "lab", "server": "nfs.example", "path": "/exports/sets", "mountPath": "/lab"}
    ],
    "storage.secretVolume": [
        {"name": "keys", "secret": "genericsecret-keys", "mountPath": "/keys"}
    ],
    "storage.emptyDirVolume": [{"name": "cache", "path": "/cache"}],
    "storage.pvc": [
        {"name": "work", "path": "/work", "ephemeral": True, "claimInfo": {"size": "10G"}}
    ],
}
OWN_MASTER: Mapping[str, Any] = {
    "command": "python lead.py",
    "compute.cpuCoreRequest": 1,
    "compute.cpuMemoryRequest": "2Gi",
}


def submission(
    framework: str,
    configuration: str,
    *,
    master: Mapping[str, Any] | None = None,
    **more: Any,
) -> Submission:
    """Three workers, and a master like them unless it has values of its own."""
    worker = {**WORKER, **more}
    if framework == "MPI" and "launcher" not in more:
        worker["command"] = "mpirun python train.py"
    kept = {p: v for p, v in worker.items() if p in catalogue(ReplicaSpec)}
    has_master = configuration == WORKERS_AND_MASTER
    return Submission(
        name="digits",
        project="vision",
        framework=framework,
        configuration=configuration,
        num_workers=3,
        worker=typed(WorkerSpec, worker),
        master=typed(ReplicaSpec, kept if master is None else dict(master)) if has_master else None,
        identifiers={"GANGLINE_WORKLOAD": "digits", "GANGLINE_PROJECT": "vision"},
        node_pools={
            "default": ("", ""),
            "fast": (rendering.PARTITION, "fast"),
            "slow": (rendering.PARTITION, "slow"),
        },
    )


OWN = """#!/bin/bash -l
#SBATCH --nodes=2
#SBATCH --array=1-9
cd {{ folder }}
cat <<GANGLINE
it's $HOME
GANGLINE
srun python ex7.py --epochs {{ epochs = 10 }}
"""


def own_script(text: str = OWN, **more: Any) -> Submission:
    """Two nodes of two tasks each. What its lines say was read before."""
    worker = {
        "slurm.script": text,
        "slurm.values": [{"name": "folder", "value": "/shared/ex7"}],
        "slurm.tasksPerNode": 2,
        **{path: value for path, value in WORKER.items() if path not in ("command", "args")},
        **more,
    }
    return Submission(
        name="ex7", project="vision", framework=OWN_SCRIPT, configuration=WORKERS_ONLY,
        num_workers=2, worker=typed(WorkerSpec, worker), master=None,
        identifiers={"GANGLINE_WORKLOAD": "ex7", "GANGLINE_PROJECT": "vision"},
    )  # fmt: skip


def all_of_them() -> Iterator[tuple[str, str]]:
    """File name and text of each."""
    for framework in PROGRAMS.values():
        for configuration in framework.configurations:
            made = submission(framework.name, configuration)
            yield f"{framework.name.lower()}-{configuration}.sh", text(made)
    own = submission("PyTorch", WORKERS_AND_MASTER, master=OWN_MASTER)
    yield "pytorch-ownMaster.sh", text(own)
    for launcher in LAUNCHER_CHOICES:
        made = submission("MPI", WORKERS_AND_MASTER, launcher=launcher)
        yield f"mpi-{launcher}.sh", text(made)
    defaults = rendering.Defaults("team-a", "high", "spring", "1-12:00:00", ("python/3.11", "cuda"))
    yield "defaults.sh", text(own, defaults)
    yield "own-script.sh", text(own_script())
    yield "container.sh", text(submission("PyTorch", WORKERS_AND_MASTER, **CONTAINED))
    yield "full.sh", text(submission("PyTorch", WORKERS_AND_MASTER, **FULL))


def text(made: Submission, defaults: rendering.Defaults = rendering.NO_DEFAULTS) -> str:
    return script.script(rendering.render(made, defaults))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.sh"):
        old.unlink()
    for name, written in all_of_them():
        (FOLDER / name).write_text(written)
