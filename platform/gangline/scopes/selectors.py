"""Reading the scope tree."""

from .models import Installation, Scope, ScopeKind

TENANT_ID = 1
"""Clients expect a number; there is one tenant."""


def installation() -> Installation:
    """This installation. Raises DoesNotExist before the first start has founded it."""
    return Installation.objects.select_related("scope").get()


def tenant_scope() -> Scope:
    """The top of the tree."""
    return Scope.objects.get(kind=ScopeKind.TENANT)


def scopes_to(scope: Scope) -> list[Scope]:
    """``scope`` and all above it, from far (tenant) to near."""
    chain: list[Scope] = []
    at: Scope | None = scope
    while at is not None:
        chain.append(at)
        at = at.parent
    return chain[::-1]


def is_loaded(scope: Scope) -> bool:
    """Whether `scopes_to` needs no query: all above it came with the scope."""
    at: Scope | None = scope
    while at is not None:
        if not Scope.parent.is_cached(at):
            return at.parent_id is None
        at = at.parent
    return True
