"""The workload spec. Every field of a distributed training workload is declared here, once.

Every field is optional: None means that nobody said anything, and a policy's or the product's own
default holds. ``master`` is a ReplicaSpec, ``worker`` a WorkerSpec; what only WorkerSpec has exists
once per workload.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from .base import (
    AtLeast,
    Default,
    Only,
    SpecModel,
    Synonyms,
    Ui,
    When,
    WorkloadLevel,
)
from .frameworks import PROGRAMS
from .placement import PriorityClassName
from .replica import ReplicaSpec
from .slurm import Slurm
from .types import (
    AbsolutePath,
    Duration,
    NetworkInterface,
)

__all__ = ["INTERACTIVE", "SPEC", "WAITING", "ReplicaSpec", "SpecModels", "WorkerSpec"]

MINUTE, DAY = 60, 24 * 60 * 60
INTERACTIVE = "interactive"
WAITING = "sleep infinity"
"""The default command of the pods of an interactive session."""
_PROGRAMS = tuple(PROGRAMS)
"""Frameworks whose processes Gangline starts: the others have no command."""


class WorkerSpec(ReplicaSpec):
    """The workers, and what only exists once per workload."""

    distributed_framework: Annotated[
        Literal["PyTorch", "TF", "XGBoost", "MPI", "JAX", "MXNet", "Script"] | None,
        Ui("Framework", section="setup", flag="framework"),
        Default("PyTorch"),
        Synonyms({"TensorFlow": "TF"}),
        WorkloadLevel(),
    ] = None
    num_workers: Annotated[
        int | None,
        Field(ge=1, le=9999),
        Ui("Number of workers", section="compute", unit="pods", flag="workers"),
        AtLeast("minReplicas"),
        Default(1),
        WorkloadLevel(),
    ] = None
    num_servers: Annotated[
        int | None,
        Field(ge=1, le=9999),
        Ui(
            "Number of servers",
            help="They hold the parameters. Empty: as many as workers.",
            section="compute",
            unit="pods",
            flag="servers",
        ),
        Only(("MXNet",)),
        WorkloadLevel(),
    ] = None
    launcher: Annotated[
        Literal["mpirun", "horovodrun", "srun", "gloo"] | None,
        Ui(
            "Launcher",
            help="Starts the command as the ranks, one for each slot of a worker."
            " Empty: the command starts them itself.",
            section="environment",
            words={"gloo": "Horovod over Gloo, without SSH or MPI"},
        ),
        Only(("MPI",)),
        WorkloadLevel(),
    ] = None
    interactive: Annotated[
        bool | None,
        Ui(
            "Interactive session",
            help="The pods start and wait for people to work in their terminals: they run the"
            " command, or sleep where there is none.",
            section="environment",
            redraws=True,
        ),
        Only(_PROGRAMS),
        WorkloadLevel(),
    ] = None
    session_time_limit_seconds: Annotated[
        Duration | None,
        Field(ge=MINUTE, le=366 * DAY),
        Ui(
            "Longest session",
            help="The workload is stopped when it has run for this long. Empty: no limit.",
            section="environment",
            flag="session-time-limit",
        ),
        When("interactive", (True,)),
        Only(_PROGRAMS),
        WorkloadLevel(),
    ] = None
    session_idle_limit_seconds: Annotated[
        Duration | None,
        Field(ge=MINUTE, le=366 * DAY),
        Ui(
            "Longest pause",
            help=(
                "The workload is stopped when its terminals and tools were not used for this long. "
                "Empty: no limit."
            ),
            section="environment",
            flag="session-idle-limit",
        ),
        When("interactive", (True,)),
        Only(_PROGRAMS),
        WorkloadLevel(),
    ] = None
    min_replicas: Annotated[
        int | None,
        Field(ge=1, le=9999),
        Ui(
            "Fewest workers",
            help="An elastic workload keeps running with this many.",
            section="compute",
            unit="pods",
            flag="min-replicas",
            advanced=True,
        ),
        Only(("PyTorch",)),
        WorkloadLevel(),
    ] = None
    max_replicas: Annotated[
        int | None,
        Field(ge=1, le=9999),
        Ui(
            "Most workers",
            help="An elastic workload can grow to this many.",
            section="compute",
            unit="pods",
            flag="max-replicas",
            advanced=True,
        ),
        AtLeast("numWorkers"),
        Only(("PyTorch",)),
        WorkloadLevel(),
    ] = None
    slurm: Slurm = Field(default_factory=Slurm)
    priority_class: Annotated[
        PriorityClassName | None,
        Ui(
            "Priority class",
            help="A class of the cluster or one of Gangline’s own. Empty: the cluster’s default.",
            section="general",
            placeholder="high",
        ),
        WorkloadLevel(has_twin=True),
    ] = None
    preemptibility: Annotated[
        Literal["preemptible", "non-preemptible"] | None,
        Ui(
            "Preemptibility",
            help="Preemptible: may use spare capacity, and is stopped when others claim it. "
            "Empty: by its priority.",
            section="general",
            words={"preemptible": "Preemptible", "non-preemptible": "Non-preemptible"},
            advanced=True,
        ),
        WorkloadLevel(has_twin=True),
    ] = None
    terminate_after_preemption: Annotated[
        bool | None,
        Ui(
            "End after preemption",
            help="It ends instead of waiting for capacity again.",
            section="general",
            advanced=True,
        ),
        WorkloadLevel(has_twin=True),
    ] = None
    clean_pod_policy: Annotated[
        Literal["Running", "All", "None"] | None,
        Ui(
            "Pods to delete after the end",
            help="Empty: the running ones.",
            section="general",
            words={"Running": "Running ones", "All": "All", "None": "None"},
            advanced=True,
        ),
        Only(("PyTorch", "TF", "XGBoost", "MPI", "JAX")),
        WorkloadLevel(),
    ] = None
    slots_per_worker: Annotated[
        int | None,
        Field(ge=1, le=1024),
        Ui(
            "Slots per worker",
            help="Ranks that mpirun may start in each worker. Empty: 1.",
            section="general",
            unit="slots",
            advanced=True,
        ),
        Only(("MPI",)),
        WorkloadLevel(),
    ] = None
    ssh_auth_mount_path: Annotated[
        AbsolutePath | None,
        Ui(
            "Folder of the SSH keys",
            help="Where the image expects them.",
            section="general",
            placeholder="/root/.ssh",
            advanced=True,
        ),
        Only(("MPI",)),
        WorkloadLevel(),
    ] = None
    mpi_launcher_creation_policy: Annotated[
        Literal["AtStartup", "WaitForWorkersReady"] | None,
        Ui(
            "Start of the launcher",
            help="Empty: with the workers.",
            section="general",
            words={
                "AtStartup": "With the workers",
                "WaitForWorkersReady": "When the workers are ready",
            },
            advanced=True,
        ),
        Only(("MPI",)),
        WorkloadLevel(),
    ] = None
    network_interface: Annotated[
        NetworkInterface | None,
        Ui(
            "Network interface",
            help=(
                "The one that replicas communicate over, such as ib0; set for NCCL, gloo, Horovod "
                "and MXNet. Empty: they choose."
            ),
            section="general",
            placeholder="ib0",
            advanced=True,
        ),
        WorkloadLevel(),
    ] = None
    termination_grace_period_seconds: Annotated[
        Duration | None,
        Field(ge=0, le=300),
        Ui(
            "Grace period",
            help="Time between the request to stop and the kill.",
            section="general",
            flag="grace-period",
            advanced=True,
        ),
        Default(30),
        WorkloadLevel(has_twin=True),
    ] = None
    backoff_limit: Annotated[
        int | None,
        Field(ge=0, le=100),
        Ui(
            "Retries",
            help="Further attempts after a failed one.",
            section="general",
            unit="retries",
        ),
        Default(0),
        WorkloadLevel(has_twin=True),
    ] = None
    auto_deletion_time_after_completion_seconds: Annotated[
        Duration | None,
        Field(ge=0, le=3650 * DAY),
        Ui(
            "Auto-deletion",
            help="How long after its end the workload is deleted; 0 deletes it immediately.",
            section="general",
            flag="delete-after",
            advanced=True,
        ),
        Default(30 * DAY),
        WorkloadLevel(has_twin=True),
    ] = None


@dataclass(frozen=True, slots=True)
class SpecModels:
    """The two halves of a spec. Another pair can be given to everything that reads the spec."""

    worker: type[SpecModel] = WorkerSpec
    master: type[SpecModel] = ReplicaSpec


SPEC = SpecModels()
