"""Pages of clusters: what each has, what it offers and why something is off."""

import shlex
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from gangline.access.actor import actor_of
from gangline.access.grants import can, visible_scopes
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.accounts.models import User
from gangline.clusters import checks
from gangline.clusters import services as clusters
from gangline.clusters.connections import scheduler_of
from gangline.clusters.models import Cluster, Credential, Orphan
from gangline.drivers.kubernetes.steps import State, Step
from gangline.lib.program import program
from gangline.scopes.models import ScopeKind
from gangline.spec.frameworks import FRAMEWORKS

from . import kubernetes
from .changing import UNREACHABLE
from .health import CHECKING, Health, health_of
from .selectors import visible_clusters

KINDS = {"local": "this machine", "kubernetes": "Kubernetes", "slurm": "Slurm"}
IDENTITIES = {
    "token": "a token",
    "certificate": "a client certificate",
    "in-cluster": "the service account of Gangline’s own pod",
}


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step of the connection check as it is drawn."""

    name: str
    tone: str
    icon: str
    word: str
    step: Step | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A cluster in the list; ``strays``: objects on it that belong to no workload."""

    cluster: Cluster
    health: Health
    facts: dict[str, Any]
    strays: int


LOOKS = {
    State.OK: ("good", "circle-check", "Good"),
    State.WARNING: ("warn", "alert-triangle", "Worth knowing"),
    State.FAILED: ("bad", "circle-x", "Failed"),
    State.SKIPPED: ("neutral", "circle-off", "Skipped"),
}


@login_required
@require_safe
def cluster_list(request: HttpRequest) -> HttpResponse:
    user = _user(request)
    strays = Count("orphans", filter=Q(orphans__is_sure=True, orphans__decision=""))
    found = visible_clusters(user).order_by("name")
    counted = list(found.annotate(strays=strays))
    managed: set[int] = set()
    if any(one.strays for one in counted):
        managed.update(visible_scopes(user, Permission.CLUSTER_VIEW).values_list("pk", flat=True))
    rows = [
        Row(one, health_of(one), _facts(one), one.strays if one.scope_id in managed else 0)
        for one in counted
    ]
    context = {
        "rows": rows,
        "state": "ready" if rows else "empty",
        "may_connect": visible_scopes(user, Permission.CLUSTER_CREATE)
        .filter(kind=ScopeKind.TENANT)
        .exists(),
    }
    return render(request, "clusters/list.html", context)


@login_required
@require_safe
def cluster_detail(request: HttpRequest, cluster_id: UUID) -> HttpResponse:
    """One cluster: the connection, the frameworks it offers, what it has."""
    user = _user(request)
    cluster = one(user, cluster_id)
    may_see = can(user, Permission.CLUSTER_VIEW, cluster.scope)
    context = {
        "cluster": cluster,
        "kind": KINDS.get(cluster.kind, cluster.kind),
        "health": health_of(cluster),
        "facts": _facts(cluster),
        "detail": cluster.facts.get("detail", {}),
        "frameworks": [_labelled(one) for one in cluster.facts.get("frameworks", [])],
        "runtimes": cluster.facts.get("runtimes", []),
        "more_runtimes": cluster.facts.get("detail", {}).get("moreRuntimes", ""),
        "may_manage": can(user, Permission.CLUSTER_EDIT, cluster.scope),
        "may_see_details": may_see,
        "is_kubernetes": checks.is_for(cluster),
        "when_unreachable": UNREACHABLE[cluster.when_unreachable].lower(),
        "scheduler": scheduler_of(cluster),
    }
    if checks.is_for(cluster) and may_see:
        context |= _connection(cluster) | _orphans(cluster)
    return render(request, "clusters/detail.html", context)


@login_required
@require_POST
def cluster_check(request: HttpRequest, cluster_id: UUID) -> HttpResponse:
    """Look at the cluster again, now; a check of many steps goes on while its page is shown."""
    actor = actor_of(request, "form")
    cluster = one(actor.user, cluster_id)
    if not can(actor.user, Permission.CLUSTER_EDIT, cluster.scope):
        raise NotAllowed(Permission.CLUSTER_EDIT, cluster.scope)
    if checks.is_for(cluster):
        kubernetes.check(actor=actor, cluster=cluster)
        return redirect("cluster-detail", cluster_id=cluster_id)
    clusters.refresh(cluster)
    cluster.refresh_from_db()
    if cluster.health == "Connected":
        messages.success(request, f"{cluster.name} answered.")
    else:
        messages.error(request, f"{cluster.name}: {cluster.health_reason}")
    return redirect("cluster-detail", cluster_id=cluster_id)


