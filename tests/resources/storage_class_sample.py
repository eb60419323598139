"""What the contract writes of storage classes."""

from typing import Any

from gangline.clusters import storage
from gangline.clusters.models import StorageClass
from tests.support.world import World


def _listed(world: World, name: str) -> StorageClass:
    """As the probe of a cluster finds it, beside those that were there before."""
    rows = StorageClass.objects.filter(cluster=world.cluster).values_list("name", flat=True)
    there = [{"name": one, "provisioner": "csi.example"} for one in (*rows, name)]
    storage.store(world.cluster, there)
    return StorageClass.objects.get(cluster=world.cluster, name=name)


def _body(world: World, name: str) -> dict[str, Any]:
    """A class is there once its cluster has it; a client configures it."""
    _listed(world, name)
    size = {"claimSize": {"max": "10Gi"}}
    return {
        "scopeType": "cluster",
        "scopeId": str(world.cluster.pk),
        "name": name,
        "customization": size,
    }


STORAGE_CLASS: dict[str, Any] = {
    "make": _listed,
    "body": _body,
    "edit": {"max_size": "10Gi"},
    "body_edit": {"customization": {"claimSize": {"max": "10Gi"}}},
}
