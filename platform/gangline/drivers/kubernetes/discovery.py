"""What an API server says of the kinds that it knows.

https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
"""

from typing import Any

from .cancellation import Cancellation
from .client import Client
from .resources import Resource

GROUPS = "/apis"


def lacks(client: Client, resource: Resource, cancellation: Cancellation | None = None) -> bool:
    """Whether the API server itself says that it does not serve this kind.

    A 404 alone says less: whatever stands before the API server answers so for an address that it
    cannot place. Raises Unreachable.
    """
    if not resource.group:
        return False  # of the core API: every cluster has it
    groups = _listed(client, GROUPS, "groups", cancellation)
    if groups is None:
        return False
    own = [group for group in groups if group.get("name") == resource.group]
    versions = {one.get("version") for group in own for one in group.get("versions") or ()}
    if resource.version not in versions:
        return True
    kinds = _listed(client, resource.root, "resources", cancellation)
    return kinds is not None and all(kind.get("name") != resource.plural for kind in kinds)


def _listed(
    client: Client, path: str, what: str, cancellation: Cancellation | None
) -> list[dict[str, Any]] | None:
    """None: that was no answer of an API server."""
    answer = client.request("GET", path, cancellation=cancellation)
    return answer.body.get(what) if answer.ok else None
