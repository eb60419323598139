"""What holds now: environment, then what was saved, then the default.

One query per request, none kept for the next: a change holds at once in every process.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.conf import settings

from gangline.db.once import once

from .catalogue import Declared
from .models import Setting

T = TypeVar("T", bool, int, str)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from: ``environment``, ``saved`` or ``default``."""

    source: str
    version: int = 0
    at: datetime | None = None
    by: str = ""


def value_of(declared: Declared[T]) -> T:
    """What holds for a setting now."""
    if (locked := _locked(declared)) is not None:
        return locked
    row = _stored(declared.key)
    value: Any = row.value if row is not None else None
    return value if _fits(declared, value) else declared.default


def origin_of(declared: Declared[Any]) -> Origin:
    """Where `value_of` comes from."""
    row = _stored(declared.key)
    version = row.version if row is not None else 0
    if _locked(declared) is not None:
        return Origin("environment", version)
    if row is None or row.value is None:
        return Origin("default", version)
    return Origin("saved", version, row.updated_at, str(row.updated_by or "the system"))


def _locked(declared: Declared[T]) -> T | None:
    given: T | None = (
        getattr(settings.GANGLINE, declared.environment) if declared.environment else None
    )
    return given


def _stored(key: str) -> Setting | None:
    return once("settings", lambda: {row.key: row for row in Setting.objects.all()}).get(key)


def _fits(declared: Declared[Any], value: object) -> bool:
    """A row that an older release wrote with another type does not count."""
    return type(value) is declared.kind
