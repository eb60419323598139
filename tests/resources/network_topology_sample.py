"""What the contract writes of network topologies."""

from typing import Any

from gangline.resources.registry import get
from gangline.resources.services import make, update
from tests.support.world import World

_LEVELS = ["topology.kubernetes.io/zone", "example.com/rack", "kubernetes.io/hostname"]


def _make(world: World, name: str) -> Any:
    return make("network_topology", cluster=world.cluster, name=name, levels=_LEVELS)


def _used(world: World, topology: Any) -> str:
    pool = world.cluster.pools.get(is_default=True)
    values = {"network_topology": topology}
    update(get("node_pool"), actor=None, obj=pool, values=values, version=None)
    return str(pool.name)


NETWORK_TOPOLOGY: dict[str, Any] = {
    "make": _make,
    "form": lambda world, name: {
        "cluster": world.cluster.pk,
        "name": name,
        "levels": "\n".join(_LEVELS),
    },
    "body": lambda world, name: {
        "clusterId": str(world.cluster.pk),
        "name": name,
        "levels": _LEVELS,
    },
    "edit": {"levels": "example.com/rack"},
    "body_edit": {"levels": ["example.com/rack"]},
    "bad": (("name", "A"), ("levels", ""), ("levels", "a b"), ("levels", "rack\nrack")),
    "bad_body": (
        ("name", 7),
        ("levels", "example.com/rack"),
        ("levels", []),
        ("levels", [7]),
        ("levels", ["a b"]),
        ("levels", ["a"] * 17),
        ("levels", ["rack", "rack"]),
        ("clusterId", "x"),
        ("clusterId", "3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11"),
    ),
    "used": _used,
}
