"""One half of a workload: its values with their sources, and what is wrong with them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from gangline.spec import batch
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.frameworks import FRAMEWORKS, framework_of, has_gpus
from gangline.spec.gpus import is_gpu_field
from gangline.spec.problems import Problem, Role, shown
from gangline.spec.shares import DEVICES
from gangline.spec.slurm import OWN_SCRIPT
from gangline.spec.sources import (
    DEFAULT,
    OF_SCRIPT,
    WORKERS,
    YOU,
    Source,
    SourceKind,
    Value,
    policy_source,
)
from gangline.spec.types import quantity_bytes, split_quantity
from gangline.spec.values import TYPE, field_path, item_label, validate
from gangline.spec.words import accepted, in_words, lowered, one_of
from gangline.spec.workload import INTERACTIVE, WAITING

from . import gpu_caps
from .document import fields_of
from .effective import SYSTEM, EffectivePolicy
from .lists import MergedList, item_problem, merge_items, overlaid
from .rules import Breach, FieldRule, Sourced, breaches, nearest_allowed
from .value_sources import inherited, is_same, source_of, sourced

FRAMEWORK = "distributedFramework"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that was left out without being wrong."""

    role: Role
    path: str
    label: str
    message: str
    source: str

    def __str__(self) -> str:
        return self.message


_NOTHING: Mapping[str, Value] = MappingProxyType({})
_SLEEP = Value(WAITING, DEFAULT)


