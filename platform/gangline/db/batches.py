"""Many rows stored in one statement: an ``UPDATE`` for each costs most of its time outside the
database."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection
from django.db.models import Field, Model


def update_rows(rows: Sequence[Model], names: Iterable[str] = ()) -> None:
    """Store columns of rows of one model, whatever values they have; all loaded ones unless named.

    As ``save(update_fields=…)`` of each, without signals. The caller holds their locks and gives a
    few hundred at most. Unlike ``bulk_update`` it is no ``CASE`` for each row and column.
    """
    if not rows:
        return
    meta = rows[0]._meta
    fields = _named(rows[0], names)
    columns = [*(field for field in meta.concrete_fields if field.primary_key), *fields]
    table, (key, *changed) = _quoted(meta.db_table), [_quoted(str(f.column)) for f in columns]
    sets = ", ".join(f"{name} = v.column{n}" for n, name in enumerate(changed, start=2))
    first = ", ".join(_typed(field) for field in columns)
    other = ", ".join(["%s"] * len(columns))
    values = ", ".join([f"({first})", *[f"({other})"] * (len(rows) - 1)])
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET {sets} FROM (VALUES {values}) AS v"  # noqa: S608  its own names
            f" WHERE {table}.{key} = v.column1",
            [_value(field, row) for row in rows for field in columns],
        )


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)


def _named(row: Model, names: Iterable[str]) -> "list[Field[Any, Any]]":
    meta, deferred, wanted = row._meta, row.get_deferred_fields(), set(names)
    loaded = [f for f in meta.concrete_fields if not f.primary_key and f.attname not in deferred]
    found = [f for f in loaded if not wanted or f.name in wanted or f.attname in wanted]
    if wanted - {name for field in found for name in (field.name, field.attname)}:
        raise ValueError(f"{meta.label} has no loaded columns {sorted(wanted)}.")
    return found


def _typed(field: "Field[Any, Any]") -> str:
    """The first row tells PostgreSQL the types; SQLite would take the cast for a conversion."""
    if connection.vendor != "postgresql":
        return "%s"
    kind = str(field.cast_db_type(connection))
    return f"CAST(%s AS {kind.partition('(')[0]})"  # with its length, the cast would cut silently


def _value(field: "Field[Any, Any]", row: Model) -> Any:
    return field.get_db_prep_save(getattr(row, field.attname), connection)
