"""Objects that Gangline keeps on a cluster beside workloads: applied and removed, never fought for.

https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from collections.abc import Mapping
from typing import Any

from gangline.drivers.base import Kept, KeptObject
from gangline.lib.problems import Problem

from . import labels
from .client import Answer, Client, Unreachable
from .namespaces import Namespaces
from .resources import SECRETS, Resource
from .schedulers import ADAPTERS

KINDS: Mapping[tuple[str, str], Resource] = {
    (one.api_version, one.kind): one
    for one in (SECRETS, *(a.queues for a in ADAPTERS.values() if a.queues is not None))
}
"""What may be kept, by ``apiVersion`` and kind; administrators give the rights for it."""


def apply(client: Client, kept: KeptObject) -> Kept:
    """Server-side apply of exactly what is wanted. Fields of another manager stay as they are."""
    resource = _resource(kept)
    if resource is None:
        return _unknown(kept)
    try:
        if kept.namespace and (said := _room(client, kept)) is not None:
            return said
        answer = client.apply(resource, kept.namespace, kept.name, kept.wanted, force=False)
    except Unreachable as why:
        return Kept("failed", Problem("unreachable", "", {"raw": str(why)}))
    return Kept("ok") if answer.ok else _refused(kept, answer)


def remove(client: Client, kept: KeptObject) -> Kept:
    """Delete the object while it is the one that was applied; ``gone`` where there is none."""
    resource = _resource(kept)
    if resource is None:
        return Kept("gone")
    try:
        answer = client.get(resource, kept.namespace, kept.name)
        if answer.status == 404:
            return Kept("gone")
        if not answer.ok:
            return _refused(kept, answer)
        meta = answer.body.get("metadata") or {}
        if not _labels(kept.wanted).items() <= (meta.get("labels") or {}).items():
            return Kept("gone")  # of this name there is another's
        answer = client.delete(resource, kept.namespace, kept.name, uid=str(meta["uid"]))
    except Unreachable as why:
        return Kept("failed", Problem("unreachable", "", {"raw": str(why)}))
    if answer.status == 404:
        return Kept("gone")
    # Deletion takes its time: the next look finds nothing.
    return Kept("deleting") if answer.ok else _refused(kept, answer)


def _room(client: Client, kept: KeptObject) -> Kept | None:
    """Make the namespace where there is none yet, as a project's first workload does."""
    install = str(_labels(kept.wanted).get(labels.INSTALL, ""))
    said = Namespaces(client).prepare(kept.namespace, install)
    if said is None:
        return None
    raw = getattr(said, "reason", "") or "The namespace is not ready."
    return Kept("failed", Problem("namespace", "", {"raw": str(raw), "value": kept.namespace}))


def _resource(kept: KeptObject) -> Resource | None:
    return KINDS.get((str(kept.wanted.get("apiVersion", "")), kept.kind))


def _labels(wanted: Mapping[str, Any]) -> Mapping[str, str]:
    return (wanted.get("metadata") or {}).get("labels") or {}


def _unknown(kept: KeptObject) -> Kept:
    says = f"{kept.kind} is no kind of object that Gangline keeps."
    return Kept("failed", Problem("kind", "", {"raw": says, "value": kept.kind}))


def _refused(kept: KeptObject, answer: Answer) -> Kept:
    state = {403: "forbidden", 409: "conflict"}.get(answer.status, "failed")
    says = answer.message[:400] or f"The cluster answered {answer.status}."
    return Kept(state, Problem(state, "", {"raw": says, "value": kept.name}))
