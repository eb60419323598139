"""Where a pod may run on a cluster, and what it requires of a node beyond CPUs, memory and GPUs."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from .base import SpecModel, Ui, refused
from .reserved import LabelValue
from .shapes import name_may_be_left_out
from .types import Format

LONGEST_SECONDS = 7 * 24 * 60 * 60
_KEY = re.compile(
    r"(?:[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?"
)
_NAME = re.compile(r"[A-Za-z0-9](?:[-._ A-Za-z0-9]{0,61}[A-Za-z0-9])?")


def label_key_problem(text: str) -> str | None:
    if _KEY.fullmatch(text):
        return None
    return "must be a key such as dedicated or nvidia.com/gpu" if text else "must not be empty"


def _name_problem(text: str) -> str | None:
    if _NAME.fullmatch(text):
        return None
    return "must have 1 to 63 letters, digits, spaces, “-”, “_” or “.”, and no other at the ends"


ItemName = Annotated[
    str, Field(max_length=63), Format("item-name", "a name of up to 63 characters", _name_problem)
]
QualifiedKey = Annotated[
    str,
    Field(max_length=317),
    Format("qualified-key", "a key such as dedicated or nvidia.com/gpu", label_key_problem),
]


def _resource_problem(text: str) -> str | None:
    domain, slash, name = text.partition("/")
    if not slash or not _KEY.fullmatch(text) or domain.endswith("kubernetes.io"):
        return "must be a resource of a device plugin, such as rdma/hca"
    return "must not be GPUs: ask for GPU devices" if name == "gpu" else None


def _count_problem(text: str) -> str | None:
    return None if re.fullmatch(r"[1-9][0-9]{0,8}", text) else "must be a whole number above 0"


def _class_problem(text: str) -> str | None:
    if text.startswith("system-"):
        return "must not start with “system-”: such classes are for the cluster itself"
    if re.fullmatch(r"[a-z0-9](?:[-.a-z0-9]{0,61}[a-z0-9])?", text):
        return None
    return "must be the name of a priority class: lowercase letters, digits, “-” and “.”"


def node_type_problem(text: str) -> str | None:
    if re.fullmatch(r"[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?", text):
        return None
    return "must have 1 to 63 letters, digits, “-”, “_” or “.”, with a letter or digit at both ends"


def _pool_problem(text: str) -> str | None:
    if re.fullmatch(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?", text):
        return None
    return "must be the name of a node pool: lowercase letters, digits and “-”"


class NodePoolName(SpecModel):
    """One of the node pools that pods may run in."""

    name: Annotated[
        str,
        Field(max_length=63),
        Format("node-pool", "the name of a node pool of the cluster", _pool_problem),
        Ui("Node pool", placeholder="Node pool: h100"),
    ]


PRIORITIES: Mapping[str, int] = MappingProxyType(
    {
        "very-low": 25,
        "low": 40,
        "medium-low": 65,
        "medium": 80,
        "medium-high": 90,
        "high": 125,
        "very-high": 150,
    }
)
"""The product's own priority classes."""
DEFAULT_PRIORITY = PRIORITIES["low"]
PREEMPTIBLE, NON_PREEMPTIBLE = "preemptible", "non-preemptible"
_LEAST_NON_PREEMPTIBLE = 100


def is_preemptible(said: object, priority: int) -> bool:
    """Whether others may claim its slots: as was said, or by its priority."""
    return said != NON_PREEMPTIBLE if said else priority < _LEAST_NON_PREEMPTIBLE


NodeType = Annotated[
    str, Field(max_length=63), Format("node-type", "a type such as p5.48xlarge", node_type_problem)
]
PriorityClassName = Annotated[
    str,
    Field(max_length=63),
    Format("priority-class", "the name of a priority class of the cluster", _class_problem),
]


class Toleration(SpecModel):
    """https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/"""

    model_config = ConfigDict(json_schema_extra=name_may_be_left_out)

    name: Annotated[ItemName, Ui("Name", placeholder="Name (from the key)")]
    key: Annotated[QualifiedKey, Ui("Key", placeholder="Key: dedicated")]
    operator: Annotated[Literal["Equal", "Exists"], Ui("Operator", words={"Equal": "Equals"})]
    value: Annotated[
        LabelValue | None, Field(validate_default=True), Ui("Value", placeholder="Value")
    ] = None
    effect: Annotated[Literal["NoSchedule", "NoExecute", "PreferNoSchedule", "Any"], Ui("Effect")]
    seconds: Annotated[
        int | None,
        Field(ge=1, le=LONGEST_SECONDS),
        Ui("Seconds", placeholder="Seconds"),
    ] = None

    @field_validator("value")
    @classmethod
    def _only_to_compare(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value and info.data.get("operator") == "Exists":
            raise refused("must be empty: the operator Exists compares nothing", "no value")
        if not value and info.data.get("operator") == "Equal":
            raise refused(
                "is required: the operator Equals compares with a value",
                "a value, or the operator Exists where the taint has none",
            )
        return value

    @field_validator("seconds")
    @classmethod
    def _only_before_eviction(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is not None and info.data.get("effect") not in (None, "NoExecute"):
            raise refused("must be empty: only the effect NoExecute ends pods", "no value")
        return value


class ExtendedResource(SpecModel):
    """https://kubernetes.io/docs/tasks/configure-pod-container/extended-resource/"""

    resource: Annotated[
        str,
        Field(max_length=317),
        Format("extended-resource", "a resource such as rdma/hca", _resource_problem),
        Ui("Resource", placeholder="rdma/hca"),
    ]
    quantity: Annotated[
        str,
        Field(max_length=9),
        Format("count", "a whole number such as 1", _count_problem),
        Ui("Quantity", placeholder="1"),
    ]
