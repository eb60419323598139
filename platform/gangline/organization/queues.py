"""Who enforces a quota: Gangline where slots are its own, the queues of Volcano, or nobody.

For Volcano every department and project has a queue of its own, kept by `clusters.objects`: what is
there becomes what is wanted, whatever happened in between.
https://volcano.sh/en/docs/queue/
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet

from gangline.clusters import objects
from gangline.clusters.connections import gpu_of, scheduler_of
from gangline.clusters.models import Cluster, ClusterObject, ObjectState
from gangline.clusters.services import OURS
from gangline.scopes.models import Installation

from . import quotas
from .models import RESOURCES, Department, Project

Node = Department | Project
Amounts = Mapping[str, Decimal | None]
VOLCANO = "volcano"
_ABOVE = "workloads above the quota when another project needs its own."
_FREE = "Workloads above the quota are not stopped: this cluster's scheduler does not enforce it."
ROLE = "deploy/kubernetes/queues.yaml"
"""The right to keep queues, which administrators give apart from the rest."""


@dataclass(frozen=True, slots=True)
class Enforcement:
    """Whether the quota binds, and what happens above it."""

    is_enforced: bool
    sentence: str
    above: str
    """What happens to workloads above the quota."""


def enforcement(cluster: Cluster, own_queue: str = "") -> Enforcement:
    """Who enforces quotas on a cluster; ``own_queue``: of a project that names its own."""
    if cluster.capacity.get("admission") == OURS:
        sentence = "Enforced by Gangline, which assigns the slots of this cluster."
        return Enforcement(True, sentence, f"Gangline stops {_ABOVE}")
    if own_queue:
        return Enforcement(False, f"Not enforced: queue {own_queue} is managed elsewhere.", _FREE)
    if has_queues(cluster):
        sentence = "Enforced by Volcano, with a queue for each project."
        return Enforcement(True, sentence, f"Volcano stops {_ABOVE}")
    return Enforcement(False, "Not enforced by this cluster's scheduler.", _FREE)


def has_queues(cluster: Cluster) -> bool:
    """Whether quotas are handed to the cluster's scheduler."""
    return scheduler_of(cluster) == VOLCANO


def keep(node: Node) -> None:
    """Want the queues of the whole department: a change of one may clamp the others."""
    department = node.department if isinstance(node, Project) else node
    cluster = department.cluster
    if not has_queues(cluster):
        return
    projects = list(department.projects.filter(own_queue="").order_by("pk"))
    others = department.projects.exclude(own_queue="").values_list("pk", flat=True)
    objects.unwant(_kept("project", *others))
    owners = [("department", department), *(("project", one) for one in projects)]
    wanted = list(wanted_queues(department, projects))
    pairs = list(zip(owners, wanted, strict=True))
    known = _kept("department", department.pk).first()
    # The scheduler takes no child larger than its parent, at no time.
    if known is not None and _shrinks(known.wanted, wanted[0]):
        pairs.reverse()
    for (key, owner), manifest in pairs:
        objects.want(cluster, (key, str(owner.pk)), manifest)


def keep_all(cluster: Cluster) -> None:
    """Every queue of a cluster, whose scheduler or size may have changed meanwhile."""
    for department in cluster.departments.select_related("cluster"):
        keep(department)


def let_go(node: Node) -> None:
    """Take the queue away with what it is for."""
    key = "project" if isinstance(node, Project) else "department"
    objects.unwant(_kept(key, node.pk))


def queue_of(project: Project) -> str:
    """The queue in which the project's workloads wait; empty: the scheduler's default one."""
    if project.own_queue or not has_queues(project.cluster):
        return project.own_queue
    kept = _kept("project", project.pk).exclude(applied_hash="")
    found = kept.exclude(state=ObjectState.DELETING).first()
    return found.name if found else ""


def state_of(project: Project) -> str:
    """What stands on the project's page about its queue; empty where there are none."""
    if project.own_queue:
        return f"{project.own_queue}, managed outside Gangline"
    if not has_queues(project.cluster):
        return ""
    kept = _kept("project", project.pk).first()
    if kept is None:
        return "the scheduler's default queue"
    waits = "" if kept.applied_hash else " Workloads wait in the default queue until then."
    match kept.state:
        case ObjectState.OK:
            return kept.name
        case ObjectState.FORBIDDEN:
            return (
                f"{kept.name}: Gangline does not have permission to manage queues. Apply {ROLE} to "
                f"the cluster.{waits}"
            )
        case ObjectState.CONFLICT:
            return f"{kept.name}: some of its fields are managed elsewhere. {kept.why}"
        case ObjectState.FAILED:
            return f"{kept.name}: {kept.why}{waits}"
        case _:
            return f"{kept.name}: being applied.{waits}"


