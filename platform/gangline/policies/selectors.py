"""Which policies hold where."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from gangline.organization.models import Project
from gangline.scopes.models import Scope
from gangline.scopes.selectors import is_loaded, scopes_to

from .document import PolicyDocument
from .effective import EffectivePolicy, Layer, effective_policy
from .imposing import imposable
from .models import Policy
from .reading import parse


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
        tuple((scope.kind, scope.name, policy.text) for scope, policy in held),
        tuple(sorted((scope.pk, policy.version) for scope, policy in held)),
    )
    ids = {key for sources in merged.imposed.values() for key in sources}
    return merged.with_imposed(imposable(project.scope, ids)) if ids else merged


def versions_to(scope: Scope) -> tuple[tuple[int, int], ...]:
    """(scope id, version) of the policies that hold in ``scope``: whether one has moved (R22)."""
    line = [above.pk for above in scopes_to(scope)]
    rows = Policy.objects.filter(scope_id__in=line).order_by("scope_id")
    return tuple(rows.values_list("scope_id", "version"))


@lru_cache(maxsize=256)
def _merged(
    texts: tuple[tuple[str, str, str], ...], versions: tuple[tuple[int, int], ...]
) -> EffectivePolicy:
    merged = effective_policy(
        [Layer(kind=kind, name=name, document=_parsed(text)) for kind, name, text in texts]
    )
    return replace(merged, versions=versions)


@lru_cache(maxsize=256)
def _parsed(text: str) -> PolicyDocument:
    return parse(text)


def _layers(chain: list[Scope], stored: Mapping[int, Policy]) -> Iterator[Layer]:
    for scope in chain:
        if policy := stored.get(scope.pk):
            yield Layer(kind=scope.kind, name=scope.name, document=_parsed(policy.text))
