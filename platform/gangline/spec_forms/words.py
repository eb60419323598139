"""Values as people read them on a page."""

from collections.abc import Mapping
from typing import Any

from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.sources import Source, SourceKind
from gangline.spec.words import with_unit
from gangline.spec_forms.item_texts import is_sheet
from gangline.web import formats

_YES_NO = {True: "Yes", False: "No"}


def readable(field: SpecField, value: Any, displayed: Mapping[str, str] | None = None) -> str:
    """``value`` with its unit: ``256 MB``, ``4 GPUs``. ``displayed`` are the policy's words."""
    if value is None or value == "":
        return formats.NOTHING
    if displayed and str(value) in displayed:
        return displayed[str(value)]
    if isinstance(value, bool):
        return _YES_NO[value]
    return with_unit(field, value)


def in_words(field: SpecField, value: Any) -> str:
    """``value`` of any field; the items of a list one after another, each with its key."""
    if field.kind is not Kind.ITEMIZED:
        return readable(field, value)
    return ", ".join(f"{i.get(field.item_key)} {item_in_words(field, i)}" for i in value or ())


def item_in_words(spec: SpecField, item: Mapping[str, Any]) -> str:
    """An item of a list without its key: ``dedicated Exists``, ``Secret wandb / api-key``.

    One that has a sheet of its own: ``/data · 500 GB · Read-write by many nodes``.
    """
    words: list[str] = []
    groups: dict[str, list[str]] = {}
    values = spec.telling(spec.complete(item))
    for attribute in spec.items:
        value = values[attribute.path]
        if attribute.path == spec.item_key or value in (None, "", False):
            continue
        word = attribute.label if value is True else readable(attribute, value)
        if attribute.alternative and "." in attribute.path:
            groups.setdefault(attribute.alternative, []).append(word)
        else:
            words.append(word)
    words += [f"{name} {' / '.join(said)}" for name, said in groups.items()]
    return (" · " if is_sheet(spec) else " ").join(words)


def source_in_words(source: Source) -> str:
    """Where a value comes from, for who may not see a template or a copied workload by name."""
    if source.kind is SourceKind.FIXED:
        return f"fixed by {source.name}"
    words = {
        SourceKind.POLICY: f"policy {source.name}",
        SourceKind.COPY: "copied",
        SourceKind.ASSET: source.name,
        SourceKind.SCRIPT: "from the script",
    }
    return words.get(source.kind, str(source.kind))


def count(number: int, one: str, several: str = "") -> str:
    """``1 worker``, ``4 workers``."""
    return f"{number} {one}" if number == 1 else f"{number} {several or one + 's'}"
