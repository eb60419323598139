"""What workloads use of the quotas of their projects: answers for the organisation."""

from collections.abc import Iterable, Mapping

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from gangline.db.expressions import total
from gangline.organization import queues, quotas, usage
from gangline.organization.models import RESOURCES, Department, Project, Quota
from gangline.spec.words import plain_number
from workloads.models import Attempt, Workload
from workloads.services import admission
from workloads.services.quota import Shares
from workloads.services.submission_types import Totals
from workloads.services.walk import cover
from workloads.statuses import ENDED, STATUSES, statuses_of

_PODS_RUN = (*statuses_of("running"), "Initializing")
_LIVE = tuple(STATUSES.keys() - ENDED)
_WAITING = statuses_of("waiting")


class Source:
    """Answers `gangline.organization.usage`."""

    def held(self, projects: Iterable[Project]) -> Mapping[int, usage.Held]:
        sums = [Sum("gpus"), Sum("cpus"), Sum("memory"), Count("pk")]
        rows = _live(projects).filter(_holds()).values_list("project").annotate(*sums)
        return {pk: usage.Held(*amounts) for pk, *amounts in rows}

    def waiting(self, projects: Iterable[Project]) -> int:
        return _live(projects).filter(status__in=_WAITING).exclude(_holds()).count()

    def over_quota(self, node: Project | Department, quotas: Iterable[Quota]) -> set[str]:
        shares = Shares(node.cluster, quotas)
        attempts = list(_holding(Q(workload__cluster=node.cluster)))
        gangs = [
            shares.gang(
                a.workload.project_id,
                admission.need_of(a),
                is_preemptible=a.workload.is_preemptible,
            )
            for a in attempts
        ]
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
    return total(Workload.objects.filter(deleted_at=None), path, Sum("gpus_in_use"))


def running(path: str) -> Coalesce:
    rows = Workload.objects.filter(deleted_at=None, status__in=statuses_of("running"))
    return total(rows, path)


def sentence(
    project: Project,
    totals: Totals,
    standing: admission.Standing,
    *,
    waits: bool = False,
    never: bool = False,
) -> tuple[str, bool]:
    """``Project vision: 1 + 2 = 3 of 2 GPUs`` and what follows from it; whether that is over.

    ``waits``: it is one that starts within quota alone. ``never``: it cannot start at all, so that
    nothing follows.
    """
    if admission.hands_out_slots(standing.cluster):
        needs = [
            admission.need_of(one)
            for one in standing.holding
            if one.workload.project_id == project.pk
        ]
        held = sum(
            (
                usage.Held(
                    need.total("gpus"), need.total("cpus"), int(need.total("memory")), running=1
                )
                for need in needs
            ),
            usage.Held(),
        )
        together = quotas.totals(standing.shares.quotas_of(project))
    else:
        held = usage.held_by(project)
        together = quotas.totals(quotas.quotas_of(project))
    asked = {"gpus": totals.gpu_devices, "cpus": totals.cpus, "memory": totals.memory_bytes}
    limited = [one for one in RESOURCES if asked[one] and together[one] is not None]
    if not limited:
        return "", False
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
    if never:
        return f"{text}.", bool(over)
    enforcement = queues.enforcement(project.cluster, project.own_queue)
    if not enforcement.is_enforced:
        return f"{text}. {enforcement.sentence}", bool(over)
    if over and waits:
        return f"{text}: it waits until the project has free quota.", True
    may = "may" if over else "will not"
    return f"{text}: it {may} be stopped when others need their quota.", bool(over)


def _live(projects: Iterable[Project]) -> QuerySet[Workload]:
    """Workloads that have not ended; those that have hold nothing."""
    ids = [one.pk for one in projects]
    return Workload.objects.filter(project__in=ids, deleted_at=None, status__in=_LIVE)


def _holds() -> Q:
    """Condition on workloads: they have pods or, where Gangline hands out slots, a place."""
    attempts = Attempt.objects.filter(workload=OuterRef("pk"), no=OuterRef("attempt_no"))
    placed = attempts.filter(outcome="", placement__isnull=False)
    return Q(status__in=_PODS_RUN) | Q(Exists(placed))


def _holding(condition: Q) -> QuerySet[Attempt]:
    """Attempts that hold slots or pods, in the order in which they got them."""
    rows = Attempt.objects.filter(
        condition,
        Q(placement__isnull=False) | Q(workload__status__in=_PODS_RUN),
        outcome="",
        no=F("workload__attempt_no"),
        workload__deleted_at=None,
    )
    return (
        rows.select_related("workload")
        .defer("rendered")
        .order_by(F("placed_at").asc(nulls_last=True), "started_at", "pk")
    )
