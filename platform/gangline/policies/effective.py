"""The policy that holds for one project: all layers merged, each rule with its source (R22)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from gangline.spec.catalogue import SpecField
from gangline.spec.images import within
from gangline.spec.problems import Role
from gangline.spec.values import size
from gangline.spec.words import in_words
from gangline.spec.workload import SPEC, SpecModels

from .document import (
    HALVES,
    GivenDefault,
    Imposable,
    Option,
    PolicyDocument,
    RuleSet,
    fields_of,
)
from .rules import (
    FieldRule,
    Sourced,
    Step,
    TraceRow,
    breaches,
    conflict,
    nearest_allowed,
)

SYSTEM = "system"
Completed = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""An item of a list with what it has without saying so."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One document and the scope it belongs to."""

    kind: str
    name: str
    document: PolicyDocument
    called: str = ""
    """What people call it, if not by its scope."""

    @property
    def source(self) -> str:
        """How people call the scope: "project vision"; the tenant has no name."""
        if self.called:
            return self.called
        if self.kind == "tenant":
            return "the whole installation"
        named = self.kind in ("cluster", "department", "project")
        return f"{self.kind} {self.name}" if named else self.kind


@dataclass(frozen=True, slots=True)
class EffectivePolicy:
    """A rule for every field of both halves."""

    worker: Mapping[str, FieldRule]
    master: Mapping[str, FieldRule]
    models: SpecModels = SPEC
    versions: tuple[tuple[int, int], ...] = ()
    """(scope id, version) of every stored policy in it, in the order of `selectors.versions_to`."""
    imposed: Mapping[Role, Mapping[str, str]] = field(default_factory=dict)
    """Ids of the data sources that every workload gets, each with the scope that imposes it."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Those of them that are not there: nothing can be submitted."""

    def half(self, role: Role) -> Mapping[str, FieldRule]:
        return self.master if role is Role.MASTER else self.worker

    def rule(self, role: Role, path: str) -> FieldRule:
        return self.half(role)[path]

    def with_completed(self, path: str, completed: "Completed") -> "EffectivePolicy":
        """The same with what the cluster adds to items of a list, below every policy."""
        worker, master = (_completing(self.half(role), path, completed) for role in HALVES)
        return replace(self, worker=worker, master=master)

    def with_imposed(self, found: Mapping[str, Imposable]) -> "EffectivePolicy":
        """The same with the data sources as locked items of their lists."""
        halves = {role: dict(self.half(role)) for role in HALVES}
        missing: dict[str, str] = {}
        for role, sources in self.imposed.items():
            for key, source in sources.items():
                one = found.get(key)
                spec = fields_of(self.models, role).get(one.path) if one else None
                if one is None or spec is None or one.needs_credential:
                    missing[key] = source
                else:
                    rules = halves[role]
                    rules[one.path] = _imposing(spec, rules[one.path], one, source)
        return replace(
            self, worker=halves[Role.WORKER], master=halves[Role.MASTER], missing=missing
        )


def _completing(
    rules: Mapping[str, FieldRule], path: str, completed: "Completed"
) -> Mapping[str, FieldRule]:
    return {**rules, path: replace(rules[path], completed=completed)}


def _imposing(spec: SpecField, rule: FieldRule, one: Imposable, source: str) -> FieldRule:
    """``rule`` with a data source as a default that is locked."""
    key = str(one.item[spec.item_key])
    before = [i for i in (rule.default.value if rule.default else ()) if i[spec.item_key] != key]
    return replace(
        rule,
        default=Sourced([*before, dict(one.item)], source),
        locked={**rule.locked, key: source},
        item_sources={**rule.item_sources, key: source},
        trace=(*rule.trace, TraceRow(source, "imposed", one.name, wins=True)),
    )


def effective_policy(layers: Sequence[Layer], models: SpecModels = SPEC) -> EffectivePolicy:
    """Merge ``layers``, ordered from far (tenant) to near (project), over the built-in defaults.

    The closest default wins; every rule of every layer must hold, the tightest of a kind being
    shown; a rule marked overridable gives way to a nearer rule of its kind.
    """
    halves = {role: MappingProxyType(_half(models, role, layers)) for role in HALVES}
    imposed = {role: _all_imposed(role, layers) for role in HALVES}
    return EffectivePolicy(halves[Role.WORKER], halves[Role.MASTER], models, imposed=imposed)


def _half(models: SpecModels, role: Role, layers: Sequence[Layer]) -> dict[str, FieldRule]:
    untold = _untold(models, role) if layers else {}
    found = {}
    for path, spec in fields_of(models, role).items():
        statements = _statements(spec, role, layers)
        is_told = len(statements) > 1 or path not in untold
        found[path] = _merged(spec, statements) if is_told else untold[path]
    return found


@cache
def _untold(models: SpecModels, role: Role) -> Mapping[str, FieldRule]:
    """The rules of the product itself: what holds of most fields under every policy."""
    return _half(models, role, ())


