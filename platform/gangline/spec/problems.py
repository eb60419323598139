"""What is wrong with a submission, said the same way in the form, the API and the CLI."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from math import isfinite
from typing import Any

LONGEST_SHOWN = 120
LONGEST_SENT = 1000
_LARGEST_EXACT = 10**15


class Role(StrEnum):
    """Half of a workload that a value or a problem belongs to."""

    WORKLOAD = "workload"
    WORKER = "worker"
    MASTER = "master"


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why values cannot be submitted (R31).

    ``path`` is relative to the role; an item of a list stands in it by its index *as sent*
    (``environmentVariables.2.name``) and ``key`` then names the item. ``message`` is a predicate
    without field or source: "must be at most 4".
    """

    role: Role
    path: str
    rule: str
    message: str
    value: Any = None
    accepted: str = ""
    source: str = ""
    key: str = ""
    label: str = ""
    hint: str = ""
    """What the administrator who set the rule tells about it, as they wrote it."""

    @property
    def sentence(self) -> str:
        """The whole sentence for a screen: label, predicate, who set the rule, what was entered."""
        by = f" (set by {self.source})" if self.source else ""
        entered = "" if self.value in (None, "") else f" You entered {shown(self.value)}."
        hint = f" {self.hint}" if self.hint else ""
        return f"{self.label or self.path or 'This'} {self.message}{by}.{entered}{hint}"

    @property
    def field_id(self) -> str:
        """``worker.compute.gpuDevicesRequest``: the test id of the field without its prefix."""
        return f"{self.role}.{self.path}" if self.path else str(self.role)

    def as_dict(self) -> dict[str, Any]:
        """The problem as JSON. Always serialisable, whatever was sent."""
        plain = {part.name: getattr(self, part.name) for part in fields(self)}
        return {**plain, "role": str(self.role), "value": _json_safe(self.value)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Problem":
        """The problem that ``as_dict`` wrote."""
        known = {part.name: stored[part.name] for part in fields(cls) if part.name in stored}
        return cls(**{**known, "role": Role(stored["role"])})

    def at(self, **changes: Any) -> "Problem":
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Advice:
    """What may be submitted as it is, and may well disappoint: a whole sentence.

    ``path`` is as that of a Problem.
    """

    role: Role
    path: str
    sentence: str


def shown(value: Any) -> str:
    """``value`` as people are told it: short, and with control characters made visible."""
    text = str(_plain(value))
    visible = "".join(c if c.isprintable() else _escaped(c) for c in text[:LONGEST_SHOWN])
    cut = len(text) > LONGEST_SHOWN or len(visible) > LONGEST_SHOWN
    return f"{visible[: LONGEST_SHOWN - 3]}…" if cut else visible


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _plain(value: Any) -> Any:
    """A short scalar for any JSON value; walks into no deep one and prints no huge one."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() if abs(value) >= _LARGEST_EXACT:
            return f"a number of {_digits(value)} digits"
        case list():
            return f"a list of {len(value)} items" if len(value) != 1 else "a list of 1 item"
        case dict():
            return "an object"
        case None | str() | int() | float():
            return value
        case _:
            return f"a {type(value).__name__}"


def _digits(number: int) -> int:
    # str() of an integer of over 4,300 digits raises; this is right to within one digit.
    return abs(number).bit_length() * 30103 // 100000 + 1


def _json_safe(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        cut = value if len(value) <= LONGEST_SENT else f"{value[:LONGEST_SENT]}…"
        return cut.encode(errors="backslashreplace").decode()
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return _plain(value)


class InvalidSpec(Exception):
    """A submission with problems. All of them, not the first."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{p.field_id}: {p.message}" for p in problems))
        self.problems = problems
