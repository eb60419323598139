"""The table of workloads: columns and filters, declared once for page, live cells, CSV and API."""

from datetime import datetime

from django.db.models import OuterRef, Subquery
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gangline.clusters.models import Cluster
from gangline.organization.models import Project
from gangline.spec.frameworks import FRAMEWORKS, WORKERS_ONLY, framework_of
from gangline.spec.words import plain_number
from gangline.tables import filters
from gangline.tables.cells import NONE, RowAction, row_menu, running_for
from gangline.tables.columns import Column, Table, two_lines
from gangline.tables.filters import Kind, for_clients
from gangline.tables.query import TableQuery
from gangline.web import components, formats
from workloads.models import running_since
from workloads.selectors import workload_list
from workloads.selectors.workload_list import ListRow
from workloads.statuses import OF_DELETED, STATUSES

_USUAL = {name: one.configurations[0] for name, one in FRAMEWORKS.items()}


def _roles(row: ListRow) -> str:
    return framework_of(row.framework).roles_in_words(row.configuration)


def _name(row: ListRow) -> SafeString:
    """Framework below; the configuration only where it is not the framework's usual one."""
    below = FRAMEWORKS[row.framework].label
    if row.configuration != _USUAL[row.framework]:
        below = f"{below} · {_roles(row)}"
    link = format_html(
        '<a class="name" href="/workloads/{0}" title="{1}">{1}</a>', row.id, row.name
    )
    return two_lines(link, below)


def status_cell(row: ListRow) -> SafeString:
    """Shape, word, tone and always a reason; no contact is a badge beside the last known phase."""
    lost = row.contact_lost_at
    badge = f"No contact since {timezone.localtime(lost):%H:%M}" if lost else ""
    return components.status(STATUSES[row.status], row.reason, badge=badge, line=row.error_line)


def _status(row: ListRow) -> SafeString:
    """In the table: that it finished in so long, the duration says beside it."""
    if row.status == "Completed" and not row.contact_lost_at:
        return components.status(STATUSES[row.status])
    return status_cell(row)


def pods_cell(row: ListRow) -> SafeString:
    return components.gang(
        ready=row.pods_ready,
        total=row.pods_total,
        lead=row.configuration != WORKERS_ONLY,
        tone=STATUSES[row.status].tone,
    )


def _gpus(row: ListRow) -> SafeString | str:
    if not row.gpus:
        return formats.NOTHING
    if row.gpus_in_use == row.gpus:
        return plain_number(row.gpus)
    used = plain_number(row.gpus_in_use)
    return format_html('{}<span class="quiet">/{}</span>', used, plain_number(row.gpus))


def _created(row: ListRow) -> SafeString:
    return two_lines(components.time_ago(row.created_at), row.owner_name)


def duration_cell(row: ListRow, *, coarse: bool = True) -> SafeString | str:
    """How long it ran without its pauses; the script adds minutes while it runs."""
    if since := running_since(row.ran_seconds):
        return running_for(since)
    return NONE if row.ran_seconds < 0 else formats.span(row.ran_seconds, coarse=coarse)


def _seconds(row: ListRow) -> int | None:
    if since := running_since(row.ran_seconds):
        return int((timezone.now() - since).total_seconds())
    return None if row.ran_seconds < 0 else row.ran_seconds


def _clipped(text: str) -> SafeString:
    return format_html('<span class="clip" title="{0}">{0}</span>', text) if text else NONE


def _time(moment: datetime | None) -> SafeString:
    return components.time_ago(moment) if moment else NONE


def _actions(row: ListRow) -> SafeString:
    names = STATUSES[row.status].actions if row.deleted_at is None else OF_DELETED
    return row_menu(
        "/workloads",
        str(row.id),
        row.name,
        [action for action in ROW_ACTIONS if action.name in names],
    )


