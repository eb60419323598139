"""Where the values of a workload, an asset or a template name credentials."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gangline.spec.base import NamesCredential
from gangline.spec.catalogue import SpecField, catalogue
from gangline.spec.problems import Role
from gangline.spec.values import nest
from gangline.spec.workload import SPEC

PULL = "imagePullSecrets"
VARIABLES = "environmentVariables"


@dataclass(frozen=True, slots=True)
class Reference:
    """One name: the list that it stands in, which item, and under which attribute."""

    role: Role
    field: SpecField
    index: int
    attribute: SpecField
    name: str
    is_personal: bool
    key: str | None
    """Of the credential; None where the whole of it is meant."""

    @property
    def note(self) -> NamesCredential:
        return self.attribute.credential or NamesCredential()

    @property
    def path(self) -> str:
        return f"{self.field.path}.{self.index}.{self.attribute.path}"

    @property
    def key_path(self) -> str:
        return f"{self.path.rpartition('.')[0]}.key"


@cache
def naming() -> Mapping[str, tuple[SpecField, tuple[SpecField, ...]]]:
    """Lists whose items name credentials, by path, with the attributes that do."""
    found = {}
    for path, field in catalogue(SPEC.worker).items():
        attributes = tuple(one for one in field.items if one.credential is not None)
        if attributes:
            found[path] = (field, attributes)
    return found


def references(values: Mapping[str, Any]) -> Iterator[Reference]:
    """Every reference in ``values`` by qualified path; what is no list of objects has none."""
    for path, value in values.items():
        role, _, inner = path.partition(".")
        if inner not in naming() or not isinstance(value, list):
            continue
        field, attributes = naming()[inner]
        for index, item in enumerate(value):
            if isinstance(item, Mapping):
                yield from _of_item(Role(role), field, attributes, index, item)


def replaced(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """``values`` in which every personal credential is named by its Secret, as drivers know them.

    ``names``: Secret by the name that the owner gave. Of another name there is nothing to start.
    """
    found = dict(values)
    for one in references(values):
        if not one.is_personal:
            continue
        path = f"{one.role}.{one.field.path}"
        items = list(found[path])
        flat = {k: v for k, v in one.field.flat(items[one.index]).items() if v is not None}
        items[one.index] = nest(_shared(one, flat, names.get(one.name, "")))
        found[path] = items
    return found


def _shared(one: Reference, flat: Mapping[str, Any], secret: str) -> dict[str, Any]:
    personal = one.note.is_personal
    if isinstance(personal, str):
        group = one.attribute.path.rpartition(".")[0]
        mark = f"{group}.{personal}" if group else personal
        return {k: v for k, v in flat.items() if k != mark} | {one.attribute.path: secret}
    kept = {k: v for k, v in flat.items() if not k.startswith("userCredential.")}
    return kept | {"secret.name": secret, "secret.key": one.key or ""}


def _of_item(
    role: Role,
    field: SpecField,
    attributes: tuple[SpecField, ...],
    index: int,
    item: Mapping[str, Any],
) -> Iterator[Reference]:
    flat = field.flat(item)
    for attribute in attributes:
        name, note = flat[attribute.path], attribute.credential
        if not isinstance(name, str) or not name or note is None:
            continue
        group = attribute.path.rpartition(".")[0]
        prefix = f"{group}." if group else ""
        is_personal = note.is_personal
        if isinstance(is_personal, str):
            is_personal = flat.get(f"{prefix}{is_personal}") is True
        key = flat.get(f"{prefix}key") if field.attribute(f"{prefix}key") else None
        yield Reference(role, field, index, attribute, name, bool(is_personal), key)
