"""Where a pod may run on a cluster, and what it asks of a node beyond CPUs, memory and GPUs."""

import re
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from .base import SpecModel, Ui, refused
from .reserved import LabelValue
from .types import Format

LONGEST_SECONDS = 7 * 24 * 60 * 60
_KEY = re.compile(
    r"(?:[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?"
)
_NAME = re.compile(r"[A-Za-z0-9](?:[-._ A-Za-z0-9]{0,61}[A-Za-z0-9])?")


def _key_problem(text: str) -> str | None:
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
    Format("qualified-key", "a key such as dedicated or nvidia.com/gpu", _key_problem),
]


class Toleration(SpecModel):
    """https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/"""

    name: Annotated[ItemName, Ui("Name", placeholder="Name, such as gpu nodes")]
    key: Annotated[QualifiedKey, Ui("Key", placeholder="Key, such as dedicated")]
    operator: Annotated[Literal["Equal", "Exists"], Ui("Operator")]
    value: Annotated[LabelValue | None, Ui("Value", placeholder="Value, for Equal")] = None
    effect: Annotated[Literal["NoSchedule", "NoExecute", "PreferNoSchedule", "Any"], Ui("Effect")]
    seconds: Annotated[
        int | None,
        Field(ge=1, le=LONGEST_SECONDS),
        Ui("Seconds", placeholder="Seconds, for NoExecute"),
    ] = None

    @field_validator("value")
    @classmethod
    def _only_to_compare(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value and info.data.get("operator") == "Exists":
            raise refused("must be empty: the operator Exists compares nothing", "no value")
        return value

    @field_validator("seconds")
    @classmethod
    def _only_before_eviction(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is not None and info.data.get("effect") not in (None, "NoExecute"):
            raise refused("must be empty: only the effect NoExecute ends pods", "no value")
        return value
