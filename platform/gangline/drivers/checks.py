"""The steps of a connection check: what was looked at, how it is, and what to do about it."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

REACHABILITY = "Reachability"
"""The step after which a cluster has answered at all."""
PERMISSIONS = "Permissions"
"""The step about the rights of the credential."""


class State(StrEnum):
    """How a step ended."""

    OK = "ok"
    WARNING = "warning"
    """Gangline works with it; an administrator should know."""
    FAILED = "failed"
    SKIPPED = "skipped"


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


Tell = Callable[[Step], None]
"""Gets each step as soon as it is known."""


def tell_nobody(step: Step) -> None:
    """For a check whose steps are not shown."""
