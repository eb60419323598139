"""The list of workloads: filters from the address, one page of rows, counts for the pills."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.db.models.lookups import In
from django.http import QueryDict

from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.db.expressions import Unindexed
from gangline.organization.models import Project
from gangline.organization.selectors import visible_projects
from gangline.spec.frameworks import FRAMEWORKS
from gangline.tables import counts
from gangline.tables.paging import Order
from workloads.models import Workload
from workloads.statuses import PILLS, STATUSES

PAGE_SIZES = (25, 50, 100, 200)
DEFAULT_PAGE = 50
MAX_SEARCH = 100


@dataclass(frozen=True, slots=True)
class ListRow:
    """What one row of the table shows, and nothing more."""

    id: UUID
    name: str
    project_name: str
    owner_id: int
    owner_name: str
    framework: str
    configuration: str
    status: str
    reason: str
    next_reason: str
    contact_lost_at: datetime | None
    pods_ready: int
    pods_total: int
    gpus: int
    gpus_in_use: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    seq: int
    project_id: int
    deleted_at: datetime | None


FIELDS = tuple(ListRow.__dataclass_fields__)


def rows(workloads: QuerySet[Workload]) -> list[ListRow]:
    """Fetch without models: a page of 50 costs half as much."""
    return [ListRow(*values) for values in workloads.values_list(*FIELDS)]


@dataclass(frozen=True, slots=True)
class Filters:
    """What the address asks for. Unknown parameters are ignored, unknown values match nothing."""

    search: str = ""
    projects: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    """Names of pills or lower-case statuses (``cannot-start``)."""
    frameworks: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    sort: str = "-created"
    after: str = ""
    before: str = ""
    size: int = DEFAULT_PAGE
    unknown: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_filtered(self) -> bool:
        return bool(self.search or self.projects or self.statuses or self.frameworks or self.owners)


def filters_from(query: QueryDict, sorts: Mapping[str, str]) -> Filters:
    """Read the address; what makes no sense falls back to the default."""

    def several(name: str) -> tuple[str, ...]:
        parts = ",".join(query.getlist(name)).split(",")
        return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))[:50]

    sort = query.get("sort", "")
    size = query.get("size", "")
    return Filters(
        search=_clean(query.get("q", ""))[:MAX_SEARCH],
        projects=several("project"),
        statuses=several("status"),
        frameworks=several("framework"),
        owners=several("owner"),
        sort=sort if sort.removeprefix("-") in sorts else "-created",
        after=query.get("after", ""),
        before=query.get("before", ""),
        size=int(size) if size in map(str, PAGE_SIZES) else DEFAULT_PAGE,
    )


def order(filters: Filters, sorts: Mapping[str, str]) -> Order:
    name = filters.sort.removeprefix("-")
    return Order(sorts[name], descending=filters.sort.startswith("-"))


def visible(user: User) -> QuerySet[Workload]:
    """Every workload that ``user`` may see and that is not deleted."""
    projects = visible_projects(user, Permission.WORKLOAD_VIEW).order_by()
    return in_projects(projects.values_list("pk", flat=True))


def in_projects(ids: Iterable[int]) -> QuerySet[Workload]:
    """What is not deleted in these projects, in whatever order it is asked for."""
    return of_projects(Workload.objects.filter(deleted_at__isnull=True), ids)


def of_projects(workloads: QuerySet[Workload], ids: Iterable[int]) -> QuerySet[Workload]:
    """Those in these projects: found by the project if it is one, else by the sort order."""
    ids = list(ids)
    if len(ids) == 1:
        return workloads.filter(project_id=ids[0])
    return workloads.filter(In(Unindexed(F("project_id")), ids))


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list shows, and the same without its status filter, from which pills are counted."""

    fitting: QuerySet[Workload]
    of_every_status: QuerySet[Workload]


def listed(scopes: Iterable[int], filters: Filters, user: User) -> Listed:
    """The workloads in the projects ``scopes`` that the filters let through."""
    if filters.projects:
        # By key: a name would be looked for in the order of the whole list.
        named = Project.objects.filter(pk__in=scopes, name__in=filters.projects)
        scopes = named.values_list("pk", flat=True)
    rows = _matching(in_projects(scopes), filters, user)
    return Listed(_of_statuses(rows, filters), rows)


def _matching(workloads: QuerySet[Workload], filters: Filters, user: User) -> QuerySet[Workload]:
    if filters.frameworks:
        workloads = workloads.filter(framework__in=list(_framework_names(filters.frameworks)))
    if filters.owners:
        names = [user.get_username() if name == "me" else name for name in filters.owners]
        workloads = workloads.filter(owner_name__in=names)
    if filters.search:
        workloads = workloads.filter(_search(filters.search))
    return workloads


def _of_statuses(workloads: QuerySet[Workload], filters: Filters) -> QuerySet[Workload]:
    if not filters.statuses:
        return workloads
    words = list(status_words(filters.statuses))
    # By date, several statuses are cheaper to pass over than to fetch whole and sort.
    by_date = filters.sort.endswith("created") and len(words) > 1
    status = Unindexed(F("status")) if by_date else F("status")
    return workloads.filter(In(status, words))


def pill_counts(workloads: QuerySet[Workload]) -> dict[str, int]:
    """Workloads per pill, each at most ``counts.CAP + 1``; ``all`` is their sum while exact."""
    parts: dict[str, QuerySet[Workload]] = {
        pill: workloads.filter(status__in=list(status_words((pill,)))) for pill in PILLS
    }
    found = counts.capped(parts)
    return {"all": min(sum(found.values()), counts.CAP + 1), **found}


def status_words(names: tuple[str, ...]) -> Iterator[str]:
    """Statuses by pill name or by their own name in lower case with hyphens."""
    for status in STATUSES.values():
        if status.pill in names or status.word.lower().replace(" ", "-") in names:
            yield status.word


def _framework_names(given: tuple[str, ...]) -> Iterator[str]:
    wanted = {name.lower() for name in given}
    for framework in FRAMEWORKS.values():
        if {framework.name.lower(), framework.label.lower()} & wanted:
            yield framework.name


def _search(text: str) -> Q:
    found = Q(name__icontains=text) | Q(owner_name__icontains=text)
    try:
        return found | Q(pk=UUID(text))
    except ValueError:
        return found


def _clean(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).strip()
