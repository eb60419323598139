"""Panels of departments and projects: quota with what is used of it, and who works there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gangline.lib.sizes import bytes_in_words
from gangline.spec.words import plain_number
from gangline.web import components

from . import queues, quotas, usage
from .models import RESOURCES, Department, Project, Quota

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


def bar(label: str, used: float, quota: Any) -> SafeString:
    """Use against quota. Without a quota there is nothing to measure it by."""
    if quota is None:
        return SafeString("")
    over = used > float(quota)
    return components.progress(
        min(used, float(quota) or used or 1), float(quota) or max(used, 1), label,
        "warn" if over else "",
    )  # fmt: skip


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
    has_cpus = any(map(quotas.shows_cpus, found))
    return {
        "lines": [
            Line(
                LABELS[one],
                bar(f"{LABELS[one]} used", float(getattr(held, one)), together[one]),
                in_words(one, float(getattr(held, one)), together[one]),
                _limit(found, one),
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


def _limit(found: list[Quota], resource: str) -> str:
    ceilings = [one.ceiling(resource) for one in found]
    if any(one is None for one in ceilings):
        return ""
    return f"never more than {amount(resource, sum(one for one in ceilings if one is not None))}"


def _facts(quota: Quota) -> Iterator[str]:
    for one in RESOURCES:
        if one == "cpus" and not quotas.shows_cpus(quota):
            continue
        yield f"{LABELS[one]} {amount(one, getattr(quota, one))}"
