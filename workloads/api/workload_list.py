"""The list of workloads for clients: one query over one table, without models."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import QueryDict
from rest_framework.request import Request

from gangline.access.grants import holds
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.api import filtering
from gangline.api.paging import (
    MAX_OFFSET,
    Asked,
    BadQuery,
    Page,
    flag,
    known_only,
    page_of,
    sorting,
)
from gangline.clusters.connections import namespaces_of
from gangline.clusters.models import Cluster
from gangline.db.prepared import Prepared, prepare
from gangline.organization.models import Project
from gangline.tables import paging
from gangline.tables.query import MAX_SEARCH, printable, search_in
from workloads import tables
from workloads.api import representation
from workloads.api.representation import LIST_COLUMNS, TYPE, Places
from workloads.models import Workload
from workloads.selectors.workload_list import of_projects

PARAMETERS = frozenset(
    {"deleted", "offset", "limit", "cursor", "sortOrder", "sortBy", "filterBy", "search"}
)
COUNT_PARAMETERS = frozenset({"deleted", "filterBy", "search"})
FIELDS = tables.WORKLOADS.for_clients()
SORTS: Mapping[str, str] = {
    name: one.column for name, one in FIELDS.items() if one.column in tables.SORTS.values()
}
"""What the page sorts by, which has an index: a sort must not read the whole table."""


@dataclass(frozen=True, slots=True)
class Query:
    """The text after the question mark, read."""

    query_params: QueryDict


@dataclass(frozen=True, slots=True)
class Statement:
    """What a query asks of a set of projects, ready to run."""

    page: Page
    order: paging.Order
    prepared: Prepared


def listing(places: Places, request: Request) -> dict[str, Any]:
    """One page: ``{"workloads": […], "next": offset, "cursor": …}``."""
    asked = _statement(tuple(sorted(places)), request.META.get("QUERY_STRING", ""))
    page = asked.page
    found = paging.cut(asked.prepared.rows(), asked.order, size=page.limit, key=_column)
    body: dict[str, Any] = {"workloads": [representation.listed(row, places) for row in found.rows]}
    if found.next:
        body["cursor"] = found.next
        if not page.cursor and page.offset + page.limit <= MAX_OFFSET:
            body["next"] = page.offset + page.limit
    return body


# The same text about the same projects is the same statement, and clients ask again and again.
@lru_cache(maxsize=512)
def _statement(projects: tuple[int, ...], text: str) -> Statement:
    query = Query(QueryDict(text))
    known_only(query, PARAMETERS)
    page = page_of(query)
    order = paging.Order(*sorting(query, SORTS, "-created_at"))
    try:
        rows = paging.ordered(_matching(projects, query), order, size=page.limit, after=page.cursor)
    except paging.BadCursor as error:
        raise BadQuery("cursor must be the cursor of an earlier page of the same list.") from error
    if page.offset and not page.cursor:
        # The page is cut already: cut the whole list again, further on.
        rows.query.clear_limits()
        rows = rows[page.offset : page.offset + page.limit + 1]
    return Statement(page, order, prepare(rows.values_list(*LIST_COLUMNS)))


def _column(row: tuple[Any, ...], name: str) -> Any:
    return row[LIST_COLUMNS.index(name)]


def count(places: Places, request: Request) -> int:
    """How many workloads the same filters let through."""
    known_only(request, COUNT_PARAMETERS)
    return _matching(places, request).count()


def places_of(user: User) -> Places:
    """Every project that ``user`` may see, with where it belongs: the visible scope of a list."""
    return seen_by(user)[0]


def seen_by(user: User) -> tuple[Places, object]:
    """The same, and of each project its name and the number of its last change of a workload."""
    patterns: dict[UUID, Callable[[str], str]] = {}
    found, heads = {}, []
    rows = _projects(holds(user, Permission.WORKLOAD_VIEW)).rows()
    for pk, name, namespace, department, title, cluster_id, kind, config, head in rows:
        heads.append((name, head))
        if cluster_id not in patterns:
            patterns[cluster_id] = namespaces_of(Cluster(pk=cluster_id, kind=kind, config=config))
        found[pk] = (department, title, namespace or patterns[cluster_id](name))
    return found, tuple(heads)


@lru_cache(maxsize=512)
def _projects(seen: Q) -> Prepared:
    """The projects that somebody sees; many see the same."""
    columns = (
        "pk", "name", "own_namespace", "department_id", "department__name",
        "cluster_id", "cluster__kind", "cluster__config", "scopeseq__seq",
    )  # fmt: skip
    return prepare(Project.objects.filter(seen).order_by().values_list(*columns))


def _matching(projects: Iterable[int], request: Asked) -> QuerySet[Workload]:
    query = request.query_params
    rows = Workload.objects.filter(deleted_at__isnull=not flag(request, "deleted"))
    rows = of_projects(rows, projects)
    if given := query.getlist("filterBy"):
        rows = rows.filter(filtering.conditions(_without_type(given), FIELDS))
    search = printable(query.get("search", ""))
    if len(search) > MAX_SEARCH:
        raise BadQuery(f"search must have at most {MAX_SEARCH} characters.")
    if search:
        rows = rows.filter(search_in(tables.WORKLOADS.search, search))
    return rows


def _without_type(given: list[str]) -> list[str]:
    """``type==Distributed`` holds for every row here; another type has none."""
    kept = []
    for part in ",".join(given).split(","):
        if part.startswith("type=="):
            if part != f"type=={TYPE}":
                kept.append("gpus==-1")
        elif part.startswith("type!="):
            if part == f"type!={TYPE}":
                kept.append("gpus==-1")
        else:
            kept.append(part)
    return kept
