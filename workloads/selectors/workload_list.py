"""The list of workloads: what its filters mean, whose rows are seen, counts for the pills."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.lookups import In

from gangline.access.grants import can, held_everywhere
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.db.expressions import Unindexed
from gangline.lib.texts import as_uuid
from gangline.organization.models import Project
from gangline.organization.selectors import visible_projects, with_scopes
from gangline.spec.frameworks import FRAMEWORKS
from gangline.tables import counts
from gangline.tables.filters import Condition
from gangline.tables.query import TableQuery
from workloads.models import Workload, WorkloadLabel
from workloads.statuses import PILLS, STATUSES, statuses_of

PROJECT = "project"
"""The filter that narrows the scopes, not the rows."""
DELETED = "deleted"
"""In the address: only deleted ones, which are kept for a while."""


class ListRow(Protocol):
    """One row of the list. It has the fields that the shown columns need, and no others."""

    id: UUID
    name: str
    project_id: int
    project_name: str
    owner_name: str
    cluster_name: str
    department_name: str
    framework: str
    configuration: str
    image: str
    priority: int
    status: str
    reason: str
    error_line: str
    owner_id: int
    contact_lost_at: datetime | None
    pods_ready: int
    pods_total: int
    gpus: float
    gpus_in_use: float
    cpus: float
    memory: int
    labels_text: str
    created_at: datetime
    ran_seconds: int
    ended_at: datetime | None
    seq: int
    deleted_at: datetime | None


Row = TypeVar("Row", bound=Any)


def visible(user: User) -> QuerySet[Workload]:
    """Every workload that ``user`` may see and that is not deleted."""
    if held_everywhere(user, Permission.WORKLOAD_VIEW):
        return Workload.objects.filter(deleted_at__isnull=True)
    projects = visible_projects(user, Permission.WORKLOAD_VIEW).order_by()
    return in_projects(projects.values_list("pk", flat=True))


def in_projects(ids: Iterable[int]) -> QuerySet[Workload]:
    """What is not deleted in these projects, in whatever order it is asked for."""
    return of_projects(Workload.objects.filter(deleted_at__isnull=True), ids)


def deleted_in_projects(ids: Iterable[int]) -> QuerySet[Workload]:
    """What was deleted in these projects, and is still kept."""
    return of_projects(Workload.objects.filter(deleted_at__isnull=False), ids)


def of_deleted(query: TableQuery[Any]) -> bool:
    """Whether the list shows deleted workloads, and no others."""
    return bool(query.address.get(DELETED) == "1")


def of_projects(workloads: QuerySet[Workload], ids: Iterable[int]) -> QuerySet[Workload]:
    """Those in these projects: found by the project if it is one, else by the sort order."""
    ids = list(ids)
    if len(ids) == 1:
        return workloads.filter(project_id=ids[0])
    return workloads.filter(In(Unindexed(F("project_id")), ids))


def without_logs(rows: Sequence[Row], user: User) -> list[Row]:
    """The rows without the lines of logs that ``user`` may not read."""
    failed = [row for row in rows if getattr(row, "error_line", "")]
    if not failed or held_everywhere(user, Permission.WORKLOAD_LOGS):
        return list(rows)
    found = Project.objects.filter(pk__in={row.project_id for row in failed})
    scopes = {one.pk: one.scope for one in with_scopes(found)}
    hidden = {
        row.id
        for row in failed
        if not can(user, Permission.WORKLOAD_LOGS, scopes[row.project_id], owner_id=row.owner_id)
    }
    return [row._replace(error_line="") if row.id in hidden else row for row in rows]


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list shows, and the same without its status filter, from which pills are counted."""

    fitting: QuerySet[Workload]
    of_every_status: QuerySet[Workload]


def listed(scopes: Iterable[int], query: TableQuery[Any]) -> Listed:
    """The workloads in the projects ``scopes`` that the filters let through."""
    if chosen := query.values.get(PROJECT):
        # By key: a name would be looked for in the order of the whole list.
        ids = [int(one) for one in chosen if one.isascii() and one.isdigit() and len(one) < 16]
        named = Project.objects.filter(Q(pk__in=ids) | Q(name__in=chosen), pk__in=scopes)
        scopes = named.values_list("pk", flat=True)
    rows = deleted_in_projects(scopes) if of_deleted(query) else in_projects(scopes)
    rows = query.filtered(rows, without=(PROJECT, "status"))
    statuses = query.values.get("status")
    return Listed(rows.filter(by_status(statuses, query)) if statuses else rows, rows)


def by_status(values: tuple[str, ...], query: TableQuery[Any]) -> Condition:
    words = list(status_words(values))
    # By date, several statuses are cheaper to pass over than to fetch whole and sort.
    by_date = query.order.column == "created_at" and len(words) > 1
    return In(Unindexed(F("status")) if by_date else F("status"), words)


def by_framework(values: tuple[str, ...], query: TableQuery[Any]) -> Condition:
    wanted = {name.lower() for name in values}
    known = FRAMEWORKS.values()
    return Q(framework__in=[f.name for f in known if {f.name.lower(), f.label.lower()} & wanted])


def by_owner(values: tuple[str, ...], query: TableQuery[Any]) -> Condition:
    return Q(owner_name__in=[query.user.get_username() if v == "me" else v for v in values])


def by_cluster(values: tuple[str, ...], query: TableQuery[Any]) -> Condition:
    return In(Unindexed(F("cluster_id")), list(filter(None, map(as_uuid, values))))


def by_label(values: tuple[str, ...], query: TableQuery[Any]) -> Condition:
    return labelled(values[0])


def labelled(text: str) -> Q:
    """``key`` or ``key=value``; of several with spaces between, every one."""
    found = Q()
    for part in text.split():
        key, _, value = part.partition("=")
        rows = WorkloadLabel.objects.filter(workload=OuterRef("pk"), key=key)
        found &= Q(Exists(rows.filter(value=value) if "=" in part else rows))
    return found


def by_pill(workloads: QuerySet[Workload]) -> dict[str, QuerySet[Workload]]:
    return {pill: workloads.filter(status__in=statuses_of(pill)) for pill in PILLS}


def pill_counts(workloads: QuerySet[Workload]) -> dict[str, int]:
    """Workloads per pill, each at most ``counts.CAP + 1``; ``all`` is their sum while exact."""
    found = counts.capped(by_pill(workloads))
    return {"all": min(sum(found.values()), counts.CAP + 1), **found}


def pills_of(values: Iterable[str]) -> tuple[str, ...]:
    """The pills that hold exactly these statuses together; empty where none do."""
    words = set(status_words(values))
    pills = tuple(pill for pill in PILLS if words >= set(statuses_of(pill)))
    return pills if words == {word for pill in pills for word in statuses_of(pill)} else ()


def status_words(values: Iterable[str]) -> Iterator[str]:
    """Statuses by their own word, by pill, or by their word in lower case with hyphens."""
    wanted = set(values)
    for status in STATUSES.values():
        slug = status.word.lower().replace(" ", "-")
        if status.word in wanted or status.pill in wanted or (slug not in PILLS and slug in wanted):
            yield status.word