class RoleResolver:
    """Worker or master, while it is being resolved."""

    def __init__(self, role: Role, policy: EffectivePolicy, framework: Any = None) -> None:
        self.role, self.framework = role, framework
        self.every_field = fields_of(policy.models, role)
        self.fields = {p: s for p, s in self.every_field.items() if self._may_have(p)}
        """Those that its pods can have."""
        self.values: dict[str, Value] = {}
        self.notices: list[Notice] = []
        self.problems: list[Problem] = []
        self._model = policy.models.master if role is Role.MASTER else policy.models.worker
        self._rules = policy.half(role)
        self._given: Mapping[str, Value] = {}
        self._under: Mapping[str, Value] = {}
        self._unsound: set[str] = set()

    def fill(
        self,
        given: Mapping[str, Value],
        workers: "RoleResolver | None" = None,
        under: Mapping[str, Value] = _NOTHING,
        script: batch.Read | None = None,
    ) -> None:
        """Give every field its value; follow ``workers`` where nothing is given.

        ``under`` are the values of chosen assets, which ``given`` lies upon. ``script``: what
        another half of the same workload has read in the person's own script, if anything.
        """
        self.script = self._script(given, under) if script is None else script
        under = self._over_script(under)
        self._given, self._under = given, under
        for path, spec in self.every_field.items():
            if path in given and path not in self.fields:
                self._useless(spec, given[path])
        for path, spec in self.fields.items():
            entry = given.get(path)
            if spec.only and self.framework not in spec.only:
                if entry is not None:
                    self.problems.append(
                        Problem.of(
                            self.role, path, "framework", frameworks=one_of(spec.only),
                            value=entry.value, accepted="no value", label=spec.label,
                        )
                    )  # fmt: skip
                continue
            if path in framework_of(self.framework).without:
                if entry is not None or path in under:
                    self._left_out_of_script(spec)
                continue
            choose = self._list if spec.is_by_item else self._scalar
            if (value := choose(spec, self._rules[path], entry, workers)) is not None:
                self.values[path] = value
            if path == FRAMEWORK:
                self.framework = value.value if value else None
        self._step_aside()
        self._compute()

    def _step_aside(self) -> None:
        """Of an asset or a policy, take back what a choice of the person leaves no meaning."""
        for path, spec in self.fields.items():
            note, value = spec.shown_with, self.values.get(path)
            if note is None or value is None or path in self._given:
                continue
            if self._is_switched_off(spec):
                del self.values[path]
                continue
            chosen = self._given.get(note.name)
            is_fixed = value.source.kind is SourceKind.FIXED
            if chosen is not None and chosen.value not in note.values and not is_fixed:
                del self.values[path]

    def _is_switched_off(self, spec: SpecField) -> bool:
        """Whether it belongs to a switch that is off: policies then ask nothing of it."""
        note = spec.shown_with
        if note is None or self.every_field[note.name].kind is not Kind.BOOLEAN:
            return False
        switch = self.values.get(note.name)
        return switch is None or switch.value not in note.values

    def wait_for_people(self, workers: Mapping[str, Value]) -> None:
        """Without a command, the pods of an interactive session sleep."""
        session = workers.get(INTERACTIVE)
        is_leader = self.role is Role.MASTER and "launcher" in workers
        said = any(path in self.values and self.values[path].value for path in ("command", "args"))
        if session is not None and session.value is True and not (said or is_leader):
            self.values["command"] = _SLEEP

    def _compute(self) -> None:
        """Defaults that follow from other fields, now that these have their values."""
        for path, rule in self._rules.items():
            entry = self.values.get(path)
            is_default = entry is None or entry.source == DEFAULT or entry.source.is_policy
            if rule.computed and path in self.fields and is_default:
                value = following(self.fields[path], rule, self.values)
                if value is not None:
                    self.values[path] = Value(value, policy_source(rule.computed.source))

    def without_given(self, bare: "RoleResolver") -> dict[str, Value]:
        """The values of ``bare``, the same half without given ones; what follows from another
        field follows from what this half has there."""
        found = dict(bare.values)
        if self.values.get("command") == _SLEEP:
            found["command"] = _SLEEP
        for path, rule in self._rules.items():
            if rule.computed and path in self.fields:
                value = following(self.fields[path], rule, self.values)
                if value is not None:
                    found[path] = Value(value, policy_source(rule.computed.source))
        return found

    def _script(self, given: Mapping[str, Value], under: Mapping[str, Value]) -> batch.Read:
        """The values of the person's own script; empty where there is none."""
        if batch.SCRIPT not in self.every_field:
            return batch.Read()

        def standing(path: str) -> Any:
            rule, said = self._rules[path], given.get(path) or under.get(path)
            return rule.fixed or said or rule.default

        text, fills = standing(batch.SCRIPT), standing(batch.VALUES)
        if text is None or not isinstance(text.value, str):
            return batch.Read()
        items = fills.value if fills is not None and isinstance(fills.value, list) else ()
        said = {
            item["name"]: item["value"]
            for item in items
            if isinstance(item, Mapping)
            and isinstance(item.get("name"), str)
            and isinstance(item.get("value"), str)
        }
        return batch.read(self.every_field[batch.SCRIPT].canonical(text.value), said)

    def _over_script(self, under: Mapping[str, Value]) -> Mapping[str, Value]:
        """``under`` upon what the lines of the script say."""
        found = dict(under)
        for path, value in self.script.values.items():
            spec = self.every_field[path]
            below = sourced(spec, value, OF_SCRIPT)
            if (whole := overlaid(spec, below, under.get(path))) is not None:
                found[path] = whole
        return found

    def _left_out_of_script(self, spec: SpecField) -> None:
        message = f"Left out: {spec.label}, because the script says what runs."
        self.notices.append(Notice(self.role, spec.path, spec.label, message, ""))

    def _script_problems(self) -> Iterator[Problem]:
        """What is wrong with the lines of the script, and which of its places are empty."""
        if batch.SCRIPT not in self.every_field or self.framework != OWN_SCRIPT:
            return
        spec = self.every_field[batch.SCRIPT]
        draft = Problem.of(self.role, spec.path, "", label=spec.label)
        text = self.values.get(batch.SCRIPT)
        if text is None:
            yield draft.at(code="required", accepted="a script of sbatch, with its first line #!")
            return
        for one in self.script.objections:
            line = f".{one.params['line']}" if "line" in one.params else ""
            more = {"accepted": "no such line", **one.params}
            yield draft.at(path=f"{spec.path}{line}", code=one.code, **more)
        values = self.values.get(batch.VALUES)
        items = zip(values.value, values.items, strict=True) if values and values.items else ()
        said = {
            origin.key: (item.get("value"), None if origin.source == OF_SCRIPT else origin.sent)
            for item, origin in items
        }
        empty = [n for n in self.script.places if not said.get(n, ("", None))[0]]
        unsent = [name for name in empty if said.get(name, ("", None))[1] is None]
        if unsent:
            yield draft.at(
                path=batch.VALUES, code="script:places", names=", ".join(unsent),
                accepted="a value for each", label=self.every_field[batch.VALUES].label,
            )  # fmt: skip
        for name, (value, sent) in said.items():
            at = batch.VALUES if sent is None else f"{batch.VALUES}.{sent}.value"
            if name not in self.script.places:
                at = at.removesuffix(".value")
                yield draft.at(
                    path=at, code="script:no_place", value=name, key=name, label=f"Place {name}",
                    accepted=", ".join(self.script.places) or "no value",
                )  # fmt: skip
            elif not value and sent is not None:
                accepted = f"a value for {{{{ {name} }}}}"
                yield draft.at(
                    path=at, code="required", key=name, label=f"Place {name}", accepted=accepted
                )

    @property
    def _title(self) -> str:
        """What people call a half that is not the workers'."""
        return framework_of(self.framework).leader.title.lower()

    def _may_have(self, path: str) -> bool:
        known = self.framework if isinstance(self.framework, str) else ""
        return not is_gpu_field(path) or has_gpus(known, self.role)

    def _useless(self, spec: SpecField, entry: Value) -> None:
        """Left out without a reproach: a template or a copy may have it from another framework."""
        if not entry.value:
            return
        known = FRAMEWORKS[self.framework]
        message = (
            f"Left out: {spec.label} {shown(entry.value)} of the {self._title},"
            f" because the {known.leader.word} of {known.label} gets no GPU."
        )
        self.notices.append(Notice(self.role, spec.path, spec.label, message, ""))

    def _scalar(
        self, spec: SpecField, rule: FieldRule, entry: Value | None, workers: "RoleResolver | None"
    ) -> Value | None:
        if rule.fixed is not None:
            self._check_fixed(spec, rule.fixed, entry or self._under.get(spec.path))
            source = Source(SourceKind.FIXED, name=rule.fixed.source)
            return sourced(spec, rule.fixed.value, source, locked=rule.fixed.source)
        chosen = entry or self._under.get(spec.path) or _followed(workers, spec)
        if chosen is not None:
            return sourced(spec, spec.canonical(chosen.value), chosen.source, is_sent=True)
        default = rule.default
        if workers and (default is None or default.source == SYSTEM):
            theirs = workers.values.get(spec.path)
            if theirs is not None and theirs.source != DEFAULT:
                return sourced(spec, theirs.value, WORKERS)
        return sourced(spec, default.value, source_of(default)) if default else None

    def _check_fixed(self, spec: SpecField, fixed: Sourced, entry: Value | None) -> None:
        if entry is None or is_same(spec, entry.value, fixed.value):
            return
        if entry.source == YOU:
            self._unchangeable(spec, fixed, entry.value)
        else:
            self._notice(spec, f"{spec.label} {shown(entry.value)}", fixed.source)

    def _list(
        self, spec: SpecField, rule: FieldRule, entry: Value | None, workers: "RoleResolver | None"
    ) -> Value | None:
        asset = self._under.get(spec.path)
        chosen = entry or asset or _followed(workers, spec)
        if chosen is None:
            theirs = workers.values.get(spec.path) if workers and rule.default is None else None
            return inherited(theirs, rule) if theirs else self._defaults(spec, rule)
        if not isinstance(chosen.value, list):
            return Value(chosen.value, chosen.source)
        standing = None
        if asset is not None and chosen is not asset:
            standing = merge_items(
                self.role, spec, rule, asset.value, asset.source, origins=asset.items
            )
            self._left_out(spec, standing)
            standing = standing.allowed()
        origins = chosen.items if chosen is asset else ()
        merged = merge_items(self.role, spec, rule, chosen.value, chosen.source, standing, origins)
        self.problems += merged.problems
        if chosen.source == YOU:
            self.problems += merged.refused.values()
            return Value(merged.items, chosen.source, merged.sources)
        if chosen.source != WORKERS:
            self._left_out(spec, merged)
        merged = merged.allowed()
        return Value(merged.items, chosen.source, merged.sources)

    def _left_out(self, spec: SpecField, merged: MergedList) -> None:
        for problem in merged.refused.values():
            self._notice(spec, problem.label, problem.source)

    def _defaults(self, spec: SpecField, rule: FieldRule) -> Value | None:
        if rule.default is None:
            return None
        merged = merge_items(self.role, spec, rule, [], DEFAULT)
        return Value(merged.items, source_of(rule.default), merged.sources)

    def judge(self) -> None:
        """Find what is wrong with the values."""
        plain = {path: value.value for path, value in self.values.items()}
        sent = {p: [o.sent for o in v.items] for p, v in self.values.items() if v.items}
        by_field: dict[str, list[Problem]] = {}
        for problem in validate(self._model, self.role, plain, sent):
            path = field_path(problem.path, self.fields)
            by_field.setdefault(path, []).append(problem)
        for path, spec in self.fields.items():
            schema = by_field.get(path, [])
            if any(_is_unsound(spec, problem) for problem in schema):
                self._unsound.add(path)
                self.problems += schema
            elif not spec.only or self.framework in spec.only:
                ruled = list(self._breaches(spec, plain.get(path)))
                # A policy is at least as tight as the spec, so its word replaces the spec's.
                self.problems += [p for p in schema if not ruled or p.rule not in _REPLACED]
                self.problems += ruled
                broken = {problem.path for problem in schema}
                self.problems += [p for p in self._attribute_breaches(spec) if p.path not in broken]
        self.problems += self._gpu_breaches()
        self.problems += self._script_problems()
        for line in self.script.left_out if self.framework == OWN_SCRIPT else ():
            message = f"Left out: --{line.option} of line {line.number} of the script."
            self.notices.append(Notice(self.role, batch.SCRIPT, "Script", message, ""))

    def _breaches(self, spec: SpecField, value: Any) -> Iterator[Problem]:
        rule = self._rules[spec.path]
        draft = Problem.of(self.role, spec.path, "", value=value, label=spec.label)
        if rule.conflict:
            yield draft.at(code="conflict", reason=rule.conflict,
                           accepted="nothing, until the policies agree")  # fmt: skip
        elif value not in (None, []):
            for breach in breaches(spec, rule, value):
                inside = "" if breach.index is None else f".{breach.index}"
                yield breach.of(draft, path=f"{spec.path}{inside}")
        elif rule.required is not None and not self._is_switched_off(spec):
            yield draft.at(code="required", accepted=accepted(spec),
                           source=rule.required.source)  # fmt: skip

    def inherit(self, workers: "RoleResolver") -> list[Problem]:
        """Be as the workers are. Returns every rule for the master that this breaks (R24).

        What the same rule already forbids to the workers is not reported twice.
        """
        known = [problem.at(role=self.role) for problem in workers.problems]
        for path, spec in self.fields.items():
            rule, theirs = self._rules[path], workers.values.get(path)
            if theirs is not None:
                self.values[path] = inherited(theirs, rule)
            if path in workers._unsound:
                continue
            value = theirs.value if theirs else None
            self.problems += self._breaches(spec, value)
            if spec.is_by_item:
                self.problems += self._item_breaches(spec, rule, theirs)
                self.problems += self._attribute_breaches(spec)
            elif self._is_switched_off(spec):
                continue
            elif rule.fixed is not None and not is_same(spec, value, rule.fixed.value):
                self._unchangeable(spec, rule.fixed, value)
        self.problems += self._gpu_breaches()
        self.problems = [p for p in self.problems if p not in known]
        return list(self.problems)

    def _item_breaches(
        self, spec: SpecField, rule: FieldRule, theirs: Value | None
    ) -> Iterator[Problem]:
        items = dict(zip(((o.key, o.sent) for o in theirs.items), theirs.value, strict=True)) \
            if theirs else {}  # fmt: skip
        by_key = {key: item for (key, _), item in items.items()}
        for default in rule.default.value if rule.default else ():
            key = default[spec.item_key]
            if key in rule.locked and by_key.get(key) != default:
                source, title = rule.locked[key], self._title
                yield item_problem(self.role, spec, None, key, "locked:master", source, title=title)
        for key, sent in items if rule.can_add else ():
            if key not in rule.item_sources:
                source = rule.can_add.source if rule.can_add else ""
                yield item_problem(
                    self.role, spec, sent, key, "canAdd:master", source, title=self._title
                )

    def _attribute_breaches(self, spec: SpecField) -> Iterator[Problem]:
        """What the items of a list break of the rules for their attributes."""
        value, rules = self.values.get(spec.path), self._rules[spec.path].attributes
        if not rules or value is None or not isinstance(value.value, list):
            return
        for item, origin in zip(value.value, value.items, strict=True):
            flat = spec.flat(item) if isinstance(item, Mapping) else {}
            for attribute in (spec.attribute(path) for path in rules):
                if attribute is None or _is_absent(attribute, item):
                    continue
                index = "" if origin.sent is None else f".{origin.sent}.{attribute.path}"
                label = f"{attribute.label} of {lowered(item_label(spec, 0, shown(origin.key)))}"
                said = flat.get(attribute.path)
                draft = Problem.of(self.role, f"{spec.path}{index}", "", value=said, key=origin.key)
                for breach in _broken(attribute, rules[attribute.path], said):
                    yield breach.of(draft, label=label)

    def told(self) -> list[Problem]:
        """The problems, each with the message of the rule that it breaks."""
        return [p.at(hint=hint) if (hint := self._hint(p)) else p for p in self.problems]

    def _hint(self, problem: Problem) -> str:
        path = field_path(problem.path, self.fields)
        rule = self._rules.get(path)
        if rule is None or not problem.source:
            return ""
        attribute = problem.path[len(path) + 1 :].partition(".")[2]
        inside = rule.attributes.get(attribute)
        messages = inside.messages if inside is not None else rule.messages
        return messages.get(problem.source, "")

    def _gpu_breaches(self) -> Iterator[Problem]:
        """A limit on GPU devices is not got round by another name for them."""
        rule, extended = self._rules.get(DEVICES), self.values.get(gpu_caps.EXTENDED)
        if rule is None or extended is None or not extended.items:
            return
        devices = self.values.get(DEVICES)
        yield from gpu_caps.breaches(
            self.role,
            self.fields[gpu_caps.EXTENDED],
            rule,
            devices.value if devices else 0,
            list(zip(extended.value, extended.items, strict=True)),
        )

    def _unchangeable(self, spec: SpecField, fixed: Sourced, value: Any) -> None:
        draft = Problem.of(self.role, spec.path, "", value=value, label=spec.label)
        found = unchangeable(spec, self._rules[spec.path])
        self.problems.append(found.of(draft, source=fixed.source))

    def _notice(self, spec: SpecField, what: str, source: str) -> None:
        message = f"Removed by policy: {what} (set by {source})."
        self.notices.append(Notice(self.role, spec.path, spec.label, message, source))


