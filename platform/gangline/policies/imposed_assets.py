"""Data sources that a policy puts into every workload: looked up by who keeps them (S3a)."""

from collections.abc import Callable, Collection, Iterable

from gangline.scopes.models import Scope

from .document import Imposable

Lookup = Callable[[Scope, Collection[str], bool], Iterable[Imposable]]
"""Those of the ids that hold in a scope, for whoever is there; locked for who stores their ids."""
_lookups: list[Lookup] = []


def register_imposable(lookup: Lookup) -> None:
    """Tell what policies can impose: the data sources of a higher room."""
    _lookups.append(lookup)


def imposable(
    scope: Scope, ids: Collection[str], *, is_to_store: bool = False
) -> dict[str, Imposable]:
    """The data sources by id; what does not hold in ``scope`` is left out.

    ``is_to_store``: until the end of the transaction none of them is deleted.
    """
    if not ids:
        return {}
    return {one.id: one for lookup in _lookups for one in lookup(scope, ids, is_to_store)}
