"""Which policies hold where."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from gangline.clusters.connections import names_node_types
from gangline.clusters.storage import classes
from gangline.organization.models import Project
from gangline.scopes.models import Scope
from gangline.scopes.selectors import is_loaded, scopes_to

from .document import PolicyDocument
from .effective import EffectivePolicy, Layer, effective_policy
from .imposed_assets import imposable
from .models import Policy
from .parser import parse

VOLUMES = "storage.pvc"
"""The list whose items have a storage class."""


def layers(scope: Scope) -> list[Layer]:
    """Stored policies that hold in ``scope``, from far to near; parsed once per version."""
    chain = scopes_to(scope)
    stored = {policy.scope_id: policy for policy in Policy.objects.filter(scope__in=chain)}
    return list(_layers(chain, stored))


def effective_for(project: Project) -> EffectivePolicy:
    """The policy of ``project``: every layer merged, each rule with its source (R22)."""
    if not (Project.scope.is_cached(project) and is_loaded(project.scope)):
        scopes = Scope.objects.select_related("parent__parent__parent")
        project.scope = scopes.get(pk=project.scope_id)
    chain = scopes_to(project.scope)
    stored = {policy.scope_id: policy for policy in Policy.objects.filter(scope__in=chain)}
    held = [(scope, stored[scope.pk]) for scope in chain if scope.pk in stored]
    merged = _merged(
        (
            *_defaults(project),
            *((scope.kind, scope.name, policy.text, "") for scope, policy in held),
            *_rules(project),
        ),
        tuple(sorted((scope.pk, policy.version) for scope, policy in held)),
    )
    if project.cluster.storage:
        merged = merged.with_completed(VOLUMES, classes(project.cluster).completed)
    ids = {key for sources in merged.imposed.values() for key in sources}
    return merged.with_imposed(imposable(project.scope, ids)) if ids else merged


def _defaults(project: Project) -> Iterator[tuple[str, str, str, str]]:
    """What a project sets for its workloads and any policy may override."""
    if project.default_pools:
        said = {key: {"nodePools": project.default_pools} for key in ("worker", "master")}
        yield "project", project.name, json.dumps({"defaults": said}), f"project {project.name}"


def _rules(project: Project) -> Iterator[tuple[str, str, str, str]]:
    """The scheduling rules, beside every policy. Existing workloads are not touched."""
    if not names_node_types(project.cluster):
        return  # a rule about nodes says nothing where there are none
    for node, kind in ((project.department, "department"), (project, "project")):
        if node.node_types:
            rule = {"required": True, "options": [{"value": one} for one in node.node_types]}
            said = {key: {"nodeType": rule} for key in ("worker", "master")}
            called = f"the scheduling rules of {kind} {node.name}"
            yield kind, node.name, json.dumps({"rules": said}), called


def versions_to(scope: Scope) -> tuple[tuple[int, int], ...]:
    """(scope id, version) of the policies that hold in ``scope``: whether one has moved (R22)."""
    line = [above.pk for above in scopes_to(scope)]
    rows = Policy.objects.filter(scope_id__in=line).order_by("scope_id")
    return tuple(rows.values_list("scope_id", "version"))


@lru_cache(maxsize=256)
def _merged(
    texts: tuple[tuple[str, str, str, str], ...], versions: tuple[tuple[int, int], ...]
) -> EffectivePolicy:
    merged = effective_policy(
        [
            Layer(kind=kind, name=name, document=_parsed(text), called=called)
            for kind, name, text, called in texts
        ]
    )
    return replace(merged, versions=versions)


@lru_cache(maxsize=256)
def _parsed(text: str) -> PolicyDocument:
    return parse(text)


def _layers(chain: list[Scope], stored: Mapping[int, Policy]) -> Iterator[Layer]:
    for scope in chain:
        if policy := stored.get(scope.pk):
            yield Layer(kind=scope.kind, name=scope.name, document=_parsed(policy.text))
