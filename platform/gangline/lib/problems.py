"""What is wrong with a value: a code, where, and what a sentence needs.

It is the same in the form, the API, policies, checks and dry runs. Sentences are made at the edge,
from the code and its parameters by `wording`; nothing parses them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from enum import StrEnum
from math import isfinite
from typing import Any, Literal

from pydantic import ValidationError

from .wording import WORDS

LONGEST_SHOWN = 120
LONGEST_SENT = 1000
_LARGEST_EXACT = 10**15
Severity = Literal["error", "warning"]


class Role(StrEnum):
    """Half of a workload that a value or a problem belongs to."""

    WORKLOAD = "workload"
    WORKER = "worker"
    MASTER = "master"


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a value is refused, or deserves a look (R31).

    ``code`` is the rule that is broken, as the API calls it, and behind a colon, where one rule
    is broken in several ways, the way: ``cluster:no_class``.

    ``path`` names the field as the model calls it; rows of a part are counted by their index *as
    sent* (``quotas.2.gpus``); empty: the whole object. In a workload it is relative to ``role``.

    ``params`` holds what a sentence needs: the ``value`` and what would be ``accepted``; the
    ``key`` of an item; the ``label`` of the field; the ``hint`` of an administrator; what
    ``also`` says the same value. ``raw`` is a sentence of another program or of Django, shown in
    place of our words for the code.
    ``source`` is the scope that set a rule.
    """

    code: str
    path: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "error"
    source: str = ""
    role: Role = Role.WORKLOAD

    @classmethod
    def of(
        cls,
        role: Role,
        path: str,
        code: str,
        *,
        source: str = "",
        **params: Any,
    ) -> "Problem":
        """One of a workload; parameters without a value are left out."""
        given = {name: one for name, one in params.items() if one is not None and one != ""}
        return cls(code, path, given, source=source, role=role)

    @property
    def rule(self) -> str:
        """The code as the API calls it."""
        return self.code.partition(":")[0]

    @property
    def message(self) -> str:
        """A predicate without field or source and without a full stop: "must be at most 4"."""
        words = self.params.get("raw")
        if not words:
            words = WORDS.get(self.code, self.code).format_map(_Shown(self.params))
        return str(words).removesuffix(".")

    @property
    def remedy(self) -> str:
        """What to do about it: of another program, or by the words for ``<code>.remedy``."""
        if raw := self.params.get("remedy"):
            return str(raw)
        return WORDS.get(f"{self.code}.remedy", "").format_map(_Shown(self.params))

    @property
    def told(self) -> str:
        """The predicate as a sentence of its own, with what to do about it."""
        stop = "" if self.message.endswith(("!", "?", "…")) else "."
        return f"{self.message}{stop}{f' {self.remedy}' if self.remedy else ''}"

    @property
    def value(self) -> Any:
        return self.params.get("value")

    @property
    def accepted(self) -> str:
        return str(self.params.get("accepted", ""))

    @property
    def key(self) -> str:
        return str(self.params.get("key", ""))

    @property
    def label(self) -> str:
        return str(self.params.get("label", ""))

    @property
    def hint(self) -> str:
        """What the administrator who set the rule tells about it, as they wrote it."""
        return str(self.params.get("hint", ""))

    @property
    def sentence(self) -> str:
        """The whole sentence for a screen: label, predicate, who set the rule, what was entered."""
        by = f" (set by {self.source})" if self.source else ""
        also = f", {self.params['also']}" if self.params.get("also") else ""
        entered = "" if self.value in (None, "") else f" You entered {shown(self.value)}{also}."
        hint = f" {self.hint}" if self.hint else ""
        said = f"{self.label or self.path or 'This'} {self.message}{by}"
        end = "" if said.endswith("?") else "."
        return f"{said}{end}{entered}{hint}"

    @property
    def field_id(self) -> str:
        """``worker.compute.gpuDevicesRequest``: the test id of the field without its prefix."""
        return f"{self.role}.{self.path}" if self.path else str(self.role)

    def as_dict(self, path: str | None = None) -> dict[str, Any]:
        """The problem as JSON, whatever was sent; ``path`` is the wire's, if that differs."""
        found = {
            "role": str(self.role),
            "path": self.path if path is None else path,
            "rule": self.rule,
            "message": self.message,
            "value": _json_safe(self.value),
            "accepted": self.accepted,
            "source": self.source,
            "key": self.key,
            "label": self.label,
        }
        return found | ({"hint": self.hint} if self.hint else {})

    def as_stored(self) -> dict[str, Any]:
        """The problem itself as JSON: `from_stored` gives it back."""
        parts = {name: getattr(self, name) for name in _PARTS}
        return parts | {"params": {name: _json_safe(one) for name, one in self.params.items()}}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> "Problem":
        parts = {name: stored[name] for name in _PARTS}
        return cls(**parts | {"role": Role(stored["role"])}, params=stored["params"])

    def at(self, **changes: Any) -> "Problem":
        """The same with other parts or parameters."""
        parts = {name: changes.pop(name) for name in _PARTS if name in changes}
        return replace(self, **parts, params={**self.params, **changes})

    def cleaned(self, clean: Callable[[str], str]) -> "Problem":
        """The same with ``clean`` applied to every text in it that is not ours."""
        params = {k: clean(v) if isinstance(v, str) else v for k, v in self.params.items()}
        return replace(self, params=params)


_PARTS = frozenset(part.name for part in fields(Problem)) - {"params"}


class _Shown(dict[str, Any]):
    """Parameters as a sentence has them: what was entered is fit to be shown."""

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        return shown(found) if name == "value" else found

    def __missing__(self, name: str) -> str:
        return ""


class Refused(Exception):
    """Values that cannot be stored, with every reason."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{p.path}: {p.message}" for p in problems))
        self.problems = problems


def unknown_fields(names: Iterable[Any], known: Iterable[str], at: str = "") -> list[Problem]:
    """One for each name that stands where no field is. ``at``: the path of the object."""
    allowed, found = list(known), []
    for name in names:
        if name not in allowed:
            close = get_close_matches(str(name), allowed, n=1)
            code, accepted = ("unknown:close", close) if close else ("unknown:among", allowed)
            path = f"{at}.{str(name)[:60]}".removeprefix(".")
            found.append(Problem(code, path, {"accepted": ", ".join(accepted)}))
    return found


def under(prefix: str, problems: list[Problem]) -> Iterator[Problem]:
    """The same problems one level deeper: ``gpus`` → ``quotas.2.gpus``."""
    for one in problems:
        yield replace(one, path=f"{prefix}.{one.path}" if one.path else prefix)


def of_model(error: ValidationError, *, by_alias: Mapping[str, str] | None = None) -> list[Problem]:
    """The errors of a pydantic model as problems; ``by_alias``: its own name of each alias."""
    names = by_alias or {}
    found = []
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        steps = [names.get(str(step), str(step)) for step in one["loc"]]
        found.append(Problem(one["type"], ".".join(steps), {"raw": one["msg"]}))
    return found


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
