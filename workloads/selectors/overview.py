"""What Home counts and draws: each number with the list that shows the same number."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Count, F, QuerySet, When
from django.db.models.lookups import In
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from gangline.access.grants import holds
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.audit.models import AuditEntry
from gangline.clusters.models import Cluster
from gangline.clusters.panels import in_use
from gangline.clusters.selectors import Health, health_of
from gangline.db.expressions import Unindexed
from gangline.organization import quotas, usage
from gangline.organization.models import Project
from gangline.organization.panels import bar, in_words
from gangline.resources.registry import get
from gangline.tables import counts
from gangline.web import components
from workloads.models import Workload
from workloads.selectors import workload_list
from workloads.statuses import statuses_of

MOST = 6
"""Projects and clusters on Home; their lists have the rest."""
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Tile:
    label: str
    value: str
    url: str
    tone: str = ""
    bar: SafeString | str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """What is used of one thing, in words and drawn; nothing is drawn without a measure."""

    label: str
    words: str
    drawn: SafeString


@dataclass(frozen=True, slots=True)
class Line:
    """A project or cluster with its bars."""

    name: str
    url: str
    bars: tuple[Bar, ...]
    health: Health | None = None
    answered_at: datetime | None = None


def tile_counts(visible: QuerySet[Workload], now: datetime) -> dict[str, QuerySet[Workload]]:
    """What `tiles` count beside the pills."""
    return {"done": ended(visible, ("Completed",), now - DAY)}


def tiles(found: Mapping[str, int], now: datetime) -> list[Tile]:
    """Of who works here: what runs, waits, needs them, and was done since yesterday."""
    since = now - DAY
    attention = "bad" if found["attention"] else ""
    return [
        _listed("Running", found["running"], status="running"),
        _listed("Waiting", found["waiting"], status="waiting"),
        _listed("Needs attention", found["attention"], attention, status="attention"),
        _listed("Done in 24 hours", found["done"], status="completed", ended_from=since),
    ]


def attention(user: User) -> str:
    """How many workloads need somebody, in words; empty: none."""
    rows = workload_list.visible(user).filter(status__in=statuses_of("attention"))
    found = counts.capped({"attention": rows})["attention"]
    return counts.in_words(found) if found else ""


def administrator_tile_counts(
    visible: QuerySet[Workload], now: datetime
) -> dict[str, QuerySet[Workload]]:
    """What `administrator_tiles` count."""
    waiting = visible.filter(status__in=statuses_of("waiting"), phase_since__lt=now - HOUR)
    return {"waiting_long": waiting, "failed": ended(visible, ("Failed",), now - DAY)}


def administrator_tiles(
    found: Mapping[str, int], clusters: Iterable[Cluster], now: datetime
) -> list[Tile]:
    """Of who runs the installation: contact, use, what waits long and what failed."""
    since, long_ago = now - DAY, now - HOUR
    rows = list(clusters)
    healthy = sum(health_of(row).tone == "good" for row in rows)
    url = reverse("cluster-list")
    return [
        Tile(
            "Clusters connected", f"{healthy} of {len(rows)}", url,
            "" if healthy == len(rows) else "bad",
        ),
        _in_use(rows, url),
        _listed(
            "Waiting over 1 hour", found["waiting_long"],
            "warn" if found["waiting_long"] else "",
            status="waiting", since_to=long_ago,
        ),
        _listed(
            "Failed in 24 hours", found["failed"], "bad" if found["failed"] else "",
            status="failed", ended_from=since,
        ),
    ]  # fmt: skip


def ended(
    visible: QuerySet[Workload], statuses: tuple[str, ...], since: datetime
) -> QuerySet[Workload]:
    """By the end, which few have since yesterday, not by the status, which most have."""
    return visible.filter(In(Unindexed(F("status")), list(statuses)), ended_at__gte=since)


def project_lines(user: User) -> list[Line]:
    """The projects that the person sees, the busiest first, with their use against the quota."""
    projects = get("project")
    seen = projects.visible(user).select_related("cluster", "department", "scope")
    busy = Workload.objects.filter(deleted_at=None, status__in=statuses_of("running"))
    by_use = busy.values("project").annotate(n=Count("pk")).order_by("-n", "project")
    first = [row["project"] for row in by_use.filter(project__in=seen.values("pk"))[:MOST]]
    if len(first) == MOST:
        seen = seen.filter(pk__in=first)
    others = Case(When(pk__in=first, then=0), default=1)
    found = list(seen.order_by(others, "name").prefetch_related(*quotas.READ_WITH)[:MOST])
    rows = sorted(found, key=lambda row: first.index(row.pk) if row.pk in first else MOST)
    held = usage.held(rows)
    return [Line(row.name, projects.url(row), _quota_bars(row, held[row.pk])) for row in rows]


def cluster_rows(user: User) -> list[Cluster]:
    """The clusters that the person may look into, with what running workloads use of each."""
    rows: QuerySet[Cluster] = get("cluster").rows(user)
    return list(rows.filter(holds(user, Permission.CLUSTER_VIEW)).order_by("name"))


def cluster_lines(rows: Iterable[Cluster]) -> list[Line]:
    return [
        Line(
            row.name,
            reverse("cluster-detail", args=[row.pk]),
            tuple(_cluster_bars(row)),
            health_of(row),
            row.last_ok_at,
        )
        for row in list(rows)[:MOST]
    ]


@dataclass(frozen=True, slots=True)
class Change:
    """An entry of the audit log."""

    entry: AuditEntry
    name: str
    url: str


def latest_changes(user: User) -> list[Change]:
    """What people changed last in how the installation is set up; the log has all the rest."""
    log = get("audit")
    seen = log.visible(user).order_by("-at", "-pk")
    newest = seen.values_list("pk", flat=True).first() or 0
    entries = seen.filter(pk__gt=newest - _LOOKED_AT)
    for kind in _EVERY_DAY:
        entries = entries.exclude(action__startswith=f"{kind}.")
    return [Change(one, log.name_of(one), log.url(one)) for one in entries[:MOST]]


_EVERY_DAY = ("session", "sign_in_link", "token", "workload")
"""Kinds of entries that would hide the others."""
_LOOKED_AT = 2000
"""Entries; among more of every day's there may be no change."""
_WORDS = {"gpus": "GPUs", "cpus": "CPU cores", "memory": "Memory"}


