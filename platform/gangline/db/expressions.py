"""Expressions for queries that a database would otherwise answer by reading too much."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, Func, IntegerField, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.db.models.sql.compiler import SQLCompiler


class Unindexed(Func):
    """A column that SQLite checks row by row, so that the sort order chooses the index."""

    arity = 1
    template = "%(expressions)s"

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        sql, parameters = self.as_sql(compiler, connection, template="+%(expressions)s", **context)
        return sql, tuple(parameters)


def total(rows: QuerySet[Any], by: str, what: Any = None, kind: Any = IntegerField) -> Coalesce:
    """``what`` (how many, unless given) over those ``rows`` whose ``by`` is the row annotated.

    Not by a join: then a list would be grouped as a whole before its first page is cut.
    """
    own = rows.filter(**{by: OuterRef("pk")}).order_by().values(by)
    found = own.annotate(total=what or Count("pk")).values("total")
    return Coalesce(Subquery(found, output_field=kind()), Value(0, output_field=kind()))
