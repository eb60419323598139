"""Row locks that never make two transactions wait for each other."""

from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


def locked(rows: QuerySet[Row]) -> QuerySet[Row]:
    """``rows`` locked until the end of the transaction, those of joined tables not, by primary key.

    ``FOR NO KEY UPDATE``: a transaction that inserts a row which points here checks the foreign key
    when it commits, with every lock in its hands, and must not have to wait for this one.
    https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-ROWS
    """
    return rows.select_for_update(of=("self",), no_key=True).order_by("pk")


def update_in_order(rows: QuerySet[Row], **values: Any) -> int:
    """``UPDATE`` of many rows that takes their locks in the order in which all others take them."""
    with transaction.atomic():
        keys = list(locked(rows).values_list("pk", flat=True))
        return rows.model._default_manager.filter(pk__in=keys).update(**values)