def _all_imposed(role: Role, layers: Sequence[Layer]) -> Mapping[str, str]:
    """What any layer imposes, with the farthest that does."""
    found: dict[str, str] = {}
    for layer in layers:
        for key in layer.document.half(role).imposed:
            found.setdefault(key, layer.source)
    return found


@dataclass(frozen=True, slots=True)
class _Statement:
    """The rules of one layer for one field. ``level`` grows towards the project."""

    level: int
    source: str
    default: GivenDefault | None
    rules: RuleSet | None
    may_open: bool = False
    """Whether it can allow what reaches beyond a pod: who shares a cluster cannot."""


def _statements(spec: SpecField, role: Role, layers: Sequence[Layer]) -> list[_Statement]:
    built_in = GivenDefault(spec.default) if spec.default is not None else None
    closed = RuleSet(_closed(spec), {}, overridable=True) if spec.restricted else None
    found = [_Statement(0, SYSTEM, built_in, closed)]
    for level, layer in enumerate(layers, start=1):
        half = layer.document.half(role)
        default, rules = half.defaults.get(spec.path), half.rules.get(spec.path)
        if default is not None or rules is not None:
            may_open = layer.kind in ("tenant", "cluster")
            found.append(_Statement(level, layer.source, default, rules, may_open))
    return found


def _closed(spec: SpecField) -> dict[str, Any]:
    """What holds of a restricted field until a policy opens it, by kind of rule."""
    limits = spec.restricted
    if limits and limits.least is not None:
        return {"min": limits.least}
    if limits and limits.choices:
        return {"options": tuple(Option(value) for value in limits.choices)}
    return {"canAdd" if spec.is_by_item else "canEdit": False}


@dataclass(frozen=True, slots=True)
class _Claim:
    """One rule of one layer that is in force."""

    value: Any
    source: str
    level: int
    overridable: bool
    origin: int | float = 0
    message: str = ""

    def gives_way(self, to: _Statement) -> bool:
        return self.overridable and (self.level > 0 or to.may_open)


@dataclass(slots=True)
class _Claims:
    """The rules in force by kind, from far to near."""

    by_kind: dict[str, list[_Claim]] = field(default_factory=dict)

    def add(self, statement: _Statement) -> None:
        rules = statement.rules
        for kind, value in rules.kinds.items() if rules else ():
            claim = _Claim(
                value,
                statement.source,
                statement.level,
                rules.overridable if rules else False,
                rules.kinds.get("min", 0) if rules and kind == "step" else 0,
                rules.message if rules else "",
            )
            standing = [c for c in self.by_kind.get(kind, []) if not c.gives_way(statement)]
            self.by_kind[kind] = [*standing, claim]

    def of(self, kind: str) -> list[_Claim]:
        return self.by_kind.get(kind, [])

    def messages(self, rule: FieldRule) -> Mapping[str, str]:
        """What the scopes tell who breaks a rule of theirs that is in force."""
        claims = [claim for of_kind in self.by_kind.values() for claim in of_kind]
        found = {claim.source: claim.message for claim in claims if claim.message}
        joined = rule.options.source if rule.options else ""
        if found and joined and joined not in found:
            parts = [c.message for c in self.of("options") if c.message]
            found |= {joined: " ".join(dict.fromkeys(parts))} if parts else {}
        return found

    def first(self, kind: str, value: bool) -> _Claim | None:
        """The farthest layer that sets ``value``."""
        return next((claim for claim in self.of(kind) if claim.value is value), None)


def _merged(spec: SpecField, statements: list[_Statement]) -> FieldRule:
    claims = _Claims()
    for statement in statements:
        claims.add(statement)
    if spec.is_by_item:
        return _list_rule(spec, statements, claims)
    rule = FieldRule(
        minimum=_tightest(spec, claims.of("min"), largest=True),
        maximum=_tightest(spec, claims.of("max"), largest=False),
        steps=tuple(Step(c.value, c.source, origin=c.origin) for c in claims.of("step")),
        options=_common_options(claims.of("options")),
        registries=_common_registries(claims.of("registries")),
        digest=_said(claims.first("digestRequired", True)),
        total=_tightest(spec, claims.of("maxTotal"), largest=False),
        required=_said(claims.first("required", True)),
    )
    rule = replace(rule, conflict=conflict(spec, rule), messages=claims.messages(rule))
    if blocking := claims.first("blocked", True):
        nothing = Sourced(None, blocking.source)
        rule = replace(rule, fixed=nothing, is_blocked=True)
        return replace(rule, trace=tuple(_trace(rule, statements, claims, [])))
    fixing = claims.first("canEdit", False)
    counting = [s for s in statements if fixing is None or s.level <= fixing.level]
    given = [s for s in counting if s.default is not None]
    default = _fitted(spec, rule, given[-1]) if given else None
    fixed = Sourced(default.value if default else None, fixing.source) if fixing else None
    computed = None if fixing else _said(next(reversed(claims.of("defaultFrom")), None))
    rule = replace(rule, default=default, fixed=fixed, computed=computed)
    return replace(rule, trace=tuple(_trace(rule, statements, claims, given[-1:])))


def _said(claim: _Claim | None) -> Sourced | None:
    return Sourced(claim.value, claim.source) if claim else None


