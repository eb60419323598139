"""The connection check of a cluster, run beside the request that asked for it.

A page shows the steps as they come; they are kept with the cluster until the next check.
"""

import logging
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import close_old_connections, connections

from gangline.db.clock import db_now

from . import services
from .connections import KUBERNETES, Unconnectable, client_for
from .drivers.base import Health
from .drivers.kubernetes import probing
from .drivers.kubernetes.steps import State, Step
from .models import Cluster, ConnectionCheck

log = logging.getLogger(__name__)

LONGEST = timedelta(seconds=probing.BUDGET + 15)
"""A check that has run for longer broke off: its process ended."""

After = Callable[[Health], None]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the last check of a cluster is."""

    steps: tuple[Step, ...]
    to_come: tuple[str, ...]
    started_at: datetime
    is_running: bool
    broke_off: bool


def is_for(cluster: Cluster) -> bool:
    """Whether clusters of this kind have a check of their own."""
    return cluster.kind == KUBERNETES


def progress(cluster: Cluster) -> Progress | None:
    """The last check; None before the first one."""
    row = ConnectionCheck.objects.filter(cluster=cluster).first()
    if row is None:
        return None
    steps = tuple(Step.from_json(one) for one in row.steps)
    is_old = db_now() - row.started_at > LONGEST
    is_running = row.ended_at is None and not is_old
    seen = {step.name for step in steps}
    to_come = tuple(name for name in probing.NAMES if name not in seen)
    return Progress(
        steps, to_come, row.started_at, is_running, row.ended_at is None and not is_running
    )


def start(cluster: Cluster, *, after: After = lambda health: None) -> threading.Thread:
    """Begin a check in a thread of its own; ``after`` is told how it ended.

    One that still runs is overtaken: it goes on and writes nothing any more.
    """
    run = uuid.uuid4()
    ConnectionCheck.objects.update_or_create(
        cluster=cluster,
        defaults={"run": run, "steps": [], "started_at": db_now(), "ended_at": None},
    )
    thread = threading.Thread(
        target=_run, args=(cluster.pk, run, after), name=f"check-{cluster.name}", daemon=True
    )
    thread.start()
    return thread


def _run(cluster_id: uuid.UUID, run: uuid.UUID, after: After) -> None:
    try:
        look(Cluster.objects.get(pk=cluster_id), run, after)
    except Cluster.DoesNotExist:
        pass
    except Exception:
        log.exception("the check of cluster %s broke", cluster_id)
    finally:
        connections.close_all()


def look(cluster: Cluster, run: uuid.UUID, after: After) -> None:
    """The check itself: writes each step as it is known, then what was learned."""
    own = ConnectionCheck.objects.filter(cluster=cluster, run=run)
    steps: list[Step] = []

    def tell(step: Step) -> None:
        steps.append(step)
        own.update(steps=[one.as_json() for one in steps])
        # The next step may take seconds: no connection is held while a cluster is waited for.
        close_old_connections()

    try:
        client = client_for(cluster)
    except Unconnectable as why:
        tell(Step("Credential", State.FAILED, str(why)))
        health = Health(reachable=False, reason=str(why))
    else:
        scheduler = cluster.config.get("scheduler", "")
        health = probing.probe(client, scheduler=scheduler, tell=tell, ask_rights=True)
    if own.exists():
        services.store_health(cluster, health)
        if health.reachable:
            services.store_capacity(cluster, health.capacity or probing.capacity(client))
    own.update(ended_at=db_now())
    after(health)