def one(user: User, cluster_id: UUID) -> Cluster:
    """A cluster that the person may see. Raises Http404 for any other."""
    cluster = visible_clusters(user).filter(pk=cluster_id).first()
    if cluster is None:
        raise Http404
    return cluster


def _connection(cluster: Cluster) -> dict[str, Any]:
    """How Gangline signs in there, and the steps of the last check."""
    progress = checks.progress(cluster)
    credential = Credential.objects.filter(cluster=cluster).select_related("added_by").first()
    context: dict[str, Any] = {
        "credential": credential,
        "identity": IDENTITIES.get(credential.identity, "") if credential else "",
        "progress": progress,
        "make_project": f"{program()} project NAME \\\n"
        f"  --researcher USER \\\n  --cluster {shlex.quote(cluster.name)}",
        "has_projects": cluster.projects.exists(),
    }
    if progress is None:
        return context
    if _is_outdated(progress, cluster):
        # A failure that stands under a green badge tells nothing but how it was once.
        return context | {"progress": None}
    rows = [StepRow(step.name, *LOOKS[step.state], step) for step in progress.steps]
    if progress.is_running:
        context["health"] = CHECKING
        rows += [StepRow(name, "neutral", "clock", "To come") for name in progress.to_come]
    return context | {"steps": rows, "checking": progress.is_running, "said": _said(progress)}


def _is_outdated(progress: checks.Progress, cluster: Cluster) -> bool:
    """Whether the last check failed and the cluster has answered since."""
    if progress.is_running or progress.is_trial or progress.ended_at is None:
        return False
    failed = any(step.state == State.FAILED for step in progress.steps)
    since = cluster.health_since
    is_well = cluster.health == "Connected" and since is not None
    return failed and is_well and since > progress.ended_at


def _orphans(cluster: Cluster) -> dict[str, Any]:
    """Objects on the cluster that belong to no workload, and those that were put away.

    What only one look has found may be gone at the next one: it is counted and not listed.
    """
    found = Orphan.objects.filter(cluster=cluster).select_related("decided_by")
    rows = list(found.order_by("created_at", "pk"))
    sure = [row for row in rows if row.is_sure]
    return {
        "orphans": [row for row in sure if row.decision != "ignore"],
        "ignored": [row for row in sure if row.decision == "ignore"],
        "unconfirmed": len(rows) - len(sure),
    }


def _said(progress: checks.Progress) -> str:
    """The check in one sentence, for those who cannot see its steps."""
    if progress.is_running:
        done, all_of_them = len(progress.steps), len(progress.steps) + len(progress.to_come)
        return f"Checking: {done} of {all_of_them} steps are done."
    if progress.broke_off:
        return "The check broke off before its end. Check again."
    failed = sum(step.state == State.FAILED for step in progress.steps)
    warned = sum(step.state == State.WARNING for step in progress.steps)
    if progress.is_trial:
        kept = progress.steps and progress.steps[-1].state == State.OK
        return f"The new credential {'is' if kept else 'was not'} stored."
    if failed:
        skipped = sum(step.state == State.SKIPPED for step in progress.steps)
        left = skipped + len(progress.to_come)
        unseen = f"; {left} {'was' if left == 1 else 'were'} not checked" if left else ""
        return f"{failed} step{'' if failed == 1 else 's'} failed{unseen}."
    if warned:
        return f"Connected; {warned} {'step is' if warned == 1 else 'steps are'} worth a look."
    return "All checks passed."


def _facts(cluster: Cluster) -> dict[str, Any]:
    """Capacity in the words of the page; empty before the first good probe."""
    capacity = cluster.capacity
    if not capacity:
        return {}
    gpus = cluster.gpu_count
    declared = " declared" if capacity.get("gpus_declared") else ""
    return {
        "cpus": f"{capacity['cpus']:g}",
        "memory": capacity["memory"],
        "gpus": f"{gpus}{declared}" if gpus else "none",
        "version": cluster.facts.get("version", ""),
    }


def _labelled(framework: dict[str, Any]) -> dict[str, Any]:
    known = FRAMEWORKS.get(framework["framework"])
    return framework | {"label": known.label if known else framework["framework"]}


def _user(request: HttpRequest) -> User:
    return actor_of(request, "form").user
