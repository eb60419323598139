"""Nodes as the probe found them, each in its pool. Nobody else writes them."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.db import transaction

from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.drivers.facts import NodeFact

from .models import Cluster, Node, NodePool

STATUSES = ("Ready", "NotReady", "Cordoned", "Unknown")
BATCH = 500


def store(cluster: Cluster, found: Sequence[NodeFact]) -> int:
    """Write what differs from the last look; returns how many rows that were."""
    known = dict(Node.objects.filter(cluster=cluster).values_list("name", "digest"))
    digests = {one.name: _digest(one) for one in found}
    changed = [one for one in found if known.get(one.name) != digests[one.name]]
    gone = known.keys() - digests.keys()
    if not changed and not gone:
        return 0
    now = db_now()
    with transaction.atomic():
        # Two looks at once, and a change of the pools, come one after the other.
        if locked(Cluster.objects.filter(pk=cluster.pk)).first() is None:
            return 0
        pools = _pools(cluster)
        rows = [
            Node(
                cluster=cluster,
                pool_id=_pool_of(one.labels, pools),
                digest=digests[one.name],
                created_at=now,
                seen_at=now,
                **asdict(one),
            )
            for one in changed
        ]
        Node.objects.bulk_create(
            rows,
            batch_size=BATCH,
            update_conflicts=True,
            unique_fields=["cluster", "name"],
            update_fields=[
                "pool", "status", "labels", "taints", "cpu", "memory", "gpus", "gpu_type",
                "digest", "seen_at",
            ],
        )  # fmt: skip
        for names in _batches(sorted(gone)):
            Node.objects.filter(cluster=cluster, name__in=names).delete()
    return len(changed) + len(gone)


def sort_into_pools(cluster: Cluster) -> None:
    """Give every node its pool anew, after a pool was made, changed or deleted."""
    pools, now = _pools(cluster), db_now()
    moved: dict[int | None, list[int]] = {}
    rows = Node.objects.filter(cluster=cluster).values_list("pk", "labels", "pool_id")
    for pk, labels, pool_id in rows.iterator():
        wanted = _pool_of(labels, pools)
        if wanted != pool_id:
            moved.setdefault(wanted, []).append(pk)
    for pool, pks in moved.items():
        for some in _batches(pks):
            Node.objects.filter(pk__in=some).update(pool_id=pool, seen_at=now)


def _pools(cluster: Cluster) -> list[NodePool]:
    """Those with a label in the order in which they were made, the default one last."""
    return list(NodePool.objects.filter(cluster=cluster).order_by("is_default", "pk"))


def _pool_of(labels: Mapping[str, str], pools: Iterable[NodePool]) -> int | None:
    for pool in pools:
        if pool.is_default or labels.get(pool.label_key) == pool.label_value:
            return pool.pk
    return None


def _digest(one: NodeFact) -> str:
    text = json.dumps(asdict(one), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _batches(found: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (found[at : at + BATCH] for at in range(0, len(found), BATCH))