def following(spec: SpecField, rule: FieldRule, values: Mapping[str, Value]) -> Any:
    """The default that a computed rule gives beside ``values``, as near as its limits let it."""
    computed = rule.computed.value if rule.computed else None
    base = values.get(computed.field) if computed else None
    if computed is None or base is None or isinstance(base.value, bool) or rule.conflict:
        return None
    if spec.kind is Kind.QUANTITY:
        if not isinstance(base.value, str) or split_quantity(base.value) is None:
            return None
        found: Any = f"{math.ceil(quantity_bytes(base.value) * computed.factor / 10**6)}M"
    elif not isinstance(base.value, int | float):
        return None
    else:
        product = base.value * computed.factor
        found = round(product, 3) if spec.kind is Kind.NUMBER else round(product)
    return nearest_allowed(spec, rule, found)


def _is_absent(attribute: SpecField, item: Any) -> bool:
    """Whether the item has another one of the alternatives, so that nothing is asked of this."""
    name = attribute.path.partition(".")[0]
    return bool(attribute.alternative) and (not isinstance(item, Mapping) or item.get(name) is None)


def _broken(spec: SpecField, rule: FieldRule, value: Any) -> Iterator[Breach]:
    """What the value of an attribute breaks of its rule."""
    fixed = rule.fixed
    if fixed is not None and not is_same(spec, value, fixed.value):
        yield unchangeable(spec, rule)
    elif value is None:
        if rule.required is not None:
            yield Breach("required", rule.required.source, accepted(spec))
    elif _is_comparable(spec, value):
        yield from breaches(spec, rule, value)


