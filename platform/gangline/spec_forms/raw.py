"""What a person typed for one role, kept exactly as typed (R21, R25).

A scalar is a text, with a unit where the field has one; a list is ordered rows, each with an id
of its own. Parsing happens elsewhere, on read: here nothing is judged and nothing is discarded.
"""

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gangline.spec.sources import YOU, Source

CHOICE = "~choice"
"""Beside the texts of a row: which of its alternatives it is about; absent for the first."""
UNIT = "~unit"
"""Ends the name of the unit of an amount."""
ASIDE = "~aside"
"""Ends the name of what another choice rules out: kept for when it counts again, and not said."""
WHOLE = "whole"
"""Id of a removed row that says: these rows are the list, whatever would stand without them."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Text of one scalar field."""

    text: str
    unit: str = ""
    source: Source = YOU

    def same_text(self, other: "Typed | None") -> bool:
        return other is not None and (self.text, self.unit) == (other.text, other.unit)


@dataclass(frozen=True, slots=True)
class Row:
    """One item of a list. ``of`` names the inherited item that this row replaces or removes."""

    id: str
    texts: Mapping[str, str] = field(default_factory=dict)
    source: Source = YOU
    of: str = ""
    removed: bool = False

    @property
    def blank(self) -> bool:
        said = (text for name, text in self.texts.items() if not name.endswith((UNIT, ASIDE)))
        return not any(text.strip() for text in said)


@dataclass(frozen=True, slots=True)
class RoleInputs:
    """Everything typed for one role, by field path."""

    scalars: Mapping[str, Typed] = field(default_factory=dict)
    lists: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "RoleInputs":
        return cls(
            scalars={
                path: Typed(str(v["text"]), str(v.get("unit", "")), Source.from_json(v.get("from")))
                for path, v in data.items()
                if "text" in v
            },
            lists={
                path: tuple(_row_from_json(row) for row in v["rows"])
                for path, v in data.items()
                if "rows" in v
            },
        )

    def to_json(self) -> dict[str, Any]:
        scalars: dict[str, Any] = {
            path: {
                "text": t.text,
                "from": t.source.to_json(),
                **({"unit": t.unit} if t.unit else {}),
            }
            for path, t in self.scalars.items()
        }
        lists = {
            path: {"rows": [_row_to_json(r) for r in rows]} for path, rows in self.lists.items()
        }
        return scalars | lists

    def with_scalar(self, path: str, typed: Typed | None) -> "RoleInputs":
        """The same with ``path`` set, or taken away when ``typed`` is None."""
        rest = {p: t for p, t in self.scalars.items() if p != path}
        return replace(self, scalars=rest if typed is None else {**rest, path: typed})

    def shown(self, path: str) -> Typed | None:
        """What its control shows: what is said, or what another choice has put aside."""
        return self.scalars.get(path) or self.scalars.get(path + ASIDE)

    def with_rows(self, path: str, rows: Iterable[Row]) -> "RoleInputs":
        kept = tuple(rows)
        rest = {p: r for p, r in self.lists.items() if p != path}
        return replace(self, lists={**rest, path: kept} if kept else rest)

    def without_source(self, source: Source) -> "RoleInputs":
        """The same without what came from ``source``, such as the template chosen before."""
        return RoleInputs(
            {p: t for p, t in self.scalars.items() if t.source != source},
            {
                p: kept
                for p, rows in self.lists.items()
                if (kept := tuple(r for r in rows if r.source != source))
            },
        )

    def under(self, other: "RoleInputs") -> "RoleInputs":
        """``other`` on top of this: what both have is taken from ``other``, lists as a whole."""
        return RoleInputs({**self.scalars, **other.scalars}, {**self.lists, **other.lists})


def same_texts(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two rows say the same. An attribute that came later is empty in an old draft."""
    return {k: v for k, v in one.items() if v} == {k: v for k, v in other.items() if v}


def new_row_id() -> str:
    return secrets.token_hex(4)


def inherited_row_id(key: str) -> str:
    """Id of the row that shows the inherited item ``key``: the same on every rendering."""
    return f"d{hashlib.sha256(key.encode(errors='surrogatepass')).hexdigest()[:10]}"


def _row_from_json(data: Mapping[str, Any]) -> Row:
    return Row(
        id=str(data["id"]),
        texts={str(k): str(v) for k, v in data.get("texts", {}).items()},
        source=Source.from_json(data.get("from")),
        of=str(data.get("of", "")),
        removed=bool(data.get("removed", False)),
    )


def _row_to_json(row: Row) -> dict[str, Any]:
    data: dict[str, Any] = {"id": row.id, "texts": dict(row.texts), "from": row.source.to_json()}
    if row.of:
        data["of"] = row.of
    if row.removed:
        data["removed"] = True
    return data