def _tightest(spec: SpecField, claims: list[_Claim], *, largest: bool) -> Sourced | None:
    if not claims:
        return None
    sign = 1 if largest else -1
    return _said(max(claims, key=lambda claim: sign * size(spec, claim.value)))


def _common_options(claims: list[_Claim]) -> Sourced | None:
    """What every layer allows, in the order of the farthest; the nearest label is shown."""
    if not claims:
        return None
    allowed = [option.value for option in claims[0].value]
    narrowing = [claims[0]]
    labels = {option.value: option.displayed for option in claims[0].value}
    for claim in claims[1:]:
        values = {option.value: option.displayed for option in claim.value}
        kept = [value for value in allowed if value in values]
        if len(kept) < len(allowed):
            equal = len(kept) == len(values)
            narrowing = [claim] if equal else [*narrowing, claim]
        allowed = kept
        labels.update({value: label for value, label in values.items() if label})
    options = tuple(Option(value, labels[value]) for value in allowed)
    return Sourced(options, " and ".join(claim.source for claim in narrowing))


def _common_registries(claims: list[_Claim]) -> Sourced | None:
    """The parts of registries that every layer allows, in the order of the farthest."""
    if not claims:
        return None
    allowed, narrowing = list(claims[0].value), [claims[0]]
    for claim in claims[1:]:
        kept = [one for one in allowed if any(within(one, place) for place in claim.value)]
        inner = [one for one in claim.value if any(within(one, place) for place in allowed)]
        common = list(dict.fromkeys([*kept, *inner]))
        if len(kept) < len(allowed):
            narrowing = [claim] if len(inner) == len(claim.value) else [*narrowing, claim]
            allowed = common
    return Sourced(tuple(allowed), " and ".join(claim.source for claim in narrowing))


def _fitted(spec: SpecField, rule: FieldRule, given: _Statement) -> Sourced | None:
    """The default, moved into the limits if it is a number; None where no value would do."""
    value = given.default.value if given.default else None
    if rule.conflict:
        return None
    breach = next(breaches(spec, rule, value), None)
    if breach is None:
        return Sourced(value, given.source)
    if not spec.kind.is_numeric:
        return None
    moved = nearest_allowed(spec, rule, value)
    words = in_words(spec, value), given.source, in_words(spec, moved), breach.source
    return Sourced(moved, breach.source, "{} ({}), limited to {} by {}".format(*words))


def _list_rule(spec: SpecField, statements: list[_Statement], claims: _Claims) -> FieldRule:
    adding = claims.first("canAdd", False)
    locked: dict[str, _Claim] = {}
    for claim in claims.of("locked"):
        for key in claim.value:
            locked.setdefault(key, claim)
    items: dict[str, dict[str, Any]] = {}
    sources: dict[str, str] = {}
    counted: list[_Statement] = []
    for statement in statements:
        for item in statement.default.value if statement.default else ():
            key = item[spec.item_key]
            lock = locked.get(key)
            closed = adding is not None and adding.level < statement.level and key not in items
            if not closed and (lock is None or lock.level >= statement.level):
                items[key], sources[key] = item, statement.source
                counted.append(statement)
    return FieldRule(
        default=Sourced(list(items.values()), counted[-1].source) if items else None,
        can_add=_said(adding),
        required=_said(claims.first("required", True)),
        attributes=MappingProxyType(dict(_attributes(spec, statements))),
        locked=MappingProxyType({key: claim.source for key, claim in locked.items()}),
        trace=tuple(_trace(FieldRule(can_add=_said(adding)), statements, claims, counted)),
        item_sources=MappingProxyType(sources),
        messages=claims.messages(FieldRule()),
    )


def _attributes(spec: SpecField, statements: list[_Statement]) -> Iterator[tuple[str, FieldRule]]:
    """What the layers say of the attributes of a list, merged as any field is."""
    for attribute in spec.items:
        said = [
            _Statement(
                each.level,
                each.source,
                each.default.attributes.get(attribute.path) if each.default else None,
                each.rules.attributes.get(attribute.path) if each.rules else None,
            )
            for each in statements
        ]
        if any(each.default or each.rules for each in said):
            yield attribute.path, _merged(attribute, said)


def _trace(
    rule: FieldRule, statements: list[_Statement], claims: _Claims, counted: list[_Statement]
) -> Iterator[TraceRow]:
    for statement in statements:
        if statement.default is not None:
            wins = statement in counted
            yield TraceRow(statement.source, "default", statement.default.value, wins)
        for kind, value in statement.rules.kinds.items() if statement.rules else ():
            standing = any(c.level == statement.level for c in claims.of(kind))
            tightest = {"min": rule.minimum, "max": rule.maximum, "maxTotal": rule.total}
            shown = tightest.get(kind)
            wins = standing and (shown is None or shown.source == statement.source)
            neutral = (kind, value) in _NEUTRAL
            yield TraceRow(statement.source, kind, value, wins and not neutral)


_NEUTRAL = (
    ("canEdit", True),
    ("canAdd", True),
    ("required", False),
    ("blocked", False),
    ("digestRequired", False),
)