def _is_comparable(spec: SpecField, value: Any) -> bool:
    if spec.kind is Kind.QUANTITY:
        return isinstance(value, str) and split_quantity(value) is not None
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return numeric or not spec.kind.is_numeric


def unchangeable(spec: SpecField, rule: FieldRule) -> Breach:
    """What is told of a value that differs from the fixed one."""
    fixed = rule.fixed or Sourced(None, "")
    if rule.is_blocked:
        return Breach("blocked", fixed.source, "no value")
    if fixed.value is None:
        return Breach("canEdit:empty", fixed.source, "no value")
    return Breach("canEdit", fixed.source, _told(spec, fixed.value))


def _told(spec: SpecField, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(item[spec.item_key]) for item in value)
    return in_words(spec, value)


_REPLACED = ("min", "max", "options", "format")


def _is_unsound(spec: SpecField, problem: Problem) -> bool:
    """Whether the value is so wrong that no rule can judge it."""
    unreadable = spec.has_bounds and problem.rule in ("format", "maxLength")
    return problem.path == spec.path and (problem.rule == TYPE or unreadable)


def _followed(workers: RoleResolver | None, spec: SpecField) -> Value | None:
    """What was given for the workers, for the master to follow."""
    if workers is None:
        return None
    entry = overlaid(spec, workers._under.get(spec.path), workers._given.get(spec.path))
    return None if entry is None else Value(entry.value, WORKERS)
