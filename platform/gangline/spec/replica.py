"""What each replica of a workload has: workers, and a master beside them."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from .affinity import NodeRequirement, PodAffinity
from .base import (
    Guarded,
    ItemKey,
    Reads,
    SpecModel,
    Ui,
    When,
    refused,
)
from .compute import Compute
from .environment import EnvironmentVariable, PullSecret
from .mounts import Storage
from .placement import (
    NodePoolName,
    NodeType,
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
from .tools import ExposedPort, ExposedUrl, RelatedUrl, read_tools
from .types import (
    AbsolutePath,
    Arguments,
    Command,
    Image,
)

MOST_METADATA = 4096


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
            help="Empty, writable, and deleted with the pod. HOME points to it.",
            section="environment",
            advanced=True,
        ),
    ] = None
    restart_policy: Annotated[
        Literal["Never", "OnFailure", "Always"] | None,
        Ui(
            "Restarts within the pod",
            help=(
                "Whether the cluster restarts an ended program in its pod, up to the number of "
                "retries. Empty: never; a retry restarts the whole workload."
            ),
            section="general",
            words={"Never": "Never", "OnFailure": "After a failure", "Always": "Always"},
            advanced=True,
        ),
    ] = None
    category: Annotated[
        LabelValue | None,
        Ui(
            "Category",
            help="What the workload is for. Pods get it as the label gangline.dev/category.",
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
            help="Pods run in one of these; the first with room is preferred.",
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
            help="Only nodes with this type in their label.",
            section="compute",
            placeholder="p5.48xlarge",
        ),
    ] = None
    node_affinity_required: Annotated[
        list[NodeRequirement] | None,
        Field(max_length=64),
        Ui(
            "Node affinity",
            help="Only nodes whose labels meet every requirement of one alternative.",
            section="compute",
            flag="node-affinity",
            item="requirement",
        ),
        ItemKey("name"),
        Reads(node_requirements, node_affinity, node_affinity_schema(64)),
    ] = None
    pod_affinity: PodAffinity = Field(default_factory=PodAffinity)
    tolerations: Annotated[
        list[Toleration] | None,
        Field(max_length=32),
        Ui(
            "Tolerations",
            help="Let pods run on nodes with matching taints.",
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
            help="Added to every pod. Local processes find them in GANGLINE_LABELS.",
            section="general",
            flag="label",
            item="label",
            advanced=True,
        ),
        ItemKey("name"),
    ] = None
    annotations: Annotated[
        list[Annotation] | None,
        Field(max_length=32),
        AfterValidator(_small_enough),
        Ui(
            "Annotations",
            help="Added to every pod. Local processes find them in GANGLINE_ANNOTATIONS.",
            section="general",
            flag="annotation",
            item="annotation",
            advanced=True,
        ),
        ItemKey("name"),
    ] = None