def wanted_queues(department: Department, projects: list[Project]) -> Iterator[dict[str, Any]]:
    """The department's queue, then those of ``projects``, none larger than what holds it."""
    install = str(Installation.objects.values_list("pk", flat=True).get())
    capacity = _capacity(department.cluster)
    whole = _together(department)
    shares = [_clamped(_together(one), capacity) for one in projects]
    totals = {one: sum((s.deserved[one] for s in shares), Decimal(0)) for one in RESOURCES}
    above = _clamped(whole, totals)
    yield _manifest(department, install, "d", "root", above)
    left = dict(above.deserved)
    name = _name(install, "d", department)
    for project, share in zip(projects, shares, strict=True):
        deserved = {one: min(share.deserved[one], left[one]) for one in RESOURCES}
        for one in RESOURCES:
            left[one] -= deserved[one]
        capability = {
            one: _least(share.capability[one], above.capability[one]) for one in RESOURCES
        }
        own = _Share(deserved, capability, share.weight)
        yield _manifest(project, install, "p", name, own)


@dataclass(frozen=True, slots=True)
class _Share:
    deserved: Mapping[str, Decimal]
    capability: Amounts
    weight: int


def _together(node: Node) -> tuple[Amounts, Amounts, int]:
    """Quota, ceiling and weight over all node pools: a queue knows none."""
    found = quotas.quotas_of(node)
    ceilings = {one: _sum([quota.ceiling(one) for quota in found]) for one in RESOURCES}
    return quotas.totals(found), ceilings, max([quota.share for quota in found], default=1)


def _clamped(share: tuple[Amounts, Amounts, int], instead: Mapping[str, Decimal]) -> _Share:
    """``instead`` takes the place of an unlimited quota: what is missing there counts as none."""
    quota, ceiling, weight = share
    deserved = {}
    for one in RESOURCES:
        amount = quota[one]
        deserved[one] = _least(instead[one] if amount is None else amount, ceiling[one])
    return _Share({k: v or Decimal(0) for k, v in deserved.items()}, ceiling, weight)


def _manifest(node: Node, install: str, kind: str, parent: str, share: _Share) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "parent": parent,
        "weight": share.weight,
        "reclaimable": True,
        "deserved": _quantities(node.cluster, share.deserved),
    }
    if capability := _quantities(node.cluster, share.capability):
        spec["capability"] = capability
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {
            "name": _name(install, kind, node),
            "labels": {"gangline.io/install": install, "gangline.io/owner": f"{kind}{node.pk}"},
        },
        "spec": spec,
    }


def _name(install: str, kind: str, node: Node) -> str:
    return f"gl-{install[:8]}-{kind}{node.pk}"


def _quantities(cluster: Cluster, amounts: Amounts) -> dict[str, str]:
    """Kubernetes quantities of what is limited; GPUs are devices, hence whole."""
    found = {}
    for one, value in amounts.items():
        if value is None:
            continue
        if one == "gpus":
            found[gpu_of(cluster)] = str(int(value))
        elif one == "cpus":
            found["cpu"] = f"{int(value * 1000)}m"
        else:
            found["memory"] = str(int(value))
    return found


def _capacity(cluster: Cluster) -> dict[str, Decimal]:
    capacity = cluster.capacity
    return {
        "gpus": Decimal(cluster.gpu_count),
        "cpus": Decimal(str(capacity.get("cpus") or 0)),
        "memory": Decimal(capacity.get("memory") or 0),
    }


def _least(*amounts: Decimal | None) -> Decimal | None:
    some = [one for one in amounts if one is not None]
    return min(some) if some else None


def _sum(amounts: list[Decimal | None]) -> Decimal | None:
    some = [one for one in amounts if one is not None]
    return sum(some, Decimal(0)) if len(some) == len(amounts) else None


def _shrinks(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    old, new = (one.get("spec", {}).get("deserved", {}) for one in (before, after))
    return any(_plain(new.get(name)) < _plain(value) for name, value in old.items())


def _plain(quantity: Any) -> Decimal:
    text = str(quantity or 0)
    return Decimal(text[:-1]) / 1000 if text.endswith("m") else Decimal(text)


def _kept(key: str, *ids: int) -> QuerySet[ClusterObject]:
    rows = ClusterObject.objects.filter(owner_type=key, owner_id__in=[str(pk) for pk in ids])
    return rows.order_by("pk")
