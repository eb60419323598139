"""The spec as a flat list of fields: how the form, API, CLI, policies and drivers read it."""

import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import annotated_types
from pydantic import BaseModel

from .base import (
    SECTIONS,
    Alternative,
    AtLeast,
    Default,
    Guarded,
    ItemKey,
    Limits,
    NamesCredential,
    Only,
    Percent,
    Reads,
    Restricted,
    Several,
    Synonyms,
    Ui,
    Unique,
    Voluntary,
    When,
    WorkloadLevel,
)
from .types import DurationMark, Format, SizeRange

Bound = int | float | str
Note = TypeVar("Note")


class Kind(StrEnum):
    """What sort of value a field holds."""

    BOOLEAN = "boolean"
    CHOICE = "choice"
    INTEGER = "integer"
    NUMBER = "number"
    QUANTITY = "quantity"
    DURATION = "duration"
    STRING = "string"
    COMMAND = "command"
    ITEMIZED = "itemized"

    @property
    def is_numeric(self) -> bool:
        """Whether values have an order, so that a least and a largest one make sense."""
        return self in (Kind.INTEGER, Kind.NUMBER, Kind.QUANTITY, Kind.DURATION)


@dataclass(frozen=True)
class SpecField:
    """One field. ``path`` is its JSON path in a replica, such as ``compute.gpuDevicesRequest``.

    A DURATION is a whole number of seconds. ``minimum`` and ``maximum`` of a QUANTITY are texts.
    """

    path: str
    kind: Kind
    ui: Ui
    default: Any = None
    is_ruled: bool = False
    """The default is a policy's, which applies where no value is given."""
    minimum: Bound | None = None
    maximum: Bound | None = None
    exclusive_minimum: Bound | None = None
    choices: tuple[str, ...] = ()
    max_length: int | None = None
    max_items: int | None = None
    items: tuple["SpecField", ...] = ()
    item_key: str = ""
    workload_level: bool = False
    has_twin: bool = False
    """Of what exists once per workload: clients know it as a field of the master too."""
    only: tuple[str, ...] = ()
    required: bool = False
    """An attribute that every item of its list must have."""
    at_least: str = ""
    """Path of the field whose value this one must not be smaller than."""
    guarded: bool = False
    is_voluntary: bool = False
    """No policy can require it."""
    restricted: Restricted | None = None
    """Only a policy can allow it."""
    format: Format | None = None
    synonyms: tuple[tuple[str, str], ...] = ()
    """Other spellings of choices, each with the choice it stands for."""
    alternative: str = ""
    """Of an attribute: what people call the one of several that it belongs to."""
    conditions: tuple[When | Limits, ...] = ()
    """Rules between it and other fields, whose ``name`` is a path here."""
    units: tuple[str, ...] = ()
    """Units of a quantity that a form offers."""
    group: str = ""
    """Of an attribute inside of another one: what that one is called."""
    reads: Reads | None = None
    """What else is taken for a value of it."""
    is_percent: bool = False
    """A number from 0 to 1 that people read and type in percent."""
    unique: Callable[[str], str] | None = None
    """Of an attribute that must differ from item to item: gives what is compared."""
    unique_across: str = ""
    """The lists whose attribute has the same word here share what is taken."""
    credential: NamesCredential | None = None
    """Of an attribute that names a credential."""
    is_several: bool = False
    """A text of several names, separated by commas."""

    @property
    def label(self) -> str:
        return self.ui.label

    @property
    def flag(self) -> str:
        """CLI flag without dashes."""
        name = self.path.rsplit(".", 1)[-1]
        return self.ui.flag or "".join(f"-{c.lower()}" if c.isupper() else c for c in name)

    @property
    def has_bounds(self) -> bool:
        """Whether a least and a largest number hold for its values, or for each number in them."""
        return self.kind.is_numeric or (self.format is not None and self.format.numbers is not None)

    def numbers(self, value: Any) -> Sequence[Any]:
        """What bounds are compared with."""
        read = self.format.numbers if self.format else None
        return read(value) if read else [value]

    @property
    def shown_with(self) -> When | None:
        """The choice that a form shows it with; None: it has a meaning whatever is chosen."""
        return next((c for c in self.conditions if isinstance(c, When) and c.values), None)

    @property
    def goes_with(self) -> When | None:
        """The attribute that a row shows it with, for some of its values or for any."""
        return next((c for c in self.conditions if isinstance(c, When)), None)

    @property
    def is_array(self) -> bool:
        """In JSON a list of plain values, such as ``["h100", "default"]``."""
        return self._is_told_otherwise and len(self.items) == 1

    @property
    def is_opaque(self) -> bool:
        """In JSON an object of another's making, whose parts no policy rules."""
        return self._is_told_otherwise and len(self.items) > 1

    @property
    def _is_told_otherwise(self) -> bool:
        if self.kind is not Kind.ITEMIZED or self.reads is None:
            return False
        return self.reads.show is not None and not self.reads.keeps_items

    @property
    def pair(self) -> str:
        """The attribute behind the sign where an item is written as ``KEY=VALUE``; empty: none."""
        others = [one for one in self.items if one.path != self.item_key]
        texts = [one for one in others if one.kind is Kind.STRING]
        plain = [o.path for o in texts if len(others) == 1 or (o.alternative and o.path == "value")]
        return next(iter(plain), "")

    @property
    def is_by_item(self) -> bool:
        """A list that is merged item by item; any other value is replaced as a whole."""
        return self.kind is Kind.ITEMIZED and not self._is_told_otherwise

    def canonical(self, value: Any) -> Any:
        """``value`` with other spellings replaced by what the spec declares."""
        if self.reads is not None:
            return self.reads.read(value)
        return dict(self.synonyms).get(value, value) if isinstance(value, str) else value

    def attribute(self, name: str) -> "SpecField | None":
        """The attribute ``name`` of the items of a list, such as ``claimInfo.size``."""
        return next((item for item in self.items if item.path == name), None)

    @cached_property
    def alternatives(self) -> Mapping[str, str]:
        """Of which an item has exactly one, by JSON name, each with what people call it."""
        return {i.path.partition(".")[0]: i.alternative for i in self.items if i.alternative}

    def flat(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """The values of an item of a list by attribute; None where it is empty."""
        return {attribute.path: _inside(item, attribute.path) for attribute in self.items}

    def complete(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """The same with the defaults of the attributes."""
        said = self.flat(item)
        return {a.path: a.default if said[a.path] is None else said[a.path] for a in self.items}

    def telling(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """``values`` of an item without how to use a credential where none is named."""
        idle = tuple(
            f"{a.path.rpartition('.')[0]}."
            for a in self.items
            if a.credential and "." in a.path and values[a.path] is None
        )
        return {path: None if path.startswith(idle) else v for path, v in values.items()}


@cache
def catalogue(model: type[BaseModel]) -> Mapping[str, SpecField]:
    """All fields of ``model`` by path, nested objects flattened, in the order of the form:
    by section, what exists once per workload first, then as declared.

    Raises TypeError, naming the field, when a note that a field must carry is missing.
    """
    fields = {field.path: field for field in _walk(model, "")}
    for field in fields.values():
        if field.ui.section not in SECTIONS:
            known = ", ".join(SECTIONS)
            raise TypeError(f"{field.path}: the section of its Ui note must be one of {known}")
        if field.required:
            raise TypeError(f"{field.path}: it must be optional; None means that nobody said it")
        others = (field.at_least, *(rule.name for rule in field.conditions))
        if strange := next((name for name in others if name and name not in fields), ""):
            raise TypeError(f"{field.path}: a note names {strange}, which does not exist")
    return MappingProxyType(dict(sorted(fields.items(), key=lambda entry: _place(entry[1]))))


def _place(field: SpecField) -> tuple[int, bool]:
    return (tuple(SECTIONS).index(field.ui.section), not field.workload_level)


def _inside(item: Mapping[str, Any], path: str) -> Any:
    found: Any = item
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _walk(model: type[BaseModel], prefix: str) -> Iterator[SpecField]:
    for name, info in model.model_fields.items():
        path = f"{prefix}{info.alias or name}"
        annotation, notes = _unwrap(info.annotation, info.metadata)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            notes_of = _Notes(path, notes)
            one_of = notes_of.take(Alternative, lambda note: note.label, "")
            group = notes_of.take(Ui, lambda note: note.label, "")
            guarded = notes_of.get(Guarded) is not None
            for field in _walk(annotation, f"{path}."):
                yield replace(
                    field,
                    alternative=one_of or field.alternative,
                    group=field.group or group,
                    guarded=field.guarded or guarded,
                )
        else:
            yield _field(path, annotation, _Notes(path, notes), required=info.is_required())


def _unwrap(annotation: Any, notes: list[Any]) -> tuple[Any, list[Any]]:
    """Take ``X | None`` and ``Annotated[X, …]`` apart."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        given = [a for a in typing.get_args(annotation) if a is not type(None)]
        return _unwrap(given[0], notes) if len(given) == 1 else (annotation, notes)
    if typing.get_origin(annotation) is typing.Annotated:
        inner, *more = typing.get_args(annotation)
        return _unwrap(inner, [*_flat(more), *notes])
    return annotation, notes


def _flat(notes: list[Any]) -> Iterator[Any]:
    """``Field(max_length=…)`` inside an alias arrives whole, with the constraints inside it."""
    for note in notes:
        yield from getattr(note, "metadata", [note])


class _Notes:
    """The notes of one field by type."""

    def __init__(self, path: str, notes: list[Any]) -> None:
        self.path = path
        self._found = {type(note): note for note in notes}

    def get(self, note_type: type[Note]) -> Note | None:
        return self._found.get(note_type)

    def need(self, note_type: type, why: str) -> Any:
        if note_type not in self._found:
            raise TypeError(f"{self.path}: {why} needs a {note_type.__name__} note")
        return self._found[note_type]

    def take(self, note_type: type, read: Callable[[Any], Any], otherwise: Any = None) -> Any:
        note = self._found.get(note_type)
        return otherwise if note is None else read(note)


def _field(path: str, annotation: Any, notes: _Notes, *, required: bool) -> SpecField:
    group = path.rsplit(".", 1)[0] + "." if "." in path else ""
    common: dict[str, Any] = {
        "path": path,
        "ui": notes.need(Ui, "a spec field"),
        "required": required,
        "default": notes.take(Default, lambda note: note.value),
        "workload_level": notes.get(WorkloadLevel) is not None,
        "has_twin": notes.take(WorkloadLevel, lambda note: note.has_twin, False),
        "is_voluntary": notes.get(Voluntary) is not None,
        "only": notes.take(Only, lambda note: note.frameworks, ()),
        "guarded": notes.get(Guarded) is not None,
        "restricted": notes.get(Restricted),
        "alternative": notes.take(Alternative, lambda note: note.label, ""),
        "reads": notes.get(Reads),
        "credential": notes.get(NamesCredential),
        "is_percent": notes.get(Percent) is not None,
        "is_several": notes.get(Several) is not None,
        "unique": notes.take(Unique, lambda note: note.alike),
        "unique_across": notes.take(Unique, lambda note: note.across, ""),
        "at_least": notes.take(AtLeast, lambda note: f"{group}{note.name}", ""),
        "conditions": (
            *notes.take(When, lambda note: (replace(note, name=f"{group}{note.name}"),), ()),
            *notes.take(Limits, lambda note: (replace(note, name=f"{group}{note.name}"),), ()),
        ),
    }
    return SpecField(**common, **_of_kind(path, annotation, notes))


def _of_kind(path: str, annotation: Any, notes: _Notes) -> dict[str, Any]:
    if typing.get_origin(annotation) is list:
        return _list_of(path, typing.get_args(annotation)[0], notes)
    if typing.get_origin(annotation) is typing.Literal:
        synonyms = notes.take(Synonyms, lambda note: tuple(note.canonical.items()), ())
        return {"kind": Kind.CHOICE, "choices": typing.get_args(annotation), "synonyms": synonyms}
    if annotation is bool:
        return {"kind": Kind.BOOLEAN}
    if annotation in (int, float):
        return _number(annotation, notes)
    if annotation is not str:
        raise TypeError(f"{path}: a spec field cannot be of type {annotation!r}")
    return _string(notes)


def _list_of(path: str, item: Any, notes: _Notes) -> dict[str, Any]:
    if not (isinstance(item, type) and issubclass(item, BaseModel)):
        raise TypeError(f"{path}: the items of a list must be objects, not {item!r}")
    attributes = tuple(_walk(item, f"{path}[]."))
    named = tuple(_renamed(field, len(path) + 3) for field in attributes)
    key = notes.need(ItemKey, "a list").name
    if key not in {field.path for field in named}:
        raise TypeError(f"{path}: ItemKey names {key}, which its items do not have")
    return {
        "kind": Kind.ITEMIZED,
        "items": named,
        "item_key": key,
        "max_items": notes.need(annotated_types.MaxLen, "a list").max_length,
    }


def _renamed(field: SpecField, prefix: int) -> SpecField:
    conditions = tuple(replace(one, name=one.name[prefix:]) for one in field.conditions)
    return replace(field, path=field.path[prefix:], conditions=conditions)


def _number(annotation: type, notes: _Notes) -> dict[str, Any]:
    kind = Kind.NUMBER if annotation is float else Kind.INTEGER
    exclusive = notes.take(annotated_types.Gt, lambda note: note.gt)
    return {
        "kind": Kind.DURATION if notes.get(DurationMark) else kind,
        "exclusive_minimum": exclusive,
        "minimum": notes.need(annotated_types.Ge, "a number").ge if exclusive is None else None,
        "maximum": notes.need(annotated_types.Le, "a number").le,
    }


def _string(notes: _Notes) -> dict[str, Any]:
    format_ = notes.get(Format)
    kinds = {"quantity": Kind.QUANTITY, "command": Kind.COMMAND}
    kind = kinds.get(format_.name, Kind.STRING) if format_ else Kind.STRING
    sizes = notes.need(SizeRange, "a quantity") if kind is Kind.QUANTITY else None
    return {
        "kind": kind,
        "format": format_,
        "max_length": notes.need(annotated_types.MaxLen, "text").max_length,
        "minimum": sizes.minimum if sizes else None,
        "maximum": sizes.maximum if sizes else None,
        "units": sizes.units if sizes else (),
    }
