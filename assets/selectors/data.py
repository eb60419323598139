"""Data sources as items of a workload's lists."""

import re
from typing import Any

from assets.kinds import kind_of_asset
from assets.models import Asset

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_LONGEST, _DIGITS = 31, 8


def item_name(asset: Asset) -> str:
    """Key of the item: readable, and no other asset's."""
    slug = _NOT_IN_NAMES.sub("-", asset.name.lower()).strip("-")[:_LONGEST].strip("-")
    return f"{slug or 'data'}-{asset.pk.hex[:_DIGITS]}"


def named_item(asset: Asset) -> dict[str, Any]:
    """The item that a workload gets when it takes the data source."""
    kind = kind_of_asset(asset)
    return kind.named(asset.values, item_name(asset))
