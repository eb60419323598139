"""Which policies hold where."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from gangline.organization.models import Project, Scope
from gangline.organization.selectors import is_loaded, scopes_to

from .document import PolicyDocument, parse
from .effective import EffectivePolicy, Layer, effective_policy
from .models import Policy


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
    key = tuple(
        (s.kind, s.name, str(stored[s.pk].pk), stored[s.pk].version)
        for s in chain
        if s.pk in stored
    )
    texts = {str(policy.pk): policy.text for policy in stored.values()}
    return _merged(key, tuple(texts[policy_id] for _, _, policy_id, _ in key))


@lru_cache(maxsize=256)
def _merged(key: tuple[tuple[str, str, str, int], ...], texts: tuple[str, ...]) -> EffectivePolicy:
    return effective_policy(
        [
            Layer(kind=kind, name=name, document=_parsed(text))
            for (kind, name, _, _), text in zip(key, texts, strict=True)
        ]
    )


@lru_cache(maxsize=256)
def _parsed(text: str) -> PolicyDocument:
    return parse(text)


def _layers(chain: list[Scope], stored: Mapping[int, Policy]) -> Iterator[Layer]:
    for scope in chain:
        if policy := stored.get(scope.pk):
            yield Layer(kind=scope.kind, name=scope.name, document=_parsed(policy.text))
