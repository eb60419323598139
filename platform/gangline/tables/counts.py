"""Counts that stay cheap at any size: none goes on past the cap."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

CAP = 1000


def capped(parts: Mapping[str, QuerySet[Any]]) -> dict[str, int]:
    """Rows of each query, in one statement; ``CAP + 1`` stands for more than CAP."""
    selects: list[str] = []
    parameters: list[Any] = []
    for rows in parts.values():
        try:
            sql, given = rows.order_by().values("pk")[: CAP + 1].query.sql_with_params()
        except EmptyResultSet:  # a filter that nothing can pass
            selects.append("0")
            continue
        selects.append(f"(SELECT COUNT(*) FROM ({sql}) counted)")  # noqa: S608  built by the ORM
        parameters += given
    if not selects:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(selects)}", parameters)
        row = cursor.fetchone()
    return dict(zip(parts, row, strict=True))


def in_words(count: int) -> str:
    """``128``, or ``1 000+`` past the cap."""
    return str(count) if count <= CAP else "1\N{NO-BREAK SPACE}000+"
