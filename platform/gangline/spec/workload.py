"""The workload spec. Every field of a distributed training workload is declared here, once.

Every field is optional: None means that nobody said anything, and a policy's or the product's own
default holds. ``master`` is a ReplicaSpec, ``worker`` a WorkerSpec; what only WorkerSpec has exists
once per workload.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from .affinity import NodeRequirement, PodAffinity
from .base import (
    AtLeast,
    Default,
    Guarded,
    ItemKey,
    Only,
    Reads,
    SpecModel,
    Synonyms,
    Ui,
    When,
    WorkloadLevel,
    refused,
)
from .compute import Compute
from .environment import EnvironmentVariable, PullSecret
from .mounts import Storage
from .placement import (
    NodePoolName,
    NodeType,
    PriorityClassName,
    Toleration,
)
from .probes import Probes
from .reserved import AnnotationValue, LabelValue, MetadataKey
from .security import Security
from .shapes import (
    from_names,
    named_tolerations,
    names_schema,
    node_affinity,
    node_affinity_schema,
    node_requirements,
    shown_tools,
    to_names,
)
from .slurm import Slurm
from .tools import ExposedPort, ExposedUrl, RelatedUrl, read_tools
from .types import (
    AbsolutePath,
    Arguments,
    Command,
    Duration,
    Image,
    NetworkInterface,
)

MOST_METADATA = 4096
MINUTE, DAY = 60, 24 * 60 * 60
INTERACTIVE = "interactive"
WAITING = "sleep infinity"
"""What the pods of an interactive session run where nobody says what."""
_PROGRAMS = ("PyTorch", "TF", "XGBoost", "MPI", "JAX", "MXNet")
"""Frameworks whose processes Gangline starts: the others have no command."""


class Label(SpecModel):
    """https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/"""

    name: Annotated[MetadataKey, Ui("Name", placeholder="team")]
    value: Annotated[LabelValue, Ui("Value", placeholder="vision")]


class Annotation(SpecModel):
    """https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/"""

    name: Annotated[MetadataKey, Ui("Name", placeholder="purpose")]
    value: Annotated[AnnotationValue, Ui("Value", placeholder="ablation of the warm-up")]


def _small_enough(items: list[Label | Annotation] | None) -> list[Label | Annotation] | None:
    size = sum(len(item.name) + len(item.value.encode()) for item in items or ())
    if size > MOST_METADATA:
        raise refused(
            f"must take at most {MOST_METADATA} bytes together, and take {size}",
            "fewer or shorter entries",
        )
    return items


class ReplicaSpec(SpecModel):
    """What a worker and a master may each have."""

    image: Annotated[
        Image | None,
        Ui(
            "Image",
            help="A container image, or local:// and the name of a runtime of this machine.",
            section="environment",
            placeholder="registry.local/ddp:1.4",
        ),
        Guarded(),
    ] = None
    image_pull_policy: Annotated[
        Literal["Always", "IfNotPresent", "Never"] | None,
        Ui(
            "Image pull policy",
            help="When a node fetches the image. Empty: Always for latest, else IfNotPresent.",
            section="environment",
        ),
    ] = None
    image_pull_secrets: Annotated[
        list[PullSecret] | None,
        Field(max_length=16),
        Ui(
            "Image pull secrets",
            help="Secrets of the project’s namespace with the login of a registry.",
            section="environment",
            flag="image-pull-secret",
            item="pull secret",
            advanced=True,
        ),
        ItemKey("name"),
        Reads(from_names),
    ] = None
    command: Annotated[
        Command | None,
        Ui(
            "Command",
            help="Runs directly, without a shell: no pipes, && or wildcards.",
            section="environment",
            placeholder="python train.py",
        ),
    ] = None
    args: Annotated[
        Arguments | None,
        Ui(
            "Arguments",
            help="Added after the command.",
            section="environment",
            placeholder="--epochs 10",
        ),
    ] = None
    working_dir: Annotated[
        AbsolutePath | None,
        Ui(
            "Working directory",
            help="Where the command starts. Empty: the image's own, or the run folder.",
            section="environment",
            placeholder="/workspace",
        ),
    ] = None
    environment_variables: Annotated[
        list[EnvironmentVariable] | None,
        Field(max_length=200),
        Ui(
            "Environment variables",
            help="$(NAME) in a value stands for another variable.",
            section="environment",
            flag="env",
            item="environment variable",
        ),
        ItemKey("name"),
    ] = None
    stdin: Annotated[
        bool | None,
        Ui(
            "Standard input",
            help="Keeps it open, so that a person can attach.",
            section="environment",
            advanced=True,
        ),
    ] = None
    tty: Annotated[
        bool | None,
        Ui(
            "Terminal",
            help="Gives the command a terminal. Needs standard input.",
            section="environment",
            advanced=True,
        ),
        When("stdin", (True,)),
    ] = None
    exposed_urls: Annotated[
        list[ExposedUrl] | None,
        Field(max_length=8),
        Ui(
            "Tools",
            help="Programs of the workload that people open in a browser. The command starts them;"
            " $(GANGLINE_TOOL_PORT_TENSORBOARD) is the port for one named tensorboard.",
            section="environment",
            flag="exposed-url",
            item="tool",
        ),
        ItemKey("name"),
        Reads(read_tools, shown_tools, keeps_items=True),
    ] = None
    ports: Annotated[
        list[ExposedPort] | None,
        Field(max_length=8),
        Ui(
            "Ports of tools",
            help="Opened by the cluster to everyone who can reach it: no sign-in protects them.",
            section="environment",
            flag="port",
            item="port",
            advanced=True,
        ),
        ItemKey("name"),
        Reads(read_tools),
    ] = None
    related_urls: Annotated[
        list[RelatedUrl] | None,
        Field(max_length=8),
        Ui(
            "Related pages",
            help="Links on the page of the workload. ${NAME} stands for an environment variable.",
            section="environment",
            flag="related-url",
            item="page",
            advanced=True,
        ),
        ItemKey("name"),
    ] = None
    create_home_dir: Annotated[
        bool | None,
        Ui(
            "Home folder of its own",
            help="Empty, writable, and gone with the pod. HOME names it.",
            section="environment",
            advanced=True,
        ),
    ] = None
    restart_policy: Annotated[
        Literal["Never", "OnFailure", "Always"] | None,
        Ui(
            "Restarts within the pod",
            help="Whether the cluster starts an ended program again in its pod, as often as Retries"
            " says. Empty: never; a retry then starts the whole workload again.",
            section="general",
            words={"Never": "Never", "OnFailure": "After a failure", "Always": "Always"},
            advanced=True,
        ),
    ] = None
    category: Annotated[
        LabelValue | None,
        Ui(
            "Category",
            help="What the workload is for. Pods have it as the label gangline.dev/category.",
            section="general",
            placeholder="Train",
            advanced=True,
        ),
    ] = None
    security: Annotated[Security, Guarded()] = Field(default_factory=Security)
    probes: Probes = Field(default_factory=Probes)
    compute: Compute = Field(default_factory=Compute)
    node_pools: Annotated[
        list[NodePoolName] | None,
        Field(max_length=16),
        Ui(
            "Node pools",
            help="Pods run in one of these; the first that has room is preferred.",
            section="compute",
            flag="node-pools",
            item="node pool",
        ),
        ItemKey("name"),
        Reads(from_names, to_names, names_schema(16)),
    ] = None
    node_type: Annotated[
        NodeType | None,
        Ui(
            "Node type",
            help="Only nodes of this type, which their label says.",
            section="compute",
            placeholder="p5.48xlarge",
        ),
    ] = None
    node_affinity_required: Annotated[
        list[NodeRequirement] | None,
        Field(max_length=16),
        Ui(
            "Node affinity",
            help="Only nodes whose labels fulfil every requirement.",
            section="compute",
            flag="node-affinity",
            item="requirement",
        ),
        ItemKey("key"),
        Reads(node_requirements, node_affinity, node_affinity_schema(16)),
    ] = None
    pod_affinity: PodAffinity = Field(default_factory=PodAffinity)
    tolerations: Annotated[
        list[Toleration] | None,
        Field(max_length=32),
        Ui(
            "Tolerations",
            help="Lets pods run on nodes that a taint keeps free for others.",
            section="compute",
            flag="toleration",
            item="toleration",
        ),
        Reads(named_tolerations),
        ItemKey("name"),
    ] = None
    storage: Storage = Field(default_factory=Storage)
    labels: Annotated[
        list[Label] | None,
        Field(max_length=32),
        AfterValidator(_small_enough),
        Ui(
            "Labels",
            help="Put on every pod. Where pods are processes of one machine: in GANGLINE_LABELS.",
            section="general",
            flag="label",
            item="label",
        ),
        ItemKey("name"),
    ] = None
    annotations: Annotated[
        list[Annotation] | None,
        Field(max_length=32),
        AfterValidator(_small_enough),
        Ui(
            "Annotations",
            help="Put on every pod; local processes find them in GANGLINE_ANNOTATIONS.",
            section="general",
            flag="annotation",
            item="annotation",
        ),
        ItemKey("name"),
    ] = None


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
            help="They keep the parameters. Empty: as many as workers.",
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
            help="The workload is stopped when it has run for so long. Empty: no limit.",
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
            help="The workload is stopped when nobody has used a terminal or a tool of it for so"
            " long. Empty: no limit.",
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
            help="An elastic workload goes on with so many.",
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
            help="An elastic workload may grow to so many.",
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
            help="A PriorityClass of the cluster. Empty: the cluster's own default.",
            section="general",
            placeholder="high",
        ),
        WorkloadLevel(has_twin=True),
    ] = None
    preemptibility: Annotated[
        Literal["preemptible", "non-preemptible"] | None,
        Ui(
            "Preemptibility",
            help="Preemptible: may use what others leave free, and gives way when they claim it. "
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
            help="It does not wait for a new place when others claim the one it has.",
            section="general",
            advanced=True,
        ),
        WorkloadLevel(has_twin=True),
    ] = None
    clean_pod_policy: Annotated[
        Literal["Running", "All", "None"] | None,
        Ui(
            "Pods to delete after the end",
            help="Empty: those that still run.",
            section="general",
            words={"Running": "Those that still run", "All": "All", "None": "None"},
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
            help="Where the pods of the image look for them.",
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
            help="The one that replicas talk over, such as ib0: told to NCCL, gloo, Horovod and"
            " MXNet. Empty: they choose.",
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
            help="Time after the end when the workload is deleted; 0 deletes it at once.",
            section="general",
            flag="delete-after",
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
