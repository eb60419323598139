"""One action on many workloads, carried out a few at a time through `lifecycle`.

The ids are frozen when it begins. Each result is stored in the transaction of its action, so
whatever is interrupted goes on where it was, and nothing is done twice.
"""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet

from gangline.access.actor import Actor
from gangline.access.refusals import NotAllowed, NotVisible
from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.lib.fail_points import fail_point
from gangline.spec.problems import InvalidSpec
from workloads import wakeup
from workloads.models import BulkAction, BulkItem, ItemState, Workload
from workloads.services import lifecycle

log = logging.getLogger(__name__)

MOST = 10_000
ROWS_A_TURN = 50
SECONDS_A_TURN = 1.0
KEEP = timedelta(days=14)
BROKEN = "Internal error. See the server log."

VERBS: Mapping[str, Callable[..., Workload]] = {
    "stop": lifecycle.stop,
    "resume": lifecycle.resume,
    "rerun": lifecycle.rerun,
    "delete": lifecycle.delete,
}


class TooMany(ValueError):
    """More workloads than one action takes."""


def begin(
    *, actor: Actor, key: UUID, action: str, rows: QuerySet[Workload], query: str = ""
) -> BulkAction:
    """Freeze which workloads ``rows`` are and have them acted on. The same key is the same action.

    Raises TooMany, and NotVisible for the key of another user.
    """
    if (known := BulkAction.objects.filter(pk=key).first()) is not None:
        if known.actor_id != actor.user.pk:
            raise NotVisible
        return known
    with transaction.atomic():
        now = db_now()
        made = BulkAction.objects.create(
            pk=key, actor=actor.user, action=action, query=query, created_at=now, due_at=now
        )
        made.total = _freeze(made, rows)
        if made.total > MOST:
            raise TooMany
        made.save(update_fields=["total"])
        transaction.on_commit(wakeup.ring)
    return made


def _freeze(action: BulkAction, rows: QuerySet[Workload]) -> int:
    """One statement, however many there are."""
    sql, parameters = rows.order_by().values("id")[: MOST + 1].query.sql_with_params()
    quote = connection.ops.quote_name
    key = BulkAction._meta.pk.get_db_prep_value(action.pk, connection)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {quote(BulkItem._meta.db_table)} (action_id, workload_id, state, problem)"  # noqa: S608  names of our own
            f" SELECT %s, frozen.id, %s, '' FROM ({sql}) frozen",
            [key, ItemState.WAITING, *parameters],
        )
        frozen: int = cursor.rowcount
        return frozen


def is_due() -> bool:
    return BulkAction.objects.filter(due_at__lte=db_now()).exists()


def turn() -> None:
    """Act on the next rows of the oldest action, for about a second."""
    action = BulkAction.objects.filter(due_at__lte=db_now()).order_by("due_at").first()
    if action is None:
        return
    until = time.monotonic() + SECONDS_A_TURN
    waiting = action.items.filter(state=ItemState.WAITING).order_by("id")
    items = list(waiting.values_list("pk", flat=True)[:ROWS_A_TURN])
    actor = Actor(user=action.actor, channel="form")
    for pk in items:
        _take(actor, action.action, pk)
        if time.monotonic() > until:
            break
    # To the end of the line, so that a long action does not hold up a short one.
    now = db_now()
    action.due_at = now if waiting.exists() else None
    action.save(update_fields=["due_at"])
    if action.due_at is None:
        BulkAction.objects.filter(due_at=None, created_at__lt=now - KEEP).delete()


def _take(actor: Actor, action: str, pk: int) -> None:
    with transaction.atomic():
        item = locked(BulkItem.objects.filter(pk=pk, state=ItemState.WAITING)).first()
        if item is None:
            return
        try:
            with transaction.atomic():
                item.state, item.problem = _act(actor, action, item.workload_id)
        except DatabaseError:
            raise
        except Exception:
            # Else this row would be the first of every turn, for ever.
            log.exception("%s of workload %s broke", action, item.workload_id)
            item.state, item.problem = ItemState.REFUSED, BROKEN
        item.save(update_fields=["state", "problem"])
        fail_point("bulk.before_commit")
    fail_point("bulk.after_commit")


def _act(actor: Actor, action: str, workload_id: UUID) -> tuple[ItemState, str]:
    try:
        VERBS[action](actor=actor, workload_id=workload_id)
    except (lifecycle.AlreadyEnded, lifecycle.BeingDeleted, lifecycle.NotEnded) as late:
        return ItemState.SKIPPED, str(late)[:400]
    except NotVisible:
        return ItemState.SKIPPED, "It no longer exists."
    except NotAllowed as refusal:
        return ItemState.REFUSED, refusal.sentence[:400]
    except InvalidSpec as refusal:
        return ItemState.REFUSED, " ".join(p.sentence for p in refusal.problems)[:400]
    return ItemState.OK, ""
