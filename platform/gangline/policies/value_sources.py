"""Values with their sources: of a field as a whole, and of each item of a list."""

from collections.abc import Mapping
from typing import Any

from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.sources import DEFAULT, WORKERS, ItemSource, Source, Value, policy_source
from gangline.spec.types import split_quantity
from gangline.spec.values import size

from .effective import SYSTEM
from .rules import FieldRule, Sourced


def sourced(
    spec: SpecField, value: Any, source: Source, *, locked: str = "", is_sent: bool = False
) -> Value | None:
    """``value`` and its source; of a list that is replaced as a whole, that of each item too."""
    if value is None:
        return None
    if spec.kind is not Kind.ITEMIZED or not isinstance(value, list):
        return Value(value, source)
    keys = [item.get(spec.item_key) if isinstance(item, Mapping) else "" for item in value]
    items = tuple(
        ItemSource(str(key or ""), source, locked, index if is_sent else None)
        for index, key in enumerate(keys)
    )
    return Value(value, source, items)


def source_of(default: Sourced) -> Source:
    return DEFAULT if default.source == SYSTEM else policy_source(default.source)


def inherited(theirs: Value, rule: FieldRule) -> Value:
    items = tuple(
        ItemSource(item.key, WORKERS, rule.locked.get(item.key, ""), item.sent)
        for item in theirs.items
    )
    return Value(theirs.value, WORKERS, items)


def is_same(spec: SpecField, one: Any, other: Any) -> bool:
    """Whether two values mean the same: 1000M is 1G, and true is not 1."""
    one = spec.canonical(one)
    if spec.kind is Kind.ITEMIZED:
        return (one or None) == (other or None)
    if isinstance(one, str) and isinstance(other, str) and spec.kind is Kind.QUANTITY:
        return split_quantity(one) is not None and bool(size(spec, one) == size(spec, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)