def _listed(label: str, count: int, tone: str = "", **filters: Any) -> Tile:
    """A number of workloads with the list of exactly these."""
    given = {
        name: f"{value:%Y-%m-%dT%H:%M:%S.%fZ}" if isinstance(value, datetime) else value
        for name, value in filters.items()
    }
    url = f"{reverse('workload-list')}?{urlencode(given)}"
    return Tile(label, counts.in_words(count), url, tone)


def _in_use(rows: list[Cluster], url: str) -> Tile:
    """GPUs where there are some, else CPU cores."""
    name = "gpus" if any(row.gpu_count for row in rows) else "cpus"
    use, label = in_use(name, rows), f"{_WORDS[name]} in use"
    drawn = components.progress(use.used, use.total, f"{label}: {use.words}") if use.total else ""
    return Tile(label, use.words, url, bar=drawn)


def _cluster_bars(row: Cluster) -> Iterable[Bar]:
    for name, label in _WORDS.items():
        use = in_use(name, [row])
        if use.total:
            bar_label = f"{label} of {row.name}: {use.words}"
            yield Bar(label, use.words, components.progress(use.used, use.total, bar_label))


def _quota_bars(project: Project, held: usage.Held) -> tuple[Bar, ...]:
    """What has a quota, and GPUs where there are some; CPU cores where there is neither."""
    together = quotas.totals(quotas.quotas_of(project))
    named = [name for name in _WORDS if together[name] is not None]
    if "gpus" not in named and (project.cluster.gpu_count or held.gpus):
        named = ["gpus", *named]
    return tuple(
        Bar(
            _WORDS[name],
            in_words(name, float(getattr(held, name)), together[name]),
            bar(f"{_WORDS[name]} of {project.name}", float(getattr(held, name)), together[name]),
        )
        for name in named or ["cpus"]
    )
