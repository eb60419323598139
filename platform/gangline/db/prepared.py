"""Queries whose SQL is written once: for short lists that costs more than running it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet
from django.db.models.sql import Query


@dataclass(frozen=True, slots=True)
class Prepared:
    """The rows of a ``values_list()``, as often as they are asked for."""

    query: Query
    sql: str
    parameters: tuple[Any, ...]
    converted: Mapping[int, Any]
    """Columns whose values the database does not give as they are, by their place."""

    def rows(self, *parameters: Any) -> list[tuple[Any, ...]]:
        """The rows now; ``parameters`` take the place of those the query was prepared with."""
        if not self.sql:
            return []
        with connection.cursor() as cursor:
            cursor.execute(self.sql, parameters or self.parameters)
            found: list[Sequence[Any]] = cursor.fetchall()
        # Made anew each time: they belong to the connection of this thread.
        compiler = self.query.get_compiler(connection=connection)
        made = compiler.get_converters(list(self.converted.values()))
        converters = dict(zip(self.converted, made.values(), strict=True))
        return [tuple(row) for row in compiler.apply_converters(found, converters)]


def prepare(rows: QuerySet[Any, Any]) -> Prepared:
    """Write the SQL of ``rows``, a ``values_list()``."""
    compiler = rows.query.get_compiler(connection=connection)
    try:
        sql, parameters = compiler.as_sql()
    except EmptyResultSet:
        return Prepared(rows.query, "", (), {})
    columns = [column for column, *_ in compiler.select]
    converted = {place: columns[place] for place in compiler.get_converters(columns)}
    return Prepared(rows.query, sql, tuple(parameters), converted)
