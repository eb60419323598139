"""Many rows like a few that the product's own services made: of any model, without naming it."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models import CASCADE, CharField, Max, UUIDField

BATCH = 500


class Copies:
    """Copies of objects, with all that belongs to each of them; gone after the block."""

    def __init__(self, originals: Iterable[Any]) -> None:
        self._originals = list(originals)
        self._made: dict[Any, list[Any]] = defaultdict(list)
        self._number = 0

    def __enter__(self) -> "Copies":
        return self

    def __exit__(self, *error: object) -> None:
        with transaction.atomic():
            for model, pks in self._made.items():
                for start in range(0, len(pks), BATCH):
                    rows = model._base_manager.filter(pk__in=pks[start : start + BATCH])
                    rows._raw_delete(rows.db)

    def fill(self, count: int) -> None:
        """Copy until the table has ``count`` rows."""
        model = type(self._originals[0])
        missing = count - model._default_manager.count()
        whole = [_belonging(one) for one in self._originals]
        free = {type(one): _free(type(one)) for rows in whole for one in rows}
        with transaction.atomic():
            batch: dict[Any, list[Any]] = defaultdict(list)
            for place in range(missing):
                self._number += 1
                for one in _copied(whole[place % len(whole)], self._number, free):
                    batch[type(one)].append(one)
            for kind, rows in batch.items():
                kind._base_manager.bulk_create(rows, batch_size=BATCH)
                self._made[kind] += [one.pk for one in rows]
            with connection.cursor() as cursor:
                for sql in connection.ops.sequence_reset_sql(no_style(), list(batch)):
                    cursor.execute(sql)
                cursor.execute("ANALYZE")


def _belonging(obj: Any) -> list[Any]:
    """The object, what it alone points to, and what goes when it goes."""
    found: dict[tuple[Any, Any], Any] = {}
    ahead = [obj]
    while ahead:
        one = ahead.pop()
        if (type(one), one.pk) in found:
            continue
        found[type(one), one.pk] = one
        ahead += [getattr(one, name) for name in _own(type(one)) if getattr(one, name)]
        for relation in one._meta.related_objects:
            if relation.on_delete is CASCADE:
                ahead += relation.related_model._base_manager.filter(**{relation.field.name: one})
    return list(found.values())


def _own(model: Any) -> Iterator[str]:
    """Foreign keys whose target a copy cannot share."""
    unique = [one for one in model._meta.concrete_fields if one.unique and one.is_relation]
    yield from (one.name for one in unique)
    for fields in _constraints(model):
        relations = [one for one in fields if one.is_relation]
        if fields and not any(_varies(one) for one in fields) and len(relations) > 1:
            yield relations[0].name


def _constraints(model: Any) -> Iterator[list[Any]]:
    model = model._meta.concrete_model  # a proxy knows none
    for one in model._meta.total_unique_constraints + [
        one for one in model._meta.constraints if getattr(one, "condition", None) is not None
    ]:
        if fields := getattr(one, "fields", ()):
            yield [model._meta.get_field(name) for name in fields]


def _told_apart_by(fields: list[Any]) -> list[str]:
    """Of a constraint, what people choose freely: its names, if it has any."""
    names = [field.name for field in fields]
    return [name for name in names if "name" in name] or names


def _fixed(model: Any) -> set[str]:
    """Fields of which the database allows certain values only."""
    constraints = model._meta.concrete_model._meta.constraints
    conditions = (getattr(one, "condition", None) for one in constraints)
    return {name for one in conditions if one for name in one.referenced_base_fields}


def _varies(field: Any) -> bool:
    return isinstance(field, CharField | UUIDField) and not field.is_relation and not field.choices


def _free(model: Any) -> Iterator[Any]:
    """Primary keys that no row has."""
    if isinstance(model._meta.pk, UUIDField):
        return iter(uuid.uuid4, None)
    if isinstance(model._meta.pk, CharField):
        length = model._meta.pk.max_length
        return (uuid.uuid4().hex[:length] for _ in iter(int, 1))
    last = model._base_manager.aggregate(last=Max("pk"))["last"] or 0
    return iter(range(last + 1, 2**31))


def _copied(originals: Iterable[Any], number: int, free: dict[Any, Iterator[Any]]) -> Iterator[Any]:
    """Copies of these rows that point to each other as the rows do."""
    rows = list(originals)
    new = {(type(one), one.pk): next(free[type(one)]) for one in rows}
    for one in rows:
        model = type(one)
        named = {name for fields in _constraints(model) for name in _told_apart_by(fields)}
        named = (named | {"name"}) - _fixed(model)
        values: dict[str, Any] = {}
        for field in model._meta.concrete_fields:
            value = getattr(one, field.attname)
            if field.primary_key and not field.is_relation:
                value = new[model, one.pk]
            elif field.is_relation:
                value = new.get((field.related_model, value), value)
            elif value and _varies(field) and (field.unique or field.name in named):
                value = _varied(field, value, number)
            elif value and field.name in ("created_at", "at"):
                value -= timedelta(minutes=number)
            values[field.attname] = value
        yield model(**values)


def _varied(field: Any, value: Any, number: int) -> Any:
    if isinstance(value, uuid.UUID):
        return uuid.uuid4()
    text = f"-{number:05}"
    return f"{value[: (field.max_length or 60) - len(text)]}{text}"
