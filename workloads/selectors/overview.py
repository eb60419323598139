"""What Home counts and draws: each number with the list that shows the same number."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, QuerySet, Sum
from django.db.models.lookups import In
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from gangline.access.grants import holds
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.audit.models import AuditEntry
from gangline.clusters.health import Health, health_of
from gangline.clusters.models import Cluster
from gangline.clusters.selectors import visible_clusters
from gangline.db.expressions import Unindexed
from gangline.lib.sizes import bytes_in_words
from gangline.organization import quotas, usage
from gangline.organization.models import Project
from gangline.organization.panels import bar, in_words
from gangline.resources.registry import get
from gangline.spec.words import plain_number
from gangline.tables import counts
from gangline.web import components
from workloads.models import Workload
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


def tiles(visible: QuerySet[Workload], now: datetime) -> list[Tile]:
    """Of who works here: what runs, waits, needs them, and was done since yesterday."""
    since = now - DAY
    done = ended(visible, ("Completed",), since)
    found = counts.capped(
        {pill: visible.filter(status__in=statuses_of(pill)) for pill in _PILLS} | {"done": done}
    )
    attention = "bad" if found["attention"] else ""
    return [
        _listed("Running", found["running"], status="running"),
        _listed("Waiting", found["waiting"], status="waiting"),
        _listed("Needs attention", found["attention"], attention, status="attention"),
        _listed("Done in 24 hours", found["done"], status="completed", ended_from=since),
    ]


def administrator_tiles(
    visible: QuerySet[Workload], clusters: Iterable[Cluster], now: datetime
) -> list[Tile]:
    """Of who runs the installation: contact, use, what waits long and what failed."""
    since, long_ago = now - DAY, now - HOUR
    waiting = visible.filter(status__in=statuses_of("waiting"), phase_since__lt=long_ago)
    found = counts.capped({"waiting": waiting, "failed": ended(visible, ("Failed",), since)})
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
            "Waiting over 1 hour", found["waiting"], "warn" if found["waiting"] else "",
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
    rows: list[Any] = sorted(seen.filter(pk__in=first), key=lambda row: first.index(row.pk))
    rows += seen.exclude(pk__in=first).order_by("name")[: MOST - len(rows)]
    held = usage.held(rows)
    return [Line(row.name, projects.url(row), _quota_bars(row, held[row.pk])) for row in rows]


def cluster_rows(user: User) -> list[Cluster]:
    """The clusters that the person may look into, with what running workloads use of each."""
    running = Workload.objects.filter(deleted_at=None, status__in=statuses_of("running"))
    sums = {name: Sum(name) for name in ("cpus", "memory", "gpus")}
    used = {row.pop("cluster"): row for row in running.values("cluster").annotate(**sums)}
    rows = list(
        visible_clusters(user).filter(holds(user, Permission.CLUSTER_VIEW)).order_by("name")
    )
    for row in rows:
        for name, value in used.get(row.pk, {}).items():
            setattr(row, f"used_{name}", value)
    return rows


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
    """What people changed last; who signed in stands in the log alone."""
    log = get("audit")
    entries = log.visible(user).exclude(action__startswith="session.").order_by("-at", "-pk")
    return [Change(one, _change(one), log.url(one)) for one in entries[:MOST]]


def _change(entry: AuditEntry) -> str:
    """``Create project team-a``."""
    kind, _, verb = entry.action.replace("_", " ").partition(".")
    return " ".join(filter(None, (capfirst(verb), kind, entry.object_name)))


_PILLS = ("running", "waiting", "attention")
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
    uses = [_use(row, name) for row in rows]
    words = _of(name, sum(used for used, _ in uses), sum(total for _, total in uses))
    return Tile(f"{_WORDS[name]} in use", words, url)


def _use(row: Cluster, name: str) -> tuple[float, float]:
    """What running workloads use of a cluster, and what it has."""
    total = row.gpu_count if name == "gpus" else row.capacity.get(name)
    return float(getattr(row, f"used_{name}", None) or 0), float(total or 0)


def _of(name: str, used: float, total: float) -> str:
    if name == "memory":
        return f"{bytes_in_words(int(used))} of {bytes_in_words(int(total))}"
    return f"{plain_number(round(used, 2))} of {plain_number(round(total, 2))}"


def _cluster_bars(row: Cluster) -> Iterable[Bar]:
    for name, label in _WORDS.items():
        used, total = _use(row, name)
        if total:
            words = _of(name, used, total)
            drawn = components.progress(min(used, total), total, f"{label} of {row.name}: {words}")
            yield Bar(label, words, drawn)


def _quota_bars(project: Project, held: usage.Held) -> tuple[Bar, ...]:
    """GPUs always; what has no quota only as it is used."""
    together = quotas.totals(quotas.quotas_of(project))
    return tuple(
        Bar(
            label,
            in_words(name, float(getattr(held, name)), together[name]),
            bar(f"{label} of {project.name}", float(getattr(held, name)), together[name]),
        )
        for name, label in _WORDS.items()
        if name == "gpus" or together[name] is not None
    )
