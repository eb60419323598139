"""Data sources that a policy puts into every workload: looked up by who keeps them (S3a)."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gangline.scopes.models import Scope


@dataclass(frozen=True, slots=True)
class Imposable:
    """A data source as an item of a list of the spec.

    ``id`` is the asset's, ``path`` the list's, such as ``storage.nfs``. Where people name the items
    of the list, the name of ``item`` is ``id``: nobody's own item has it.
    """

    id: str
    name: str
    path: str
    item: Mapping[str, Any]
    needs_credential: bool = False
    """A policy cannot impose it: not everybody may use the credential."""


Lookup = Callable[[Scope, Collection[str]], Iterable[Imposable]]
"""Those of the ids that hold in a scope, for whoever is there."""
_lookups: list[Lookup] = []


def register_imposable(lookup: Lookup) -> None:
    """Tell what policies can impose: the data sources of a higher room."""
    _lookups.append(lookup)


def imposable(scope: Scope, ids: Collection[str]) -> dict[str, Imposable]:
    """The data sources by id; what does not hold in ``scope`` is left out."""
    if not ids:
        return {}
    return {one.id: one for lookup in _lookups for one in lookup(scope, ids)}
