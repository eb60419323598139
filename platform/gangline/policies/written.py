"""Policies as JSON, in the shapes of the published contract, and back to the text that is stored.

A rule of ours may come from several scopes, the least value from one and the largest from another:
``sourceOfRule`` names the nearest, ``sources`` each of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import yaml

from gangline.spec.catalogue import SpecField
from gangline.spec.values import nest
from gangline.spec.workload import SPEC, SpecModels

from .document import HALVES, Computed, GivenDefault, PolicyDocument, RuleSet, fields_of
from .effective import SYSTEM, EffectivePolicy
from .rules import FieldRule, Sourced

SourceOf = Callable[[str], dict[str, Any]]
"""``sourceOfRule`` for the words of a scope."""
Json = dict[str, Any]


def document_json(document: PolicyDocument, models: SpecModels = SPEC) -> Json:
    """What an administrator wrote, by half."""
    found: Json = {"defaults": {}, "rules": {}}
    for role in HALVES:
        half, fields = document.half(role), fields_of(models, role)
        defaults = {p: _default(fields[p], given) for p, given in half.defaults.items()}
        rules = {p: _rules(fields[p], stated) for p, stated in half.rules.items()}
        found["defaults"] |= {str(role): nest(defaults)} if defaults else {}
        found["rules"] |= {str(role): nest(rules)} if rules else {}
    imposed = {str(role): list(document.half(role).imposed) for role in HALVES}
    return found | ({"imposedAssets": imposed} if any(imposed.values()) else {})


def _default(field: SpecField, given: GivenDefault) -> Any:
    if not field.is_by_item:
        return _shown(field, given.value)
    return _of_a_list(given.value, {p: one.value for p, one in given.attributes.items()})


def _of_a_list(instances: Any, attributes: Mapping[str, Any]) -> Json:
    found: Json = {"instances": instances} if instances else {}
    return found | ({"attributes": nest(attributes)} if attributes else {})


def _shown(field: SpecField, value: Any) -> Any:
    show = field.reads.show if field.reads is not None else None
    return show(value) if show is not None and value else value


def _rules(field: SpecField, stated: RuleSet) -> Json:
    own = {kind: _rule(field, kind, value) for kind, value in stated.kinds.items()}
    own |= {"overridable": True} if stated.overridable else {}
    own |= {"message": stated.message} if stated.message else {}
    if not field.is_by_item:
        return own
    attributes = {
        attribute.path: _rules(attribute, stated.attributes[attribute.path])
        for attribute in field.items
        if attribute.path in stated.attributes
    }
    return _of_a_list(own, attributes)


def _rule(field: SpecField, kind: str, value: Any) -> Any:
    if kind == "options":
        return [{"value": o.value, **({"displayed": o.displayed} if o.displayed else {})}
                for o in value]  # fmt: skip
    if kind == "defaultFrom":
        assert isinstance(value, Computed)  # noqa: S101  as `reading` made it
        return {"field": value.field, "factor": value.factor}
    return list(value) if isinstance(value, tuple) else value


def effective_json(policy: EffectivePolicy, source_of: SourceOf) -> Json:
    """What holds, every rule with its source; the product's own defaults among it."""
    found: Json = {"defaults": {}, "rules": {}, "imposedAssets": {}}
    for role in HALVES:
        fields, half = fields_of(policy.models, role), policy.half(role)
        defaults = {
            path: default
            for path, field in fields.items()
            if (default := _effective_default(field, half[path])) not in (None, {})
        }
        rules = {
            path: stated
            for path, field in fields.items()
            if (stated := _effective_rules(field, half[path], source_of))
        }
        found["defaults"][str(role)] = nest(defaults)
        found["rules"][str(role)] = nest(rules)
        found["imposedAssets"][str(role)] = list(policy.imposed.get(role, ()))
    return found


def default_sources(policy: EffectivePolicy, source_of: SourceOf) -> Json:
    """Who gave the defaults that `effective_json` shows, by half and path."""
    return {
        str(role): {
            path: source_of(given.source)
            for path, rule in policy.half(role).items()
            if (given := _given(rule)) is not None
        }
        for role in HALVES
    }


def _given(rule: FieldRule) -> Sourced | None:
    inside = (one for one in map(_given, rule.attributes.values()) if one is not None)
    return rule.fixed or rule.default or next(inside, None)


