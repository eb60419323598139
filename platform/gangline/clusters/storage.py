"""Storage classes: the probe lists them, administrators say what volumes may ask of each."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction

from gangline.db.clock import db_now
from gangline.spec.storage_classes import Classes, classes_of

from .models import Cluster, StorageClass


def store(cluster: Cluster, found: Iterable[Mapping[str, Any]]) -> None:
    """Write what differs from the last look; what an administrator said of a class stays."""
    known = {row.name: row for row in StorageClass.objects.filter(cluster=cluster)}
    seen = {str(one["name"]): one for one in found}
    now = db_now()
    with transaction.atomic():
        for name, one in seen.items():
            facts = {
                "provisioner": str(one.get("provisioner", ""))[:253],
                "is_default": bool(one.get("default")),
            }
            row = known.get(name)
            if row is None:
                StorageClass.objects.create(
                    cluster=cluster, name=name[:253], created_at=now, updated_at=now, **facts
                )
            elif any(getattr(row, key) != value for key, value in facts.items()):
                StorageClass.objects.filter(pk=row.pk).update(**facts)
        if gone := known.keys() - seen.keys():
            StorageClass.objects.filter(cluster=cluster, name__in=gone).delete()
            publish(cluster)


def storage_facts(cluster: Cluster) -> Mapping[str, Any]:
    """What a probe found of storage, with what administrators said of it."""
    return {**cluster.facts.get("detail", {}), "storageRules": cluster.storage}


def classes(cluster: Cluster) -> Classes:
    """Its storage classes, as far as administrators said something of them."""
    return classes_of(storage_facts(cluster))


def publish(cluster: Cluster) -> None:
    """Keep the rules of its classes with the cluster: whoever judges a volume has them at hand."""
    rows = StorageClass.objects.filter(cluster=cluster)
    rules = {row.name: row.rules for row in rows if row.rules}
    Cluster.objects.filter(pk=cluster.pk).update(storage=rules)
    cluster.storage = rules
