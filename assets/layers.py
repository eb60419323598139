"""What a template gives a workload, and what it lets nobody change.

Its own values lie over those of the assets that it links (S3a); what whoever uses it types, and
the assets that they choose, lie over both.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from uuid import UUID

from assets.models import Asset, Template
from gangline.policies.effective import EffectivePolicy
from gangline.policies.engine import Request
from gangline.policies.lists import overlaid
from gangline.policies.rules import FieldRule, Sourced, TraceRow
from gangline.spec.catalogue import SpecField, catalogue
from gangline.spec.frameworks import has_gpus
from gangline.spec.gpus import is_gpu_field
from gangline.spec.problems import Role
from gangline.spec.sources import Source, Value, Values, asset_source, template_source
from gangline.spec.workload import SPEC

Mode = Template.Mode


def field_at(qualified: str) -> SpecField | None:
    """The field at ``worker.image``; None: there is none."""
    role, _, path = qualified.partition(".")
    if role not in (Role.WORKER, Role.MASTER):
        return None
    return catalogue(SPEC.worker if role == Role.WORKER else SPEC.master).get(path)


def layered(*layers: Values) -> dict[str, Value]:
    """Of each path the first layer that has it; of lists the items of all, the first's first."""
    found: dict[str, Value] = {}
    for layer in reversed(layers):
        for qualified, value in layer.items():
            spec = field_at(qualified)
            whole = overlaid(spec, found.get(qualified), value) if spec else None
            found[qualified] = whole or value
    return found


def linked(*templates: Template) -> dict[str, Asset]:
    """The assets that they link, by id; those that are gone are left out."""
    wanted = {key for template in templates for key in template.links.values()}
    if not wanted:
        return {}
    return {str(asset.pk): asset for asset in Asset.objects.filter(pk__in=map(UUID, wanted))}


def values_of(values: Mapping[str, Any], role: str, framework: str, source: Source) -> Values:
    """Values by path of the spec as those of one role; what it cannot have is left out."""
    return {
        f"{role}.{path}": Value(value, source)
        for path, value in values.items()
        if not is_gpu_field(path) or has_gpus(framework, Role(role))
    }


def given_by(template: Template, assets: Mapping[str, Asset] | None = None) -> dict[str, Value]:
    """What the template gives; ``assets``: those that it links, by id, where they are known."""
    assets = linked(template) if assets is None else assets
    source = template_source(template.pk)
    own = {path: Value(v, source) for path, v in template.values.items() if field_at(path)}
    below: list[Values] = []
    for key, pk in template.links.items():
        role = key.partition(".")[0]
        if asset := assets.get(pk):
            origin = asset_source(asset.pk, asset.name)
            below.append(values_of(asset.values, role, template.framework, origin))
    found = layered(own, *below)
    return {
        path: value
        for path, value in found.items()
        if template.modes.get(path) != Mode.ASK and _can_have(template.framework, path)
    }


def _can_have(framework: str, qualified: str) -> bool:
    role, _, path = qualified.partition(".")
    return not is_gpu_field(path) or has_gpus(framework, Role(role))


def request_of(template: Template, given: Values) -> Request:
    """The workload that the template asks for by itself."""
    return Request(
        framework=template.framework,
        configuration=template.configuration,
        master=template.master,
        assets=given,
    )


def ruled(
    policy: EffectivePolicy, template: Template, given: Values | None = None
) -> EffectivePolicy:
    """``policy`` with what the template fixes and asks for, unless the policy itself fixes it.

    What is fixed for the workers is fixed for a master that has no value of its own there.
    """
    if not template.modes:
        return policy
    given = given_by(template) if given is None else given
    source = f"template {template.name}"
    worker, master = dict(policy.worker), dict(policy.master)
    for qualified, mode in template.modes.items():
        spec = field_at(qualified)
        if spec is None:
            continue
        role, _, path = qualified.partition(".")
        value = given.get(qualified)
        if role == Role.WORKER:
            worker[path] = _rule(spec, worker[path], mode, value, source)
        own = f"{Role.MASTER}.{path}"
        inherits = mode == Mode.FIXED and path in master and own not in template.modes
        if role == Role.MASTER or (inherits and own not in given):
            master[path] = _rule(spec, master[path], mode, value, source)
    return replace(policy, worker=MappingProxyType(worker), master=MappingProxyType(master))


def _rule(
    spec: SpecField, rule: FieldRule, mode: str, given: Value | None, source: str
) -> FieldRule:
    if rule.fixed is not None:
        return rule
    if mode == Mode.ASK:
        asks = TraceRow(source, "required", True, True)
        required = rule.required or Sourced(True, source)
        bare = rule if spec.is_by_item else replace(rule, default=None, computed=None)
        return replace(bare, required=required, trace=(*rule.trace, asks))
    if spec.is_by_item:
        return _closed(spec, rule, given, source)
    said = given.value if given else rule.default.value if rule.default else None
    trace = (TraceRow(source, "default", said, True), TraceRow(source, "canEdit", False, True))
    fixed = Sourced(said, source)
    return replace(rule, fixed=fixed, default=fixed, computed=None, trace=(*rule.trace, *trace))


def _closed(spec: SpecField, rule: FieldRule, given: Value | None, source: str) -> FieldRule:
    """A list as the template has it: every item locked, and nothing added."""
    items = {item[spec.item_key]: item for item in (rule.default.value if rule.default else ())}
    mine = {
        item[spec.item_key]: item
        for item in (given.value if given else ())
        if item.get(spec.item_key) not in rule.locked
    }
    items |= mine
    return replace(
        rule,
        default=Sourced(list(items.values()), source) if items else None,
        can_add=rule.can_add or Sourced(False, source),
        locked=MappingProxyType({**dict.fromkeys(items, source), **rule.locked}),
        item_sources=MappingProxyType({**rule.item_sources, **dict.fromkeys(mine, source)}),
        trace=(*rule.trace, TraceRow(source, "canAdd", False, True)),
    )
