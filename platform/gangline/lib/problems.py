"""What is wrong with a value: a code, where, and what a sentence needs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import ValidationError

Severity = Literal["error", "warning"]
_WORDS: dict[str, str] = {}


def register_words(words: Mapping[str, str]) -> None:
    """Say what codes mean: ``must be at most {max}``, with the parameters of a problem."""
    _WORDS.update(words)


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a value is refused, or deserves a look.

    ``path`` names the field as the model calls it; rows of a part are counted
    (``quotas.2.gpus``); empty: the whole object. ``params`` holds the ``value`` and what was
    ``accepted``; ``raw`` is a whole sentence of another program or of Django, shown and never
    parsed.
    """

    code: str
    path: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "error"
    source: str = ""

    @property
    def message(self) -> str:
        if raw := self.params.get("raw"):
            return str(raw)
        words = _WORDS.get(self.code)
        return self.code if words is None else words.format_map(self.params)

    @property
    def remedy(self) -> str:
        """What to do about it: of another program, or by the words for ``<code>.remedy``."""
        if raw := self.params.get("remedy"):
            return str(raw)
        return _WORDS.get(f"{self.code}.remedy", "").format_map(self.params)

    def as_dict(self, path: str | None = None) -> dict[str, Any]:
        """The problem as JSON; ``path`` replaces the model's name by the wire's."""
        found: dict[str, Any] = {
            "path": self.path if path is None else path,
            "rule": self.code,
            "message": self.message,
        }
        if "value" in self.params:
            found["value"] = self.params["value"]
        return found | ({"source": self.source} if self.source else {})


class Refused(Exception):
    """Values that cannot be stored, with every reason."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{p.path}: {p.message}" for p in problems))
        self.problems = problems


def under(prefix: str, problems: list[Problem]) -> Iterator[Problem]:
    """The same problems one level deeper: ``gpus`` → ``quotas.2.gpus``."""
    for one in problems:
        path = f"{prefix}.{one.path}" if one.path else prefix
        yield Problem(one.code, path, one.params, one.severity, one.source)


def of_model(error: ValidationError, *, by_alias: Mapping[str, str] | None = None) -> list[Problem]:
    """The errors of a pydantic model as problems; ``by_alias``: its own name of each alias."""
    names = by_alias or {}
    found = []
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        steps = [names.get(str(step), str(step)) for step in one["loc"]]
        found.append(Problem(one["type"], ".".join(steps), {"raw": f"{one['msg']}."}))
    return found
