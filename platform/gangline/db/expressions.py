"""Expressions for queries whose plan a database without statistics would get wrong."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func
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
