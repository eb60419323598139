"""The policy document: what an administrator may write, and where in the text it stands (R23)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gangline.lib.yaml_text import LONGEST, Path, UnreadableYaml, YamlDocument, read
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.problems import Role, shown
from gangline.spec.types import quantity_bytes
from gangline.spec.values import nest, size, validate
from gangline.spec.words import accepted, did_you_mean, must_be, one_of
from gangline.spec.workload import SPEC, SpecModels

_ANY = ("required", "canEdit", "blocked")
_NUMERIC = (*_ANY, "min", "max", "step", "defaultFrom")
RULES_BY_KIND: Mapping[Kind, tuple[str, ...]] = {
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
_ALL_RULES = frozenset(rule for rules in RULES_BY_KIND.values() for rule in rules)
_NOT_YET = frozenset({"imposedAssets"})
_OF_A_LIST = ("instances", "attributes")
_HALVES = (Role.WORKER, Role.MASTER)


@dataclass(frozen=True, slots=True)
class PolicyProblem:
    """One thing that is wrong in a policy document. ``line`` counts from 1; 0: no line of it."""

    line: int
    path: str
    message: str
    suggestion: str = ""

    def __str__(self) -> str:
        place = f"Line {self.line}: " if self.line else ""
        about = f"{self.path} " if self.path else ""
        return f"{place}{about}{self.message}.{f' {self.suggestion}' if self.suggestion else ''}"


class InvalidPolicy(ValueError):
    """A policy document that cannot be used, with everything that is wrong in it."""

    def __init__(self, problems: Sequence[PolicyProblem]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
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
    """A default as written. Of a list: its items, and ``item_lines`` says where each stands.

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
    attributes: Mapping[str, "RuleSet"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RoleRules:
    """Defaults and rules for one half of the workload, by path."""

    defaults: Mapping[str, GivenDefault]
    rules: Mapping[str, RuleSet]


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """One administrator's document, checked against the fields that exist."""

    worker: RoleRules
    master: RoleRules

    def half(self, role: Role) -> RoleRules:
        return self.master if role is Role.MASTER else self.worker


def fields_of(models: SpecModels, role: Role) -> Mapping[str, SpecField]:
    """The fields that a half of a policy can rule."""
    return catalogue(models.master if role is Role.MASTER else models.worker)


def parse(text: str | bytes, models: SpecModels = SPEC) -> PolicyDocument:
    """Read a policy. Raises InvalidPolicy with every problem of the document."""
    try:
        document = read(text, longest=LONGEST)
    except UnreadableYaml as error:
        raise InvalidPolicy(
            [PolicyProblem(error.line, "", error.message, error.suggestion)]
        ) from error
    reader = _Reader(document, models)
    halves = {role: RoleRules(reader.defaults[role], reader.rules[role]) for role in _HALVES}
    if reader.problems:
        raise InvalidPolicy(sorted(reader.problems, key=lambda problem: problem.line))
    return PolicyDocument(halves[Role.WORKER], halves[Role.MASTER])


class _Reader:
    """Walks one document and collects what it says and what is wrong with it."""

    def __init__(self, document: YamlDocument, models: SpecModels) -> None:
        self._document, self._models = document, models
        self.problems: list[PolicyProblem] = []
        self.defaults: dict[Role, dict[str, GivenDefault]] = {role: {} for role in _HALVES}
        self.rules: dict[Role, dict[str, RuleSet]] = {role: {} for role in _HALVES}
        for key, value in document.data.items():
            if key in ("defaults", "rules"):
                self._top((key,), value)
            else:
                self._unknown((key,), ("defaults", "rules"))

    def _wrong(self, at: Path, message: str, suggestion: str = "") -> None:
        line = self._document.line(at)
        self.problems.append(PolicyProblem(line, ".".join(map(str, at)), message, suggestion))

    def _unknown(self, at: Path, known: Sequence[str]) -> None:
        name = str(at[-1])
        if name in _NOT_YET:
            return self._wrong(at, "is not supported yet", "Remove it.")
        meant = did_you_mean(name, known)
        return self._wrong(at, "is not known", f"Did you mean “{meant}”?" if meant else "")

    def _object(self, at: Path, value: Any) -> dict[str, Any]:
        """``value`` if it is an object; null stands for an empty one."""
        if value is not None and not isinstance(value, dict):
            self._wrong(at, "must be an object")
        return value if isinstance(value, dict) else {}

    def _top(self, at: Path, value: Any) -> None:
        sections = self._object(at, value)
        halves = [name for name in sections if name in _HALVES]
        if not halves:
            self._section(at, sections, "", _HALVES)
        for name, section in sections.items():
            if name in halves:
                self._section((*at, name), self._object((*at, name), section), "", (Role(name),))
            elif halves:
                self._wrong((*at, name), "must stand under worker or master, as the rest does")

    def _section(
        self, at: Path, section: Mapping[str, Any], prefix: str, roles: Sequence[Role]
    ) -> None:
        """Fields of one half, or of a flat document, whose fields hold for both halves."""
        fields = fields_of(self._models, roles[0])
        for name, value in section.items():
            path, here = f"{prefix}{name}", (*at, name)
            if path in fields and "." not in name:
                self._field(here, fields[path], value, roles)
            elif any(known.startswith(f"{path}.") for known in fields) and "." not in name:
                self._section(here, self._object(here, value), f"{path}.", roles)
            elif path in fields_of(self._models, Role.WORKER) and "." not in name:
                self._wrong(here, "has one value for the whole workload", "Move it to worker.")
            else:
                self._unknown(here, _names(fields, prefix))

    def _field(self, at: Path, field: SpecField, value: Any, roles: Sequence[Role]) -> None:
        if value is None:
            return
        if at[0] == "defaults":
            default = self._default(at, field, value)
            target: dict[Role, dict[str, Any]] = dict(self.defaults)
            found: Any = default
        else:
            found, target = self._rule_set(at, field, value), dict(self.rules)
        for role in roles:
            if found is not None and field.path in fields_of(self._models, role):
                target[role][field.path] = found

    def _default(self, at: Path, field: SpecField, value: Any) -> GivenDefault | None:
        if field.kind is not Kind.ITEMIZED:
            said = field.canonical(value)
            good = self._valid(at, field, said)
            return GivenDefault(said, self._document.line(at)) if good else None
        stated, here = self._of_a_list(at, value), (*at, "instances")
        items = field.canonical(stated.get("instances"))
        attributes: dict[str, GivenDefault] = {}
        for inside, attribute, one in self._attributes(at, field, stated):
            if self._fits(inside, field, attribute, one):
                attributes[attribute.path] = GivenDefault(one, self._document.line(inside))
        if items is not None and not self._valid(here, field, items):
            return None
        if items is None and not attributes:
            return None
        lines = tuple(self._document.line((*here, index)) for index in range(len(items or ())))
        return GivenDefault(items or [], self._document.line(at), lines, attributes)

    def _of_a_list(self, at: Path, value: Any) -> dict[str, Any]:
        stated = self._object(at, value)
        for name in stated:
            if name not in _OF_A_LIST:
                self._unknown((*at, name), _OF_A_LIST)
        return stated

    def _attributes(
        self, at: Path, field: SpecField, stated: Mapping[str, Any]
    ) -> Iterator[tuple[Path, SpecField, Any]]:
        """What is said of the attributes of a list, each with its place."""
        known = {attribute.path: attribute for attribute in field.items}

        def inside(at: Path, section: Mapping[str, Any], prefix: str) -> Iterator[Any]:
            for name, value in section.items():
                path, here = f"{prefix}{name}", (*at, name)
                if path in known and "." not in name:
                    if value is not None:
                        yield here, known[path], value
                elif any(one.startswith(f"{path}.") for one in known):
                    yield from inside(here, self._object(here, value), f"{path}.")
                else:
                    self._unknown(here, _names(known, prefix))

        place = (*at, "attributes")
        yield from inside(place, self._object(place, stated.get("attributes")), "")

    def _fits(self, at: Path, field: SpecField, attribute: SpecField, value: Any) -> bool:
        """Whether the spec takes ``value`` for an attribute; says why not.

        What an item lacks beside it is not the matter here.
        """
        item = nest({attribute.path: value})
        values, place = {field.path: [item]}, f"{field.path}.0.{attribute.path}"
        found = validate(self._models.worker, Role.WORKER, values, is_whole=False)
        wrong = [problem for problem in found if problem.path == place]
        for problem in wrong:
            self._wrong(at, f"{problem.message}, not {shown(value)}")
        return not wrong

    def _valid(self, at: Path, field: SpecField, value: Any, of: SpecField | None = None) -> bool:
        """Whether the spec takes ``value``; says why not. ``of``: the list of an attribute."""
        if of is not None:
            return self._fits(at, of, field, value)
        problems = validate(self._models.worker, Role.WORKER, {field.path: value}, is_whole=False)
        for problem in problems:
            inside = problem.path[len(field.path) + 1 :].split(".")
            where = (
                *at,
                *(
                    int(part) if part.isascii() and part.isdigit() else part
                    for part in inside
                    if part
                ),
            )
            self._wrong(where, f"{problem.message}, not {shown(value)}" if not inside[0]
                        else problem.message)  # fmt: skip
        return not problems

    def _rule_set(self, at: Path, field: SpecField, value: Any) -> RuleSet | None:
        if field.kind is not Kind.ITEMIZED:
            siblings = fields_of(self._models, Role.WORKER)
            return self._rules_of(at, field, self._object(at, value), siblings)
        stated, here = self._of_a_list(at, value), (*at, "instances")
        siblings = {attribute.path: attribute for attribute in field.items}
        attributes = {
            attribute.path: rules
            for inside, attribute, one in self._attributes(at, field, stated)
            if (rules := self._rules_of(inside, attribute, self._object(inside, one), siblings,
                                        of=field)) is not None
        }  # fmt: skip
        own = self._rules_of(here, field, self._object(here, stated.get("instances")), {})
        if own is None and not attributes:
            return None
        return replace(own or RuleSet({}, {}), attributes=attributes)

    def _rules_of(
        self,
        at: Path,
        field: SpecField,
        stated: Mapping[str, Any],
        siblings: Mapping[str, SpecField],
        of: SpecField | None = None,
    ) -> RuleSet | None:
        kinds = dict(self._kinds(at, field, stated, siblings, of))
        overridable = kinds.pop("overridable", False)
        if overridable and field.guarded:
            self._wrong((*at, "overridable"), "is not allowed for this field", "Remove it.")
        self._check_bounds(at, field, kinds)
        lines = {kind: self._document.line((*at, kind)) for kind in kinds}
        return RuleSet(kinds, lines, overridable) if kinds else None

    def _kinds(
        self,
        at: Path,
        field: SpecField,
        stated: Mapping[str, Any],
        siblings: Mapping[str, SpecField],
        of: SpecField | None,
    ) -> Iterator[tuple[str, Any]]:
        known = (*RULES_BY_KIND[field.kind], "overridable")
        for kind, value in stated.items():
            here = (*at, kind)
            if kind not in known:
                if kind in _ALL_RULES:
                    rules = one_of(RULES_BY_KIND[field.kind])
                    self._wrong(here, "does not apply to this field", f"It takes {rules}.")
                else:
                    self._unknown(here, known)
            elif value is not None:
                read_value = (
                    self._computed(here, field, value, siblings)
                    if kind == "defaultFrom"
                    else self._rule_value(here, field, kind, value, of)
                )
                if read_value is not None:
                    yield kind, read_value

    def _computed(
        self, at: Path, field: SpecField, value: Any, siblings: Mapping[str, SpecField]
    ) -> Computed | None:
        """Another number of the same section, so that nothing is computed from itself."""
        stated = self._object(at, value)
        for name in stated:
            if name not in ("field", "factor"):
                self._unknown((*at, name), ("field", "factor"))
        path, factor = stated.get("field"), stated.get("factor", 1)
        other = siblings.get(path) if isinstance(path, str) else None
        is_size = field.kind is Kind.QUANTITY
        if (
            other is None
            or other is field
            or not other.kind.is_numeric
            or (other.kind is Kind.QUANTITY) != is_size
            or _section_of(other) != _section_of(field)
        ):
            fit = [p for p, s in siblings.items() if s is not field and s.kind.is_numeric
                   and (s.kind is Kind.QUANTITY) == is_size
                   and _section_of(s) == _section_of(field)]  # fmt: skip
            said = f", not {shown(path)}" if path is not None else ""
            self._wrong((*at, "field"), f"must be {one_of(fit) or 'another number'}{said}")
            return None
        if isinstance(factor, bool) or not isinstance(factor, int | float) or factor <= 0:
            self._wrong((*at, "factor"), f"must be a number above 0, not {shown(factor)}")
            return None
        return Computed(other.path, factor)

    def _rule_value(
        self, at: Path, field: SpecField, kind: str, value: Any, of: SpecField | None
    ) -> Any:
        """The value of one rule, or None when it is of the wrong type."""
        if kind in ("min", "max", "step"):
            return self._bound(at, field, kind, value)
        if kind == "options":
            return self._options(at, field, value, of)
        if kind == "locked":
            good = isinstance(value, list) and all(isinstance(key, str) for key in value)
            if not good:
                self._wrong(at, "must be a list of names")
            return tuple(value) if good else None
        if not isinstance(value, bool):
            self._wrong(at, f"must be true or false, not {shown(value)}")
            return None
        return value

    def _bound(self, at: Path, field: SpecField, kind: str, value: Any) -> Any:
        if field.kind is Kind.QUANTITY:
            try:
                quantity_bytes(value if isinstance(value, str) else "")
            except ValueError:
                self._wrong(at, f"must be a size such as 512M or 16Gi, not {shown(value)}")
                return None
            return value
        types = (int, float) if field.kind is Kind.NUMBER else (int,)
        if isinstance(value, bool) or not isinstance(value, types):
            self._wrong(at, f"must be {must_be(field)}, not {shown(value)}")
            return None
        if kind == "step" and value <= 0:
            self._wrong(at, "must be more than 0")
            return None
        return value

    def _options(
        self, at: Path, field: SpecField, value: Any, of: SpecField | None
    ) -> tuple[Option, ...] | None:
        if not isinstance(value, list) or not value:
            self._wrong(at, "must be a list with at least one value")
            return None
        found: dict[str, Option] = {}
        for index, entry in enumerate(value):
            option = self._option((*at, index), field, entry, of)
            if option is not None and option.value in found:
                self._wrong((*at, index), f"names {shown(option.value)} twice")
            elif option is not None:
                found[option.value] = option
        return tuple(found.values()) or None

    def _option(
        self, at: Path, field: SpecField, entry: Any, of: SpecField | None
    ) -> Option | None:
        stated = entry if isinstance(entry, dict) else {"value": entry}
        for name in stated:
            if name not in ("value", "displayed"):
                self._unknown((*at, name), ("value", "displayed"))
        value, displayed = field.canonical(stated.get("value")), stated.get("displayed")
        if displayed is not None and not isinstance(displayed, str):
            self._wrong((*at, "displayed"), "must be a text")
        if value is None:
            self._wrong(at, "needs a value")
            return None
        good = self._valid(at, field, value, of)
        return Option(value, displayed if isinstance(displayed, str) else "") if good else None

    def _check_bounds(self, at: Path, field: SpecField, kinds: Mapping[str, Any]) -> None:
        low, high = kinds.get("min"), kinds.get("max")
        if low is not None and high is not None and size(field, low) > size(field, high):
            self._wrong((*at, "max"), f"must be at least the min, {low}")
        for name, bound in (("min", low), ("max", high)):
            if bound is not None and not _reachable(field, name, bound):
                self._wrong((*at, name), f"leaves no value: the field takes {accepted(field)}")


def _reachable(field: SpecField, name: str, bound: Any) -> bool:
    """Whether a bound leaves any value that the field itself takes."""
    if field.maximum is None or (field.minimum is None and field.exclusive_minimum is None):
        return True
    if name == "min":
        return bool(size(field, bound) <= size(field, field.maximum))
    if field.exclusive_minimum is not None:
        return bool(bound > field.exclusive_minimum)
    return bool(size(field, bound) >= size(field, field.minimum))


def _section_of(field: SpecField) -> str:
    """The object that it stands in, such as ``compute``."""
    return field.path.rpartition(".")[0]


def _names(fields: Mapping[str, SpecField], prefix: str) -> list[str]:
    inside = (path[len(prefix) :] for path in fields if path.startswith(prefix))
    return list(dict.fromkeys(path.split(".")[0] for path in inside))
