"""Columns of sealed texts: the key file that they share, and how all of them come to a new key.

An app that keeps secrets seals with `key_file` and registers its column; `gangline-manage keys`
then counts, reseals and retires for it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Model

from gangline.lib.sealing import CannotOpen, KeyFile, Keyring, key_of

BATCH = 100


class StillUsed(Exception):
    """The key seals credentials, so it cannot go; with the number of them."""


@dataclass(frozen=True)
class SealedColumn:
    """The texts in ``sealed`` of a model."""

    model: type[Model]
    context: Callable[[Any], str]
    """What the text of a row is sealed for."""
    name: Callable[[Any], str]
    """How a sentence names the row."""
    related: tuple[str, ...] = ()
    """Foreign keys that both need."""


_columns: list[SealedColumn] = []


def register(column: SealedColumn) -> None:
    """Let the keys of this column be turned over with all others."""
    _columns.append(column)


def key_file() -> KeyFile:
    """The file of the keys of this installation."""
    known = settings.GANGLINE
    return _key_file(known.sealing_keys, known.keys_file is None)


@cache
def _key_file(path: Path, may_make: bool) -> KeyFile:
    return KeyFile(path, may_make=may_make)


def counts() -> dict[str, int]:
    """How many credentials each key seals."""
    found: dict[str, int] = {}
    for column in _columns:
        rows = column.model._default_manager.exclude(sealed="").values_list("sealed", flat=True)
        for sealed in rows.iterator():
            found[key_of(sealed)] = found.get(key_of(sealed), 0) + 1
    return found


def reseal() -> Iterator[int]:
    """Bring every credential under the current key; yields how many were done so far.

    May be stopped and begun again anywhere. A credential that is replaced meanwhile stays replaced.
    Raises CannotOpen, naming the row, for one that no key opens.
    """
    keyring, done = key_file().keyring(), 0
    for column in _columns:
        for row in _elsewhere(column, keyring):
            try:
                sealed = keyring.resealed(column.context(row), row.sealed)
            except CannotOpen as why:
                raise CannotOpen(f"{column.name(row)}: {why}") from why
            rows = column.model._default_manager.filter(pk=row.pk, sealed=row.sealed)
            done += rows.update(sealed=sealed)
            yield done


def retire(kid: str) -> None:
    """Forget a key that seals nothing. Raises StillUsed or CannotSeal."""
    _refuse_used(kid)
    line = key_file().remove(kid)
    try:
        # Who read the old file a moment ago may just have sealed with it.
        _refuse_used(kid)
    except StillUsed:
        key_file().put_back(line)
        raise


def _refuse_used(kid: str) -> None:
    used = counts().get(kid, 0)
    if used:
        some = "1 credential is" if used == 1 else f"{used} credentials are"
        raise StillUsed(f"{some} sealed with {kid}. Run gangline-manage keys rotate first.")


def _elsewhere(column: SealedColumn, keyring: Keyring) -> Iterator[Any]:
    """Rows under other keys, in small batches, so that nothing is held for long."""
    last = None
    while True:
        rows = column.model._default_manager.select_related(*column.related).order_by("pk")
        rows = rows.exclude(sealed__startswith=f"v1.{keyring.current}.").exclude(sealed="")
        batch: list[Any] = list((rows.filter(pk__gt=last) if last else rows)[:BATCH])
        yield from batch
        if len(batch) < BATCH:
            return
        last = batch[-1].pk
