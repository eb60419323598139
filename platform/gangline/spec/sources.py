"""A value of a workload together with where it comes from, from the form to the stored attempt."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class SourceKind(StrEnum):
    """Who gave a value. Of those that are not given, ``default`` is the product's own."""

    YOU = "you"
    TEMPLATE = "template"
    COPY = "copy"
    ASSET = "asset"
    WORKERS = "workers"
    POLICY = "policy"
    FIXED = "fixed"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value comes from.

    ``id`` is that of a template, a copied workload or an asset; ``name`` is that of the asset, or
    of the policy's scope, such as "project vision". It is stored as it is; words for people are
    made where they are shown.
    """

    kind: SourceKind
    id: str = ""
    name: str = ""

    @property
    def is_given(self) -> bool:
        """Whether a person, or what a person chose, gave the value."""
        return self.kind in (
            SourceKind.YOU,
            SourceKind.TEMPLATE,
            SourceKind.COPY,
            SourceKind.ASSET,
        )

    @property
    def is_policy(self) -> bool:
        return self.kind in (SourceKind.POLICY, SourceKind.FIXED)

    def to_json(self) -> dict[str, str]:
        told = (("kind", str(self.kind)), ("id", self.id), ("name", self.name))
        return {name: part for name, part in told if part}

    @classmethod
    def from_json(cls, data: Mapping[str, str] | None) -> "Source":
        """The source that ``to_json`` wrote; a person where none was written."""
        if data is None:
            return YOU
        return cls(SourceKind(data["kind"]), data.get("id", ""), data.get("name", ""))


YOU = Source(SourceKind.YOU)
WORKERS = Source(SourceKind.WORKERS)
DEFAULT = Source(SourceKind.DEFAULT)


def template_source(pk: object) -> Source:
    return Source(SourceKind.TEMPLATE, str(pk))


def copy_source(pk: object) -> Source:
    return Source(SourceKind.COPY, str(pk))


def asset_source(pk: object, name: str) -> Source:
    return Source(SourceKind.ASSET, str(pk), name)


def policy_source(scope: str) -> Source:
    return Source(SourceKind.POLICY, name=scope)


@dataclass(frozen=True, slots=True)
class ItemSource:
    """Where one item of a list comes from.

    ``locked`` names the scope that locks it; ``sent`` is its index in what was sent.
    """

    key: str
    source: Source
    locked: str = ""
    sent: int | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """A value and its source; of an effective list, ``items`` has the source of each item."""

    value: Any
    source: Source = YOU
    items: tuple[ItemSource, ...] = ()

    def to_json(self) -> dict[str, Any]:
        # Not `asdict`: it copies every value deeply, thousands of times for a long list.
        items = [
            {"key": i.key, "source": i.source.to_json(), "locked": i.locked, "sent": i.sent}
            for i in self.items
        ]
        plain = {"value": self.value, "source": self.source.to_json()}
        return {**plain, "items": items} if items else plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Value":
        return cls(data["value"], Source.from_json(data["source"]), _items(data.get("items", ())))


def _items(data: Iterable[Mapping[str, Any]]) -> tuple[ItemSource, ...]:
    return tuple(
        ItemSource(i["key"], Source.from_json(i["source"]), i["locked"], i["sent"]) for i in data
    )


Values = Mapping[str, Value]
"""By qualified path, such as ``worker.compute.gpuDevicesRequest``."""


def asset_ids(values: Values) -> set[str]:
    """Of every asset that gave a value, or an item of a list."""
    sources = [value.source for value in values.values()]
    sources += [item.source for value in values.values() for item in value.items]
    return {source.id for source in sources if source.kind is SourceKind.ASSET and source.id}


def to_json(values: Values) -> dict[str, dict[str, Any]]:
    return {path: value.to_json() for path, value in values.items()}


def from_json(data: Mapping[str, Mapping[str, Any]]) -> dict[str, Value]:
    return {path: Value.from_json(value) for path, value in data.items()}
