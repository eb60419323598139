"""What open pages follow: the list, and one workload. Reads rows, never messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import QueryDict

from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.lib.texts import moment
from gangline.live.feeds import Delta, Heads, Refused, View
from gangline.organization.selectors import visible_projects
from gangline.tables.counts import in_words
from gangline.tables.query import TableQuery, read
from workloads.models import ScopeSeq, Workload
from workloads.selectors import workload_list
from workloads.tables import WORKLOADS

MAX_QUERY = 4000


def heads_of(scopes: frozenset[int]) -> dict[int, int]:
    """Head of every scope; a project that never changed is at 0."""
    found = dict(ScopeSeq.objects.filter(project_id__in=scopes).values_list("project_id", "seq"))
    return {scope: found.get(scope, 0) for scope in scopes}


@dataclass(frozen=True, slots=True)
class _ListPage:
    user: User
    query: TableQuery[workload_list.ListRow]
    since: datetime


class WorkloadListFeed:
    """The table of `/workloads` as one page sees it."""

    def open(self, user: User, hello: Mapping[str, Any]) -> View:
        query = hello.get("query")
        if not isinstance(query, str) or len(query) > MAX_QUERY:
            raise Refused("query: must be the text after the question mark.")
        page = _ListPage(user, read(WORKLOADS, QueryDict(query), user), _moment(hello.get("since")))
        projects = visible_projects(user, Permission.WORKLOAD_VIEW).order_by()
        return View(
            feed="workloads",
            key=f"{user.pk}:{user.auth_version}:{query}:{hello.get('since')}",
            scopes=frozenset(projects.values_list("pk", flat=True)),
            ids=_ids(hello.get("ids")),
            data=page,
        )

    def heads(self, scopes: frozenset[int]) -> dict[int, int]:
        return heads_of(scopes)

    def delta(self, view: View, after: Heads) -> Delta:
        # Heads first: whatever they count is then certain to be seen by the reads that follow.
        heads = heads_of(view.scopes)
        behind = [scope for scope in heads if heads[scope] > after.get(scope, 0)]
        page: _ListPage = view.data
        shown = Workload.objects.filter(pk__in=view.ids, project_id__in=behind)
        on_page = [
            row
            for row in workload_list.without_logs(
                WORKLOADS.fetch(shown, page.query.columns), page.user
            )
            if row.seq > after.get(row.project_id, 0)
        ]
        listed = workload_list.listed(view.scopes, page.query)
        fitting = listed.fitting
        kept = set(fitting.filter(pk__in=[row.id for row in on_page]).values_list("pk", flat=True))
        newcomers = fitting.filter(created_at__gt=page.since).exclude(pk__in=view.ids)
        return Delta(
            to=heads,
            items=[
                {
                    "id": str(row.id),
                    "seq": row.seq,
                    "status": row.status,
                    "cells": WORKLOADS.cells(row, page.query.columns),
                }
                for row in on_page
                if row.deleted_at is None
            ],
            left=[str(r.id) for r in on_page if r.id not in kept and r.deleted_at is None],
            gone=[str(row.id) for row in on_page if row.deleted_at is not None],
            new=newcomers[:101].count(),
            counts={
                name: in_words(n)
                for name, n in workload_list.pill_counts(listed.of_every_status).items()
            },
        )


def _ids(given: object) -> frozenset[str]:
    try:
        return (
            frozenset(str(UUID(str(one))) for one in given)
            if isinstance(given, list)
            else frozenset()
        )
    except ValueError:
        raise Refused("ids: must be ids of workloads.") from None


def _moment(given: object) -> datetime:
    try:
        return moment(str(given), zoned=True)
    except ValueError:
        raise Refused("since: must be the time of the page, with its time zone.") from None
