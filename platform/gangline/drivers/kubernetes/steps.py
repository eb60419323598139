"""One step of a connection check: what was looked at, how it is, and what to do about it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """How a step ended."""

    OK = "ok"
    WARNING = "warning"
    """Gangline works with it; somebody should know."""
    FAILED = "failed"
    SKIPPED = "skipped"


class StepName(StrEnum):
    """Every step of a check in its order, by the name that people see."""

    REACHABILITY = "Reachability"
    CERTIFICATE = "Certificate"
    IDENTITY = "Identity"
    VERSION = "Version"
    CLOCK = "Clock"
    PERMISSIONS = "Permissions"
    OPERATORS = "Operators"
    SCHEDULER = "Scheduler"
    STORAGE = "Storage classes"
    NODES = "Nodes and GPUs"


REQUIRED = frozenset(
    {StepName.REACHABILITY, StepName.CERTIFICATE, StepName.IDENTITY, StepName.VERSION}
)
"""Without these nothing else can be known, and the cluster counts as unreachable."""


@dataclass(frozen=True, slots=True)
class Step:
    """``sentence`` says what was found, ``fix`` what to do, ``copy`` is text to run or to apply."""

    name: str
    state: State
    sentence: str
    fix: str = ""
    copy: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"state": self.state.value}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Step":
        return cls(**{**stored, "state": State(stored["state"])})