def _effective_default(field: SpecField, rule: FieldRule) -> Any:
    given = rule.fixed or rule.default
    if not field.is_by_item:
        return _shown(field, given.value) if given else None
    attributes = {
        path: default
        for path, inside in rule.attributes.items()
        if (attribute := field.attribute(path)) is not None
        and (default := _effective_default(attribute, inside)) is not None
    }
    return _of_a_list(rule.default.value if rule.default else None, attributes)


def _effective_rules(field: SpecField, rule: FieldRule, source_of: SourceOf) -> Json:
    own = _with_sources(rule, list(_kinds(field, rule)), source_of)
    if not field.is_by_item:
        return own
    attributes = {
        path: stated
        for path, inside in rule.attributes.items()
        if (attribute := field.attribute(path)) is not None
        and (stated := _effective_rules(attribute, inside, source_of))
    }
    return _of_a_list(own, attributes)


def _kinds(field: SpecField, rule: FieldRule) -> Iterator[tuple[str, Any, Sequence[str]]]:
    """Each rule that is in force with its value and the scopes that say so, from far to near."""
    for kind, sourced in (
        ("min", rule.minimum),
        ("max", rule.maximum),
        ("maxTotal", rule.total),
        ("defaultFrom", rule.computed),
    ):
        if sourced is not None:
            yield kind, _rule(field, kind, sourced.value), [sourced.source]
    if rule.steps:
        yield "step", rule.steps[-1].value, [step.source for step in rule.steps]
    for kind, listed in (("options", rule.options), ("registries", rule.registries)):
        if listed is not None:
            said = [row.scope for row in rule.trace if row.rule == kind and row.wins]
            yield kind, _rule(field, kind, listed.value), said
    for kind, value, sourced in (
        ("digestRequired", True, rule.digest),
        ("required", True, rule.required),
        ("blocked" if rule.is_blocked else "canEdit", rule.is_blocked, rule.fixed),
        ("canAdd", False, rule.can_add),
    ):
        if sourced is not None:
            yield kind, value, [sourced.source]
    if rule.locked:
        yield "locked", list(rule.locked), list(dict.fromkeys(rule.locked.values()))


def _with_sources(
    rule: FieldRule, kinds: list[tuple[str, Any, Sequence[str]]], source_of: SourceOf
) -> Json:
    if not kinds:
        return {}
    order = [SYSTEM, *(row.scope for row in rule.trace)]
    said = [scope for _, _, scopes in kinds for scope in scopes]
    nearest = max(said, key=lambda scope: order.index(scope) if scope in order else 0, default="")
    messages = " ".join(dict.fromkeys(rule.messages.values()))
    return {
        **{kind: value for kind, value, _ in kinds},
        **({"message": messages} if messages else {}),
        "sourceOfRule": source_of(nearest),
        "sources": {kind: [source_of(scope) for scope in scopes] for kind, _, scopes in kinds},
    }


def text_of(policy: Mapping[str, Any]) -> str:
    """The text that is stored for a policy that came as JSON."""
    return yaml.safe_dump(
        plain(policy), sort_keys=False, allow_unicode=True, default_flow_style=False, width=100_000
    )


def plain(value: Any) -> Any:
    """A policy as clients send it, without what means nothing: null, and ``exclude: false``.

    ``sourceOfRule`` and ``sources`` come back with what was read, and ``status`` is ours to say.
    """
    if isinstance(value, Mapping):
        return {
            name: plain(inner)
            for name, inner in value.items()
            if inner is not None
            and name not in ("sourceOfRule", "sources", "status")
            and not (name == "exclude" and inner is False)
        }
    return [plain(one) for one in value] if isinstance(value, list) else value


def merged(below: Mapping[str, Any], over: Mapping[str, Any]) -> Json:
    """``over`` on top of ``below``: objects inside likewise, anything else as a whole."""
    found = dict(below)
    for name, value in over.items():
        under = found.get(name)
        both = isinstance(under, Mapping) and isinstance(value, Mapping)
        found[name] = merged(under, value) if both else value  # type: ignore[arg-type]
    return found


def without(policy: Mapping[str, Any], path: str) -> Json:
    """The policy without default and rule of ``worker.compute.gpuDevicesRequest``."""
    steps = path.split(".")
    return {part: _cut(said, steps) for part, said in policy.items()}


def _cut(value: Any, steps: Sequence[str]) -> Any:
    if not isinstance(value, Mapping):
        return value
    first, *rest = steps
    if not rest:
        return {name: inner for name, inner in value.items() if name != first}
    return {n: _cut(inner, rest) if n == first else inner for n, inner in value.items()}
