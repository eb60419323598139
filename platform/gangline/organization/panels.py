"""Panels of departments and projects: quota with what is used of it, and who works there."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.lib.sizes import bytes_in_words
from gangline.resources.registry import get
from gangline.spec.words import plain_number
from gangline.web import components

from . import queues, quotas, usage
from .models import RESOURCES, Department, Project, Quota

MOST_PROJECTS = 50
"""Of a department on its page; the list has the rest."""
LABELS = {"gpus": "GPUs", "cpus": "CPU cores", "memory": "Memory"}


@dataclass(frozen=True, slots=True)
class Line:
    """One resource of one node pool."""

    label: str
    bar: SafeString
    words: str
    limit: str


def amount(resource: str, value: Any) -> str:
    """``2.5``, ``64 GB`` or ``unlimited``."""
    if value is None:
        return "unlimited"
    if resource == "memory":
        return bytes_in_words(int(value))
    return plain_number(round(float(value), 2))


def bar(label: str, used: float, quota: Any, most: Any = None) -> SafeString:
    """Use against quota and limit. Without either there is nothing to measure it by."""
    if quota is None and most is None:
        return SafeString("")
    end = None if most is None else float(most)
    return components.quota_bar(used, float(most if quota is None else quota), end, label)


def in_words(resource: str, used: float, quota: Any) -> str:
    """``3 of 2, 1 over quota``; ``3, no quota``."""
    if quota is None:
        return f"{amount(resource, used)} used, unlimited"
    text = f"{amount(resource, used)} of {amount(resource, quota)}"
    over = used - float(quota)
    return f"{text}, {amount(resource, over)} over quota" if over > 1e-6 else text


def gpu_cell(row: Any) -> SafeString:
    """Use of the GPU quota in a list; ``gpu_quota`` and ``gpus_used`` are annotated."""
    used, quota = float(getattr(row, "gpus_used", 0) or 0), row.gpu_quota
    words = in_words("gpus", used, quota)
    return format_html(
        '{}<span class="sub">{}</span>', bar(f"GPUs of {row.name}", used, quota), words
    )


def quota_panel(request: HttpRequest, node: Department | Project) -> dict[str, Any]:
    held = usage.held_by(node)
    found = quotas.quotas_of(node)
    together = quotas.totals(found)
    most = {one: _most(found, one) for one in RESOURCES}
    has_cpus = any(map(quotas.shows_cpus, found))
    return {
        "lines": [
            Line(
                LABELS[one],
                bar(f"{LABELS[one]} used", float(getattr(held, one)), together[one], most[one]),
                in_words(one, float(getattr(held, one)), together[one]),
                "" if most[one] is None else f"never more than {amount(one, most[one])}",
            )
            for one in RESOURCES
            if one != "cpus" or has_cpus
        ],
        "quotas": [(one, ", ".join(_facts(one))) for one in found],
        "held": held,
        "waiting": usage.waiting(node),
        "over_assigned": [one.sentence for one in quotas.balances(node) if one.excess > 0],
        "enforcement": queues.enforcement(node.cluster, getattr(node, "own_queue", "")),
    }


def projects_panel(request: HttpRequest, department: Department) -> dict[str, Any]:
    """The projects of a department as their list draws them, without what all of them share."""
    projects = get("project")
    rows = projects.rows(request.user).filter(department=department).order_by("name", "pk")  # type: ignore[arg-type]
    shared = ("department", "cluster", "created")
    columns = [one for one in projects.table.chosen(()) if one.name not in shared]
    found = list(rows[: MOST_PROJECTS + 1])
    return {
        "columns": columns,
        "rows": [projects.table.tds(row, columns) for row in found[:MOST_PROJECTS]],
        "all_url": f"{projects.list_url()}?department={department.pk}",
        "has_more": len(found) > MOST_PROJECTS,
        "new_url": f"{reverse('project-create')}?department={department.pk}",
        "may_create": can(request.user, Permission.PROJECT_CREATE, department.scope),  # type: ignore[arg-type]
    }


def _most(found: list[Quota], resource: str) -> Decimal | None:
    """What all pools together never pass; None: one of them has no limit."""
    ceilings = [one.ceiling(resource) for one in found]
    some = [one for one in ceilings if one is not None]
    return sum(some, Decimal(0)) if len(some) == len(ceilings) else None


def _facts(quota: Quota) -> Iterator[str]:
    for one in RESOURCES:
        if one == "cpus" and not quotas.shows_cpus(quota):
            continue
        yield f"{LABELS[one]} {amount(one, getattr(quota, one))}"
