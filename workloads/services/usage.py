"""What workloads use of the quotas of their projects: answers for the organisation."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from gangline.organization import queues, quotas, usage
from gangline.organization.models import RESOURCES, Department, Project, Quota
from gangline.spec.words import plain_number
from workloads.models import Attempt, Workload
from workloads.services import admission
from workloads.services.asking import Totals
from workloads.services.quota import Shares
from workloads.services.walk import cover
from workloads.statuses import statuses_of

_RUNNING = Q(workload__status__in=(*statuses_of("running"), "Initializing"))
_WAITING = statuses_of("waiting")


class Source:
    """Answers `gangline.organization.usage`."""

    def held(self, projects: Iterable[Project]) -> Mapping[int, usage.Held]:
        ids = [one.pk for one in projects]
        return _by_project(_holding(Q(workload__project__in=ids)))

    def waiting(self, projects: Iterable[Project]) -> int:
        ids = [one.pk for one in projects]
        rows = Workload.objects.filter(project__in=ids, deleted_at=None, status__in=_WAITING)
        placed = _holding(Q(workload__project__in=ids)).order_by().values("workload")
        return rows.exclude(pk__in=placed).count()

    def over_quota(self, node: Project | Department, quotas: Iterable[Quota]) -> set[str]:
        shares = Shares(node.cluster, quotas)
        attempts = list(_holding(Q(workload__cluster=node.cluster)))
        gangs = [shares.gang(a.workload.project_id, admission.need_of(a)) for a in attempts]
        cover(gangs)
        own = (
            {node.pk}
            if isinstance(node, Project)
            else {*node.projects.values_list("pk", flat=True)}
        )
        return {
            str(attempt.workload_id)
            for attempt, gang in zip(attempts, gangs, strict=True)
            if gang.over_quota and attempt.workload.project_id in own
        }

    def changed(self, node: Project | Department) -> None:
        transaction.on_commit(lambda: admission.request(node.cluster_id))


def gpus_used(path: str) -> Coalesce:
    """GPUs in use of a project or department; ``path``: from a workload to it."""
    return _sum(path, Sum("gpus_in_use"), Q())


def running(path: str) -> Coalesce:
    return _sum(path, Count("pk"), Q(status__in=statuses_of("running")))


def sentence(project: Project, totals: Totals, standing: admission.Standing) -> str:
    """``Project vision: 1 + 2 = 3 of 2 GPUs`` and what follows from it."""
    if admission.hands_out_slots(standing.cluster):
        held = _by_project(standing.holding).get(project.pk, usage.Held())
        together = quotas.totals(standing.shares.quotas_of(project))
    else:
        held = usage.held_by(project)
        together = quotas.totals(quotas.quotas_of(project))
    asked = {"gpus": totals.gpus, "cpus": totals.cpus, "memory": totals.memory_bytes}
    limited = [one for one in RESOURCES if asked[one] and together[one] is not None]
    if not limited:
        return ""
    over = [one for one in limited if getattr(held, one) + asked[one] > float(together[one] or 0)]
    shown = (over or limited)[0]
    scale, unit = (10**9, "GB of memory") if shown == "memory" else (1, quotas.UNITS[shown])
    used, this, quota = (
        plain_number(round(float(value) / scale, 2))
        for value in (getattr(held, shown), asked[shown], together[shown] or 0)
    )
    both = plain_number(round((getattr(held, shown) + asked[shown]) / scale, 2))
    text = f"Project {project.name}: {used} + {this} = {both} of {quota} {unit}, "
    text += "over quota" if over else "in quota"
    enforcement = queues.enforcement(project.cluster)
    if not enforcement.is_enforced:
        return f"{text}. {enforcement.sentence}"
    return f"{text}: it {'may' if over else 'will not'} be stopped when others need their quota."


def _by_project(attempts: Iterable[Attempt]) -> dict[int, usage.Held]:
    """What these hold together, by the id of the project."""
    found: dict[int, usage.Held] = defaultdict(usage.Held)
    for attempt in attempts:
        need = admission.need_of(attempt)
        held = {one: need.total(one) for one in RESOURCES}
        more = usage.Held(held["gpus"], held["cpus"], int(held["memory"]), running=1)
        found[attempt.workload.project_id] += more
    return found


def _holding(condition: Q) -> QuerySet[Attempt]:
    """Attempts that hold slots or pods, in the order in which they got them."""
    rows = Attempt.objects.filter(
        condition,
        Q(placement__isnull=False) | _RUNNING,
        outcome="",
        no=F("workload__attempt_no"),
        workload__deleted_at=None,
    )
    return (
        rows.select_related("workload")
        .defer("rendered")
        .order_by(F("placed_at").asc(nulls_last=True), "started_at", "pk")
    )


def _sum(path: str, total: Any, condition: Q) -> Coalesce:
    rows = Workload.objects.filter(condition, deleted_at=None, **{path: OuterRef("pk")})
    found = rows.order_by().values(path).annotate(total=total).values("total")
    return Coalesce(Subquery(found), 0)