ROW_ACTIONS = (
    RowAction("stop", "Stop", "player-stop", asks=True),
    RowAction("resume", "Run", "player-play"),
    RowAction("rerun", "Run again", "refresh"),
    RowAction("copy", "Copy & edit", "copy", sends_to="/workloads/drafts", sends_as="from"),
    RowAction("template", "Save as template", "file-text", opens="/templates/new?workload="),
    RowAction("delete", "Delete", "trash", asks=True, is_harmful=True),
)


def table_row(row: ListRow, query: TableQuery[ListRow]) -> SafeString:
    """A row of the page. In Python, because a template takes four times as long for 50 of them."""
    return format_html(
        '<tr data-id="{}" data-testid="row-{}" data-seq="{}" data-status="{}">{}{}</tr>',
        row.id,
        row.id,
        row.seq,
        row.status,
        _check(row) if row.deleted_at is None else "",
        WORKLOADS.tds(row, query.columns),
    )


def _check(row: ListRow) -> SafeString:
    return format_html(
        '<td data-col="check" class="cell-check">'
        '<input type="checkbox" name="id" value="{}" aria-label="Select {}"></td>',
        row.id,
        row.name,
    )


WORKLOADS: Table[ListRow] = Table(
    name="workloads",
    noun=("workload", "workloads"),
    fields=("id", "name", "status", "seq", "project_id", "owner_name", "deleted_at"),
    expressions={
        "cluster_name": Subquery(Cluster.objects.filter(pk=OuterRef("cluster")).values("name")),
        "department_name": Subquery(
            Project.objects.filter(pk=OuterRef("project")).values("department__name")
        ),
    },
    default_sort="-created",
    search=("search_text",),
    kept=(workload_list.DELETED,),
    search_hint="Name, project, owner, image or command",
    filters=(
        filters.choice(
            "status", "Status", "status", wire="status", where=workload_list.by_status,
            expands=lambda values: tuple(workload_list.status_words(values)),
            choices=[(word, word) for word in STATUSES],
        ),
        filters.choice(workload_list.PROJECT, "Project", "project_name", wire="projectName"),
        filters.choice(
            "framework", "Framework", "framework", wire="distributedFramework",
            where=workload_list.by_framework,
            choices=[(one.name, one.label) for one in FRAMEWORKS.values()],
        ),
        filters.choice(
            "owner", "Owner", "owner_name", wire="submittedBy", where=workload_list.by_owner
        ),
        filters.choice("cluster", "Cluster", "cluster_id", where=workload_list.by_cluster),
        filters.dates(
            "created", "Created", "created_at", wire="createdAt", is_main=False, is_scanned=True
        ),
        filters.dates("ended", "Ended", "ended_at", wire="completedAt", is_main=False),
        filters.dates(
            "since", "In its phase since", "phase_since", wire="phaseUpdatedAt", is_main=False
        ),
        filters.numbers("gpus", "GPUs", "gpus", wire="gpus", is_main=False, is_scanned=True),
        filters.text(
            "label", "Label", where=workload_list.by_label, wire="labels", is_main=False,
            wire_where=workload_list.labelled, hint="team or team=nlp",
        ),
        filters.text(
            "image", "Image", "image", wire="image", is_main=False, hint="Part of its name"
        ),
        for_clients("name", "name"),
        for_clients("phase", "phase"),
        for_clients("configuration", "configuration"),
        for_clients("projectId", "project_id", Kind.NUMBERS),
        for_clients("departmentId", "project__department_id", Kind.NUMBERS),
        for_clients("departmentName", "project__department__name"),
        for_clients("clusterId", "cluster_id", Kind.ID),
        for_clients("deletedAt", "deleted_at", Kind.DATES),
        for_clients("priority", "priority", Kind.NUMBERS),
        for_clients("allocatedGPU", "gpus_in_use", Kind.NUMBERS),
        for_clients("ranSeconds", "ran_seconds", Kind.NUMBERS),
    ),
    columns=(
        Column(
            "name", "Workload", _name, needs=("framework", "configuration"), is_fixed=True,
            sort="name", orders=("Name, A to Z", "Name, Z to A"), text=lambda row: row.name,
        ),
        Column(
            "status", "Status", _status, sort="status",
            needs=("reason", "error_line", "owner_id", "contact_lost_at"),
            text=lambda row: row.status,
        ),
        Column(
            "project", "Project", lambda row: _clipped(row.project_name), needs=("project_name",),
            sort="project_name", orders=("Project, A to Z", "Project, Z to A"), width="m", drops=1,
            text=lambda row: row.project_name,
        ),
        Column(
            "pods", "Pods", pods_cell, needs=("pods_ready", "pods_total", "configuration"),
            width="l", drops=3, text=lambda row: f"{row.pods_ready}/{row.pods_total}",
        ),
        Column(
            "gpus", "GPUs", _gpus, needs=("gpus", "gpus_in_use"), sort="gpus", right=True,
            orders=("Fewest GPUs first", "Most GPUs first"), descends_first=True, width="s",
            drops=2, text=lambda row: plain_number(row.gpus),
        ),
        Column(
            "created", "Created", _created, needs=("created_at",), sort="created_at",
            orders=("Oldest first", "Newest first"), descends_first=True, width="m",
            text=lambda row: row.created_at,
        ),
        Column(
            "duration", "Duration", duration_cell, needs=("ran_seconds",),
            sort="ran_seconds", orders=("Shortest first", "Longest first"), descends_first=True,
            right=True, width="m", drops=1, text=_seconds,
        ),
        Column(
            "owner", "Owner", lambda row: _clipped(row.owner_name), is_default=False,
            sort="owner_name", orders=("Owner, A to Z", "Owner, Z to A"), width="m", drops=2,
            text=lambda row: row.owner_name,
        ),
        Column(
            "cluster", "Cluster", lambda row: _clipped(row.cluster_name), is_default=False,
            needs=("cluster_name",), width="m", drops=2, text=lambda row: row.cluster_name,
        ),
        Column(
            "department", "Department", lambda row: _clipped(row.department_name),
            needs=("department_name",), is_default=False, width="m", drops=3,
            text=lambda row: row.department_name,
        ),
        Column(
            "image", "Image", lambda row: _clipped(row.image), needs=("image",), is_default=False,
            drops=3, text=lambda row: row.image,
        ),
        Column(
            "architecture", "Architecture", _roles,
            needs=("framework", "configuration"), is_default=False, width="l", drops=3,
            text=_roles,
        ),
        Column(
            "priority", "Priority", lambda row: str(row.priority), needs=("priority",),
            is_default=False, right=True, width="s", drops=3, text=lambda row: row.priority,
        ),
        Column(
            "completed", "Completed", lambda row: _time(row.ended_at), needs=("ended_at",),
            is_default=False, width="m", drops=2, text=lambda row: row.ended_at,
        ),
        Column(
            "deleted", "Deleted", lambda row: _time(row.deleted_at), is_default=False, width="m",
            text=lambda row: row.deleted_at,
        ),
        Column(
            "cpus", "CPUs", lambda row: f"{row.cpus:g}", needs=("cpus",), is_default=False,
            right=True, width="s", drops=3, text=lambda row: row.cpus,
        ),
        Column(
            "memory", "Memory", lambda row: formats.size(row.memory), needs=("memory",),
            is_default=False, right=True, width="m", drops=3, text=lambda row: row.memory,
        ),
        Column(
            "labels", "Labels", lambda row: _clipped(row.labels_text), needs=("labels_text",),
            is_default=False, drops=3, text=lambda row: row.labels_text,
        ),
        Column(
            "more", "Actions", _actions, is_fixed=True, hidden_label=True, width="s",
        ),
    ),
)  # fmt: skip
SORTS = WORKLOADS.sorts()
"""Database column by the name in the address: for the page, and under its own names the API."""
