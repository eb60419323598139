"""Parses the text of a policy, with every problem in it and its line."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from gangline.lib.problems import Problem, Severity
from gangline.lib.texts import hidden
from gangline.lib.yaml_text import LONGEST, Path, UnreadableYaml, YamlDocument, read
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.images import registry
from gangline.spec.problems import Role, shown
from gangline.spec.types import quantity_bytes
from gangline.spec.values import nest, size, validate
from gangline.spec.words import accepted, did_you_mean, must_be, one_of
from gangline.spec.workload import SPEC, SpecModels

from .document import (
    ALL_RULES,
    HALVES,
    Computed,
    GivenDefault,
    InvalidPolicy,
    Option,
    PolicyDocument,
    RoleRules,
    RuleSet,
    fields_of,
    rules_of,
)
from .wording import PREFIX, line_of

LONGEST_MESSAGE = 300
MOST_IMPOSED = 50
_TOP = ("defaults", "rules", "imposedAssets")
_OF_A_LIST = ("instances", "attributes")
_BESIDE_RULES = ("overridable", "message")
_SPELT_OTHERWISE = {"userCredentials": "userCredential"}
"""Names of attributes in the rules of the contract, which the items spell otherwise."""


def parse(text: str | bytes, models: SpecModels = SPEC) -> PolicyDocument:
    """Read a policy. Raises InvalidPolicy with every problem of the document."""
    try:
        document = read(text, longest=LONGEST)
    except UnreadableYaml as error:
        about = {"raw": error.message, "line": error.line, "remedy": error.suggestion}
        raise InvalidPolicy([Problem(f"{PREFIX}yaml", "", about)]) from error
    reader = _Reader(document, models)
    wrong = [one for one in reader.problems if one.severity == "error"]
    if wrong:
        raise InvalidPolicy(sorted(wrong, key=line_of))
    halves = {
        role: RoleRules(reader.defaults[role], reader.rules[role], reader.imposed[role])
        for role in HALVES
    }
    return PolicyDocument(halves[Role.WORKER], halves[Role.MASTER], tuple(reader.problems))


class _Reader:
    """Walks one document and collects its rules and its problems."""

    def __init__(self, document: YamlDocument, models: SpecModels) -> None:
        self._document, self._models = document, models
        self.problems: list[Problem] = []
        self.defaults: dict[Role, dict[str, GivenDefault]] = {role: {} for role in HALVES}
        self.rules: dict[Role, dict[str, RuleSet]] = {role: {} for role in HALVES}
        self.imposed: dict[Role, dict[str, int]] = {role: {} for role in HALVES}
        for key, value in document.data.items():
            if key == "imposedAssets":
                self._imposed((key,), value)
            elif key in _TOP:
                self._top((key,), value)
            else:
                self._unknown((key,), _TOP)

    def _wrong(self, at: Path, code: str, severity: Severity = "error", **params: Any) -> None:
        params["line"] = self._document.line(at)
        path = ".".join(map(str, at))
        self.problems.append(Problem(f"{PREFIX}{code}", path, params, severity))

    def _unknown(self, at: Path, known: Sequence[str]) -> None:
        meant = did_you_mean(str(at[-1]), known)
        if meant:
            self._wrong(at, "misspelt", meant=meant)
        else:
            self._wrong(at, "unknown")

    def _object(self, at: Path, value: Any) -> dict[str, Any]:
        """``value`` if it is an object; null stands for an empty one."""
        if value is not None and not isinstance(value, dict):
            self._wrong(at, "object")
        return value if isinstance(value, dict) else {}

    def _imposed(self, at: Path, value: Any) -> None:
        """A list for both halves, or one for each of them."""
        if isinstance(value, list):
            self._ids(at, value, HALVES)
            return
        for name, ids in self._object(at, value).items():
            if name in HALVES:
                self._ids((*at, name), ids, (Role(name),))
            else:
                self._unknown((*at, name), HALVES)

    def _ids(self, at: Path, value: Any, roles: Sequence[Role]) -> None:
        if value is None:
            return
        if not isinstance(value, list) or len(value) > MOST_IMPOSED:
            self._wrong(at, "ids")
            return
        for index, one in enumerate(value):
            here = (*at, index)
            try:
                found = str(UUID(one if isinstance(one, str) else ""))
            except ValueError:
                self._wrong(here, "id", value=shown(one))
                continue
            for role in roles:
                if found in self.imposed[role]:
                    self._wrong(here, "twice", value=found)
                    break
                self.imposed[role][found] = self._document.line(here)

    def _top(self, at: Path, value: Any) -> None:
        sections = self._object(at, value)
        halves = [name for name in sections if name in HALVES]
        if not halves:
            self._section(at, sections, "", HALVES)
        for name, section in sections.items():
            if name in halves:
                self._section((*at, name), self._object((*at, name), section), "", (Role(name),))
            elif halves:
                self._wrong((*at, name), "half")

    def _section(
        self, at: Path, section: Mapping[str, Any], prefix: str, roles: Sequence[Role]
    ) -> None:
        """Fields of one half, or of a flat document, whose fields hold for both halves."""
        fields = fields_of(self._models, roles[0])
        for name, value in section.items():
            path, here = f"{prefix}{name}", (*at, name)
            workers = fields_of(self._models, Role.WORKER)
            if path in fields and "." not in name:
                self._field(here, fields[path], value, roles)
            elif any(known.startswith(f"{path}.") for known in fields) and "." not in name:
                self._section(here, self._object(here, value), f"{path}.", roles)
            elif path in workers and "." not in name:
                self._of_the_workload(here, workers[path], value)
            else:
                self._unknown(here, _names(fields, prefix))

    def _of_the_workload(self, at: Path, field: SpecField, value: Any) -> None:
        """Clients write some of what exists once per workload for the master as well."""
        if not field.has_twin:
            self._wrong(at, "workers_only")
        elif value is not None:
            self._wrong(at, "workload_only", "warning")
            self._field(at, field, value, ())

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
        if not field.is_by_item:
            given = field.canonical(value)
            good = self._valid(at, field, given)
            return GivenDefault(given, self._document.line(at)) if good else None
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
                path, here = f"{prefix}{_SPELT_OTHERWISE.get(name, name)}", (*at, name)
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
        """Whether the spec takes ``value`` for an attribute; adds a problem if not.

        What an item lacks beside it is not the matter here.
        """
        item = nest({attribute.path: value})
        values, place = {field.path: [item]}, f"{field.path}.0.{attribute.path}"
        found = validate(self._models.worker, Role.WORKER, values, is_whole=False)
        wrong = [problem for problem in found if problem.path == place]
        for problem in wrong:
            self._wrong(at, "refused", reason=problem.message, value=shown(value))
        return not wrong

    def _valid(self, at: Path, field: SpecField, value: Any, of: SpecField | None = None) -> bool:
        """Whether the spec takes ``value``; adds a problem if not. ``of``: its list."""
        if of is not None:
            return self._fits(at, of, field, value)
        problems = validate(self._models.worker, Role.WORKER, {field.path: value}, is_whole=False)
        for problem in problems:
            inside = [part for part in problem.path[len(field.path) + 1 :].split(".") if part]
            where = (*at, *(int(p) if p.isascii() and p.isdigit() else p for p in inside))
            if inside:
                self._wrong(where, "refused_item", reason=problem.message)
            else:
                self._wrong(where, "refused", reason=problem.message, value=shown(value))
        return not problems

    def _rule_set(self, at: Path, field: SpecField, value: Any) -> RuleSet | None:
        if not field.is_by_item:
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
        guarded = field.guarded or (of is not None and of.guarded)
        kinds = dict(self._kinds(at, field, stated, siblings, of))
        overridable, message = kinds.pop("overridable", False), kinds.pop("message", "")
        if overridable and guarded:
            self._wrong((*at, "overridable"), "not_overridable")
        if message and not kinds:
            self._wrong((*at, "message"), "alone")
        self._check_bounds(at, field, kinds)
        lines = {kind: self._document.line((*at, kind)) for kind in kinds}
        return RuleSet(kinds, lines, overridable, message) if kinds else None

    def _kinds(
        self,
        at: Path,
        field: SpecField,
        stated: Mapping[str, Any],
        siblings: Mapping[str, SpecField],
        of: SpecField | None,
    ) -> Iterator[tuple[str, Any]]:
        own = rules_of(field, in_list=of is not None)
        known = (*own, *_BESIDE_RULES)
        for kind, value in stated.items():
            here = (*at, kind)
            if kind not in known:
                if kind in ALL_RULES:
                    self._wrong(here, "other_rule", rules=one_of(own))
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
        """A field of the same section, of the same sort of number."""
        stated = self._object(at, value)
        for name in stated:
            if name not in ("field", "factor"):
                self._unknown((*at, name), ("field", "factor"))
        path, factor = stated.get("field"), stated.get("factor", 1)
        fit = {p: s for p, s in siblings.items() if _can_follow(field, s)}
        other = fit.get(path) if isinstance(path, str) else None
        if other is None:
            names = one_of(fit) if fit else "another number"
            code = "sibling" if path is None else "sibling_not"
            self._wrong((*at, "field"), code, accepted=names, value=shown(path))
            return None
        if isinstance(factor, bool) or not isinstance(factor, int | float) or factor <= 0:
            self._wrong((*at, "factor"), "factor", value=shown(factor))
            return None
        return Computed(other.path, factor)

    def _rule_value(
        self, at: Path, field: SpecField, kind: str, value: Any, of: SpecField | None
    ) -> Any:
        """The value of one rule, or None when it is of the wrong type."""
        if kind in ("min", "max", "step", "maxTotal"):
            return self._bound(at, field, kind, value)
        if kind == "options":
            return self._options(at, field, value, of)
        if kind == "registries":
            return self._registries(at, value)
        if kind == "message":
            return self._message(at, value)
        if kind == "locked":
            good = isinstance(value, list) and all(isinstance(key, str) for key in value)
            if not good:
                self._wrong(at, "names")
            return tuple(value) if good else None
        if not isinstance(value, bool):
            self._wrong(at, "boolean", value=shown(value))
            return None
        return value

    def _message(self, at: Path, value: Any) -> str | None:
        if not isinstance(value, str):
            self._wrong(at, "text")
        elif len(value) > LONGEST_MESSAGE:
            self._wrong(at, "too_long", most=LONGEST_MESSAGE)
        elif character := hidden(value):
            self._wrong(at, "characters", character=character)
        else:
            return " ".join(value.split())
        return None

    def _bound(self, at: Path, field: SpecField, kind: str, value: Any) -> Any:
        if field.kind is Kind.QUANTITY:
            try:
                quantity_bytes(value if isinstance(value, str) else "")
            except ValueError:
                self._wrong(at, "size", value=shown(value))
                return None
            return value
        types = (int, float) if field.kind is Kind.NUMBER else (int,)
        if isinstance(value, bool) or not isinstance(value, types):
            noun = must_be(field) if field.kind.is_numeric else "a whole number"
            self._wrong(at, "number", accepted=noun, value=shown(value))
            return None
        if kind == "step" and value <= 0:
            self._wrong(at, "positive")
            return None
        if kind == "maxTotal" and value < 0:
            self._wrong(at, "number", accepted="0 or more", value=value)
            return None
        return value

    def _registries(self, at: Path, value: Any) -> tuple[str, ...] | None:
        if not isinstance(value, list) or not value:
            self._wrong(at, "values")
            return None
        found: list[str] = []
        for index, one in enumerate(value):
            place = registry(one) if isinstance(one, str) else ""
            if not place:
                self._wrong((*at, index), "registry", value=shown(one))
            elif place in found:
                self._wrong((*at, index), "twice", value=place)
            else:
                found.append(place)
        return tuple(found) or None

    def _options(
        self, at: Path, field: SpecField, value: Any, of: SpecField | None
    ) -> tuple[Option, ...] | None:
        if not isinstance(value, list) or not value:
            self._wrong(at, "values")
            return None
        found: dict[str, Option] = {}
        for index, entry in enumerate(value):
            option = self._option((*at, index), field, entry, of)
            if option is not None and option.value in found:
                self._wrong((*at, index), "twice", value=shown(option.value))
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
        displayed = stated.get("displayed")
        if displayed is not None and not isinstance(displayed, str):
            self._wrong((*at, "displayed"), "text")
        elif displayed and (character := hidden(displayed)):
            self._wrong((*at, "displayed"), "characters", character=character)
        value = field.canonical(stated.get("value"))
        if value is None:
            self._wrong(at, "no_value")
            return None
        if field.is_array and not isinstance(value, str):
            self._wrong(at, "text")
            return None
        if field.is_array and of is None:
            good = self._fits(at, field, field.items[0], value)
        else:
            whole = field.canonical([value]) if field.is_array else value
            good = self._valid(at, field, whole, of)
        return Option(value, displayed if isinstance(displayed, str) else "") if good else None

    def _check_bounds(self, at: Path, field: SpecField, kinds: Mapping[str, Any]) -> None:
        low, high = kinds.get("min"), kinds.get("max")
        if low is not None and high is not None and size(field, low) > size(field, high):
            self._wrong((*at, "max"), "crossed", value=low)
        for name, bound in (("min", low), ("max", high)):
            if bound is not None and not _reachable(field, name, bound):
                self._wrong((*at, name), "out_of_reach", accepted=accepted(field))


def _can_follow(field: SpecField, other: SpecField) -> bool:
    """Whether the default of ``field`` can be computed from ``other``."""
    return (
        other.path != field.path
        and other.kind.is_numeric
        and (other.kind is Kind.QUANTITY) == (field.kind is Kind.QUANTITY)
        and _section_of(other) == _section_of(field)
    )


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
