"""What nodes a pod may run on by their labels, and what its pods shall have in common.

https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
"""

import re
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from .base import SpecModel, Ui, When, refused
from .placement import ItemName, QualifiedKey
from .shapes import MOST_TERMS, name_may_be_left_out
from .types import Format

REQUIRED, PREFERRED = "Required", "Preferred"
_VALUE = re.compile(r"[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_SETS, _NUMBERS = ("In", "NotIn"), ("Gt", "Lt")


def label_values(text: str) -> list[str]:
    """``us-east-1a, us-east-1b`` as a list. No value of a label has a comma or a blank."""
    return [value for value in re.split(r"[,\s]+", text) if value]


def _values_problem(text: str) -> str | None:
    if all(map(_VALUE.fullmatch, label_values(text))) or _INTEGER.fullmatch(text.strip()):
        return None
    return (
        "must be values of labels: up to 63 letters, digits, “-”, “_” or “.”, with commas between"
    )


LabelValues = Annotated[
    str,
    Field(max_length=2048),
    Format("label-values", "values with commas between, such as a, b", _values_problem),
]


class NodeRequirement(SpecModel):
    """What the labels of a node must fulfil: every requirement of at least one ``term`` holds.

    ``values`` are separated by commas. Without a term it belongs to the first.
    """

    model_config = ConfigDict(json_schema_extra=name_may_be_left_out)

    key: Annotated[QualifiedKey, Ui("Label", placeholder="Label: disk/type")]
    operator: Annotated[
        Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"], Ui("Operator")
    ]
    values: Annotated[
        LabelValues | None,
        Field(validate_default=True),
        Ui("Values", placeholder="Values: a, b"),
    ] = None
    term: Annotated[
        int | None,
        Field(ge=1, le=MOST_TERMS),
        Ui(
            "Alternative",
            help="Nodes fulfil all requirements of one alternative. Empty: the first.",
            placeholder="Alternative: 1",
        ),
    ] = None
    name: Annotated[ItemName, Ui("Name", placeholder="Name (from the label)")]

    @field_validator("values")
    @classmethod
    def _fit_the_operator(cls, value: str | None, info: ValidationInfo) -> str | None:
        operator, values = info.data.get("operator"), label_values(value or "")
        if operator in _SETS and not values:
            raise refused(f"is required: the operator {operator} compares with values",
                          "one or more values with commas between")  # fmt: skip
        if operator in _NUMBERS and not (len(values) == 1 and _INTEGER.fullmatch(values[0])):
            raise refused(f"must be one whole number: the operator {operator} compares numbers",
                          "one whole number")  # fmt: skip
        if operator in ("Exists", "DoesNotExist") and values:
            raise refused(f"must be empty: the operator {operator} compares nothing", "no value")
        return value


class PodAffinity(SpecModel):
    """Pods of the workload run on nodes with one value of a label. Called topology by people."""

    key: Annotated[
        QualifiedKey | None,
        Ui(
            "Topology",
            help="Pods run on nodes that have this label with one value, such as one zone.",
            section="compute",
            placeholder="topology.kubernetes.io/zone",
            flag="topology",
        ),
        When("type", is_required=True),
    ] = None
    type: Annotated[
        Literal["Required", "Preferred"] | None,
        Ui(
            "Topology rule",
            help="Required: pods wait until it is possible. Preferred: as far as possible.",
            section="compute",
            flag="topology-type",
        ),
    ] = None
