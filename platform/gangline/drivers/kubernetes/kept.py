"""Objects that Gangline keeps on a cluster beside workloads: applied and removed, never fought for.

https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

import time
from collections.abc import Mapping
from typing import Any

from gangline.drivers.base import Done, Kept, KeptObject
from gangline.lib.problems import Problem

from .client import Answer, Client, Unreachable
from .labels import INSTALL
from .namespaces import SETTLE, Namespaces
from .resources import CLAIMS, SECRETS, Resource
from .schedulers import ADAPTERS

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
KINDS: Mapping[tuple[str, str], Resource] = {
    (one.api_version, one.kind): one
    for one in (
        CLAIMS,
        CONFIG_MAPS,
        SECRETS,
        *(one.queues for one in ADAPTERS.values() if one.queues is not None),
    )
}
"""What may be kept, by ``apiVersion`` and kind; administrators give the rights for it."""


def apply(client: Client, kept: KeptObject) -> Kept:
    """Server-side apply of exactly what is wanted. Fields of another manager stay as they are."""
    resource = _resource(kept)
    if resource is None:
        return _unknown(kept)
    try:
        if kept.is_others:
            return _looked_for(client, kept, resource)
        answer = client.apply(resource, kept.namespace, kept.name, kept.wanted, force=False)
        if answer.status in (403, 404) and resource.namespaced:
            # The namespace of a project is made when something is first put into it.
            namespaces = Namespaces(client)
            told = namespaces.prepare(kept.namespace, _labels(kept.wanted).get(INSTALL, ""))
            if told is not None and not isinstance(told, Done):
                why = getattr(told, "reason", "")
                code = "namespace:why" if why else "namespace"
                return Kept("failed", Problem(code, "", {"said": why}))
            time.sleep(SETTLE)
            answer = client.apply(resource, kept.namespace, kept.name, kept.wanted, force=False)
    except Unreachable as why:
        return Kept("failed", Problem("unreachable", "", {"said": str(why)}))
    return _state(kept, answer)


def _looked_for(client: Client, kept: KeptObject, resource: Resource) -> Kept:
    """Whether an object of others is there."""
    answer = client.get(resource, kept.namespace, kept.name)
    if answer.status == 404:
        params = {"kind": kept.kind, "value": kept.name, "namespace": kept.namespace}
        return Kept("failed", Problem("missing:object", "", params))
    return _state(kept, answer)


def _state(kept: KeptObject, answer: Answer) -> Kept:
    if not answer.ok:
        return _refused(kept, answer)
    status = answer.body.get("status")
    if isinstance(status, Mapping) and status.get("phase") == "Lost":
        return Kept("failed", Problem("lost", "", {"value": kept.name}))
    return Kept("ok")


def remove(client: Client, kept: KeptObject) -> Kept:
    """Delete the object while it is the one that was applied; ``gone`` where there is none."""
    resource = _resource(kept)
    if resource is None or kept.is_others:
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
        return Kept("failed", Problem("unreachable", "", {"said": str(why)}))
    if answer.status == 404:
        return Kept("gone")
    # Deletion takes its time: the next look finds nothing.
    return Kept("deleting") if answer.ok else _refused(kept, answer)


def _resource(kept: KeptObject) -> Resource | None:
    return KINDS.get((str(kept.wanted.get("apiVersion", "")), kept.kind))


def _labels(wanted: Mapping[str, Any]) -> Mapping[str, str]:
    return (wanted.get("metadata") or {}).get("labels") or {}


def _unknown(kept: KeptObject) -> Kept:
    return Kept("failed", Problem("kind", "", {"value": kept.kind}))


def _refused(kept: KeptObject, answer: Answer) -> Kept:
    state = {403: "forbidden", 409: "conflict"}.get(answer.status, "failed")
    if said := answer.message[:400]:
        return Kept(state, Problem(state, "", {"raw": said, "value": kept.name}))
    params = {"status": answer.status, "value": kept.name}
    return Kept(state, Problem(f"{state}:status", "", params))
