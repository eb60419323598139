"""The policy document: what an administrator may write, and where in the text it stands (R23)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gangline.lib.problems import Problem
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.problems import Role
from gangline.spec.shares import DEVICES
from gangline.spec.workload import SpecModels

from . import wording

_ANY = ("required", "canEdit", "blocked")
_NUMERIC = (*_ANY, "min", "max", "step", "defaultFrom")
_BY_KIND: Mapping[Kind, tuple[str, ...]] = {
    Kind.BOOLEAN: _ANY,
    Kind.CHOICE: (*_ANY, "options"),
    Kind.INTEGER: _NUMERIC,
    Kind.NUMBER: _NUMERIC,
    Kind.DURATION: _NUMERIC,
    Kind.QUANTITY: (*_ANY, "min", "max", "defaultFrom"),
    Kind.STRING: (*_ANY, "options"),
    Kind.COMMAND: (*_ANY, "options"),
    Kind.ITEMIZED: ("canAdd", "locked", "required"),
}
_BY_FORMAT: Mapping[str, tuple[str, ...]] = {"image": ("registries", "digestRequired")}
_BY_PATH: Mapping[str, tuple[str, ...]] = {DEVICES: ("maxTotal",)}
ALL_RULES = frozenset(
    rule for by in (_BY_KIND, _BY_FORMAT, _BY_PATH) for rules in by.values() for rule in rules
)
HALVES = (Role.WORKER, Role.MASTER)


def rules_of(spec: SpecField, *, in_list: bool = False) -> tuple[str, ...]:
    """The kinds of rule that a field takes; ``in_list``: it is an attribute of the items of one."""
    if spec.is_array:
        return (*_ANY, "options")
    if spec.is_opaque:
        return _ANY
    kinds = (*_BY_KIND[spec.kind], *_BY_PATH.get(spec.path, ()))
    kinds = (*kinds, *_BY_FORMAT.get(spec.format.name if spec.format else "", ()))
    if spec.has_bounds and not spec.kind.is_numeric:
        kinds = (*kinds, "min", "max")
    if in_list and spec.kind is Kind.QUANTITY:
        kinds = (*kinds, "options")
    return tuple(kind for kind in kinds if not (spec.is_voluntary and kind == "required"))


class InvalidPolicy(ValueError):
    """A policy document that cannot be used, with everything that is wrong in it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(wording.sentence, problems)))
        self.problems = list(problems)


@dataclass(frozen=True, slots=True)
class Option:
    """One allowed value and how it is shown."""

    value: str
    displayed: str = ""

    @property
    def label(self) -> str:
        return self.displayed or self.value


@dataclass(frozen=True, slots=True)
class Computed:
    """A default that is another field's value times ``factor``."""

    field: str
    factor: float = 1

    def __str__(self) -> str:
        return f"{self.factor:g} × {self.field}"


@dataclass(frozen=True, slots=True)
class GivenDefault:
    """A default as written. Of a list: its items, and ``item_lines`` has the line of each.

    ``attributes`` are defaults of every item, by attribute.
    """

    value: Any
    line: int = 0
    item_lines: tuple[int, ...] = ()
    attributes: Mapping[str, "GivenDefault"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules one document states for one field, by kind, and the line of each.

    Of a list, ``attributes`` are the rules of every item, by attribute.
    """

    kinds: Mapping[str, Any]
    lines: Mapping[str, int]
    overridable: bool = False
    message: str = ""
    """The message of the administrator for values that break one of them."""
    attributes: Mapping[str, "RuleSet"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RoleRules:
    """Defaults and rules for one half of the workload, by path.

    ``imposed``: the IDs of data sources that every workload gets, each with its line.
    """

    defaults: Mapping[str, GivenDefault]
    rules: Mapping[str, RuleSet]
    imposed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """One administrator's document, checked against the fields that exist."""

    worker: RoleRules
    master: RoleRules
    warnings: tuple[Problem, ...] = ()

    def half(self, role: Role) -> RoleRules:
        return self.master if role is Role.MASTER else self.worker


def fields_of(models: SpecModels, role: Role) -> Mapping[str, SpecField]:
    """The fields that a half of a policy can rule."""
    return catalogue(models.master if role is Role.MASTER else models.worker)


@dataclass(frozen=True, slots=True)
class Imposable:
    """A data source as an item of a list of the spec.

    ``id`` is the asset's, ``path`` the list's, such as ``storage.nfs``.
    """

    id: str
    name: str
    path: str
    item: Mapping[str, Any]
    needs_credential: bool = False
    """A policy cannot impose it: not everybody may use the credential."""
