"""The table of workloads: its columns, declared once for the page and for live cells."""

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gangline.spec.frameworks import CONFIGURATIONS, FRAMEWORKS, WORKERS_ONLY
from gangline.tables.cells import NONE, RowAction, row_menu, running_for
from gangline.tables.columns import Column, Table, in_words, two_lines
from gangline.web import components, formats
from workloads.selectors.listing import FIELDS, ListRow
from workloads.statuses import STATUSES


def _name(row: ListRow) -> SafeString:
    return two_lines(
        format_html('<a class="name" href="/workloads/{}">{}</a>', row.id, row.name),
        f"{FRAMEWORKS[row.framework].label} · {CONFIGURATIONS[row.configuration]}",
    )


def status_cell(row: ListRow) -> SafeString:
    """Shape, word, tone and always a reason; no contact is a badge beside the last known phase."""
    lost = row.contact_lost_at
    badge = f"No contact since {timezone.localtime(lost):%H:%M}" if lost else ""
    return components.status(STATUSES[row.status], row.reason, badge=badge)


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
        return str(row.gpus)
    return format_html('{}<span class="quiet">/{}</span>', row.gpus_in_use, row.gpus)


def _created(row: ListRow) -> SafeString:
    return two_lines(components.time_ago(row.created_at), row.owner_name)


def duration_cell(row: ListRow) -> SafeString | str:
    """First Running to the end; the script adds minutes while it runs."""
    if row.started_at is None:
        return NONE
    if row.ended_at is not None:
        return formats.span(row.ended_at - row.started_at, coarse=True)
    return running_for(row.started_at)


def _actions(row: ListRow) -> SafeString:
    status = STATUSES[row.status]
    return row_menu(
        "/workloads",
        str(row.id),
        row.name,
        [action for action in ROW_ACTIONS if action.name in status.actions],
    )


ROW_ACTIONS = (
    RowAction("stop", "Stop", "player-stop", asks=True),
    RowAction("resume", "Run", "player-play"),
    RowAction("rerun", "Run again", "refresh"),
    RowAction("copy", "Copy & edit", "copy", sends_to="/workloads/drafts", sends_as="from"),
    RowAction("delete", "Delete", "trash", asks=True, is_harmful=True),
)


def table_row(row: ListRow) -> SafeString:
    """A row of the page. In Python, because a template takes four times as long for 50 of them."""
    return format_html(
        '<tr data-id="{0}" data-testid="row-{0}" data-seq="{1}" data-status="{2}">'
        '<td data-col="check" class="cell-check">'
        '<input type="checkbox" name="id" value="{0}" aria-label="Select {3}"></td>{4}</tr>',
        row.id,
        row.seq,
        row.status,
        row.name,
        WORKLOADS.tds(row),
    )


WORKLOADS: Table[ListRow] = Table(
    name="workloads",
    fields=FIELDS,
    default_sort="-created",
    columns=(
        Column("name", "Workload", _name, sort="name", orders=("By name", "By name, from Z")),
        Column("status", "Status", status_cell),
        Column(
            "project",
            "Project",
            lambda row: format_html('<span class="clip">{}</span>', row.project_name),
            sort="project_name",
            orders=("By project", "By project, from Z"),
        ),
        Column("pods", "Pods", pods_cell),
        Column(
            "gpus",
            "GPUs",
            _gpus,
            sort="gpus",
            orders=("Fewest GPUs first", "Most GPUs first"),
            right=True,
            descends_first=True,
        ),
        Column(
            "created",
            "Created",
            _created,
            sort="created_at",
            orders=("Oldest first", "Newest first"),
            descends_first=True,
        ),
        Column("duration", "Duration", duration_cell, right=True),
        Column("more", "Actions", _actions, hidden_label=True),
    ),
)
"""`owner` sorts too, but shares a cell with the date: see `SORTS`."""


SORTS = {**WORKLOADS.sorts(), "owner": "owner_name"}
"""Database column by the name in the address: for the page, and under its own names the API."""
ORDERS = {**WORKLOADS.orders(), **in_words("owner", ("By owner", "By owner, from Z"))}

__all__ = [
    "ORDERS",
    "ROW_ACTIONS",
    "SORTS",
    "WORKLOADS",
    "duration_cell",
    "pods_cell",
    "status_cell",
    "table_row",
]
