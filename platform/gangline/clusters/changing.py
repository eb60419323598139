"""The settings of a Kubernetes cluster: judged whole, stored whole, never over another's."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.db import IntegrityError, transaction

from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.audit import actions
from gangline.audit.services import record
from gangline.clusters.connections import prefix_of
from gangline.clusters.models import Cluster
from gangline.db.locks import locked
from gangline.drivers.kubernetes.schedulers import ADAPTERS, best
from gangline.scopes.models import Scope

from .intake import PREFIX, Wrong, check_prefix
from .kubernetes import changed

QUEUE, REJECT = "queue", "reject"
UNREACHABLE = {QUEUE: "Workloads wait", REJECT: "Workloads are refused"}
"""What becomes of a submission while the cluster does not answer."""
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_RESOURCE = re.compile(rf"(?=.{{1,253}}/){_LABEL}(?:\.{_LABEL})+/gpu")


@dataclass(frozen=True, slots=True)
class Settings:
    """What an administrator decides about a cluster, as texts; empty: as Gangline finds best."""

    name: str
    scheduler: str = ""
    prefix: str = PREFIX
    gpu: str = ""
    """Resource that stands for one GPU."""
    unreachable: str = QUEUE


@dataclass(frozen=True, slots=True)
class Choice:
    """A scheduler to choose, and what the last check found of it."""

    name: str
    title: str
    said: str
    is_there: bool
    is_proven: bool = True


LABELS = {
    "name": "Name",
    "scheduler": "Scheduler",
    "prefix": "Prefix of namespaces",
    "gpu": "GPU resource",
    "unreachable": "When it does not answer",
}


class Overtaken(Exception):
    """Somebody else changed the settings since they were shown; ``row`` is how they are now."""

    def __init__(self, row: Cluster) -> None:
        super().__init__(row.name)
        self.row = row


def settings_of(cluster: Cluster) -> Settings:
    """The settings as they are stored."""
    return Settings(
        name=cluster.name,
        scheduler=str(cluster.config.get("scheduler") or ""),
        prefix=prefix_of(cluster),
        gpu=str(cluster.config.get("gpuResource") or ""),
        unreachable=cluster.when_unreachable,
    )


def read(post: Mapping[str, Any], prefix: str = "") -> Settings:
    """The settings as they were posted, below names that begin with ``prefix``."""
    return Settings(**{name: str(post.get(prefix + name, "")).strip()[:300] for name in LABELS})


def rebased(wanted: Settings, shown: Settings, stored: Settings) -> Settings:
    """``stored`` with only what a person made different from what the page had ``shown``."""
    own = {
        name: getattr(wanted, name)
        for name in LABELS
        if getattr(wanted, name) != getattr(shown, name)
    }
    return replace(stored, **own)


def choices(cluster: Cluster) -> list[Choice]:
    """Every scheduler: whether the last check found it, and why it cannot be chosen."""
    listed = cluster.facts.get("detail", {}).get("schedulers")
    there = {str(one["name"]) for one in listed or ()}
    found = [Choice("", "The best that the cluster has", _now_best(there), is_there=True)]
    for name, one in ADAPTERS.items():
        # The name of a program stays as it is; a description begins as a sentence does.
        title = f"{one.title[:1].upper()}{one.title[1:]}" if " " in one.title else one.title
        is_there = name in there or listed is None
        if listed is None:
            said = "Not looked for yet."
        elif is_there:
            said = "Found by the last check." if one.api else "Every cluster has it."
        else:
            said = f"Not there: the cluster does not serve {one.api}."
        found.append(Choice(name, title, said, is_there, one.is_proven))
    return found


def problems(cluster: Cluster, wanted: Settings) -> Iterator[Wrong]:
    """Everything that is wrong with ``wanted``."""
    if not wanted.name or len(wanted.name) > 63 or not wanted.name.isprintable():
        yield Wrong("name", "Name must be 1 to 63 visible characters.")
    elif Cluster.objects.filter(name=wanted.name).exclude(pk=cluster.pk).exists():
        yield Wrong("name", f"There is already a cluster {wanted.name}. Choose another name.")
    before = settings_of(cluster)
    known = {one.name: one for one in choices(cluster)}
    chosen = known.get(wanted.scheduler)
    if chosen is None:
        yield Wrong("scheduler", "Scheduler must be one of those that are shown.")
    elif not chosen.is_there and wanted.scheduler != before.scheduler:
        says = f"{chosen.said} Install it and check again, or choose another."
        yield Wrong("scheduler", f"{chosen.title} cannot be chosen. {says}")
    yield from check_prefix(wanted.prefix)
    if wanted.gpu and not _RESOURCE.fullmatch(wanted.gpu):
        says = "GPU resource must be a resource that counts GPUs, such as amd.com/gpu, or empty."
        yield Wrong("gpu", says)
    if wanted.unreachable not in UNREACHABLE:
        yield Wrong("unreachable", "Choose whether workloads wait or are refused.")


def change(*, actor: Actor, cluster: Cluster, revision: int, wanted: Settings) -> list[str]:
    """Store ``wanted``, which has no problems; returns the labels of what is different now.

    Raises Overtaken when ``revision`` is not the one that is stored, NotAllowed, or NameTaken.
    """
    if not can(actor.user, Permission.CLUSTER_EDIT, cluster.scope):
        raise NotAllowed(Permission.CLUSTER_EDIT, cluster.scope)
    with transaction.atomic():
        row = locked(Cluster.objects.select_related("changed_by").filter(pk=cluster.pk)).get()
        before = settings_of(row)
        if row.revision != revision:
            raise Overtaken(row)
        was, now = asdict(before), asdict(wanted)
        different = [name for name in LABELS if was[name] != now[name]]
        if not different:
            return []
        _store(row, wanted)
        changed(row, by=actor)
        record(
            actor=actor,
            action=actions.CLUSTER_CHANGE,
            object_type="cluster",
            object_id=str(row.pk),
            object_name=row.name,
            scope=row.scope,
            detail={name: {"from": was[name], "to": now[name]} for name in different},
        )
    return [LABELS[name] for name in different]


class NameTaken(Exception):
    """Another cluster got the name at the same moment."""


def _store(row: Cluster, wanted: Settings) -> None:
    row.name, row.when_unreachable = wanted.name, wanted.unreachable
    row.config = {
        **row.config,
        "scheduler": wanted.scheduler,
        "namespacePrefix": wanted.prefix,
        "gpuResource": wanted.gpu,
    }
    try:
        with transaction.atomic():
            row.save(update_fields=["name", "when_unreachable", "config"])
            Scope.objects.filter(pk=row.scope_id).update(name=wanted.name)
    except IntegrityError as error:
        raise NameTaken(wanted.name) from error


def _now_best(there: set[str]) -> str:
    if not there:
        return "Decided by the next check."
    title = ADAPTERS[best(there)].title
    return f"Now {title}. Follows when a better one is installed."
