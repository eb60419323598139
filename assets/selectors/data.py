"""Data sources as items of a workload's lists."""

import re
from collections.abc import Collection, Iterator
from typing import Any
from uuid import UUID

from assets.kinds import kind_of_asset
from assets.models import DATA, Asset
from gangline.db.locks import locked
from gangline.policies.document import Imposable
from gangline.scopes.models import Scope
from gangline.scopes.selectors import scopes_to

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_LONGEST, _DIGITS = 31, 8
_OF_THE_MOUNT = ("accessModes", "volumeMode")
"""What of a claim's description matters to who mounts it."""


def item_name(asset: Asset) -> str:
    """Key of the item: readable, and no other asset's. That of a data volume is its id."""
    if asset.kind == Asset.Kind.DATA_VOLUME:
        return str(asset.pk)
    slug = _NOT_IN_NAMES.sub("-", asset.name.lower()).strip("-")[:_LONGEST].strip("-")
    return f"{slug or 'data'}-{asset.pk.hex[:_DIGITS]}"


def named_item(asset: Asset) -> dict[str, Any]:
    """The item that a workload gets when it takes the data source.

    A claim that was made for it is there already, for every workload alike.
    """
    item = kind_of_asset(asset).named(asset.values, item_name(asset))
    if asset.kind != Asset.Kind.PVC or item.get("existingPvc"):
        return item
    told = {k: v for k, v in (item.get("claimInfo") or {}).items() if k in _OF_THE_MOUNT}
    return {
        **{k: v for k, v in item.items() if k != "claimInfo"},
        "existingPvc": True,
        "claimName": claim_of(asset),
        **({"claimInfo": told} if told else {}),
    }


def mount_of(volume: Asset) -> dict[str, Any]:
    """The claim of a data volume as a workload mounts it: it is there, and nobody writes to it."""
    origin = volume.origin
    item = kind_of_asset(origin).item_of(origin.values) if origin else {}
    told = {k: v for k, v in (item.get("claimInfo") or {}).items() if k in _OF_THE_MOUNT}
    return {
        "name": f"data-volume-{volume.pk.hex[:_DIGITS]}",
        "existingPvc": True,
        "claimName": claim_of(origin) if origin else "",
        "readOnly": True,
        **({"claimInfo": told} if told else {}),
    }


def claim_of(asset: Asset) -> str:
    """Name of the claim of a PVC data source, on every cluster and in every project."""
    item = kind_of_asset(asset).item_of(asset.values)
    return str(item.get("claimName") or item_name(asset))


def imposable(scope: Scope, ids: Collection[str], is_to_store: bool = False) -> Iterator[Imposable]:
    """Those of the ids that hold in ``scope``, as the items that a workload gets."""
    line = [one.pk for one in scopes_to(scope)]
    rows = Asset.objects.filter(pk__in=_uuids(ids), kind__in=DATA, scope__in=line)
    for asset in locked(rows) if is_to_store else rows:
        kind = kind_of_asset(asset)
        item = named_item(asset)
        yield Imposable(
            str(asset.pk), asset.name, kind.item, item, needs_credential=_has_credential(item)
        )


def _uuids(ids: Collection[str]) -> Iterator[UUID]:
    for one in ids:
        try:
            yield UUID(one)
        except ValueError:
            continue


def _has_credential(item: dict[str, Any]) -> bool:
    secret = item.get("secretRef") or {}
    return bool(secret.get("name") or item.get("accessKeySecret") or item.get("secret"))
