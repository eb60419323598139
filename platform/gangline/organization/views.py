"""Pages of clusters: what each has, what it offers and why something is off."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from gangline.access.actor import actor_of
from gangline.access.grants import can, visible_projects, visible_scopes
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.accounts.models import User
from gangline.clusters import services as clusters
from gangline.clusters.models import Cluster
from gangline.spec.frameworks import FRAMEWORKS

KINDS = {"local": "this machine", "kubernetes": "Kubernetes", "slurm": "Slurm"}


@dataclass(frozen=True, slots=True)
class Health:
    """How the health of a cluster looks."""

    word: str
    tone: str
    shape: str


HEALTH = {
    "Connected": Health("Connected", "good", "running"),
    "Unreachable": Health("Unreachable", "bad", "no-contact"),
}
NOT_YET = Health("Not checked yet", "neutral", "unknown")


@login_required
@require_safe
def cluster_list(request: HttpRequest) -> HttpResponse:
    found = _visible(_user(request)).order_by("name")
    rows = [(cluster, HEALTH.get(cluster.health, NOT_YET), _facts(cluster)) for cluster in found]
    context = {"rows": rows, "state": "ready" if rows else "empty"}
    return render(request, "clusters/list.html", context)


@login_required
@require_safe
def cluster_detail(request: HttpRequest, cluster_id: UUID) -> HttpResponse:
    """One cluster: the connection, the frameworks it offers, its runtimes."""
    user = _user(request)
    cluster = _one(user, cluster_id)
    context = {
        "cluster": cluster,
        "kind": KINDS.get(cluster.kind, cluster.kind),
        "health": HEALTH.get(cluster.health, NOT_YET),
        "facts": _facts(cluster),
        "frameworks": [_labelled(one) for one in cluster.facts.get("frameworks", [])],
        "runtimes": cluster.facts.get("runtimes", []),
        "more_runtimes": cluster.facts.get("detail", {}).get("moreRuntimes", ""),
        "may_manage": can(user, Permission.CLUSTER_MANAGE, cluster.scope),
        "may_see_details": can(user, Permission.CLUSTER_VIEW, cluster.scope),
    }
    return render(request, "clusters/detail.html", context)


@login_required
@require_POST
def cluster_check(request: HttpRequest, cluster_id: UUID) -> HttpResponse:
    """Look at the cluster again, now."""
    user = _user(request)
    cluster = _one(user, cluster_id)
    if not can(user, Permission.CLUSTER_MANAGE, cluster.scope):
        raise NotAllowed(Permission.CLUSTER_MANAGE, cluster.scope)
    clusters.refresh(cluster)
    cluster.refresh_from_db()
    if cluster.health == "Connected":
        messages.success(request, f"{cluster.name} answered.")
    else:
        messages.error(request, f"{cluster.name}: {cluster.health_reason}")
    return redirect("cluster-detail", cluster_id=cluster_id)


def _visible(user: User) -> QuerySet[Cluster]:
    """Clusters that the person manages, or on which they have a project."""
    return Cluster.objects.select_related("scope").filter(
        Q(scope__in=visible_scopes(user, Permission.CLUSTER_VIEW))
        | Q(pk__in=visible_projects(user, Permission.WORKLOAD_VIEW).values("cluster_id"))
    )


def _one(user: User, cluster_id: UUID) -> Cluster:
    cluster = _visible(user).filter(pk=cluster_id).first()
    if cluster is None:
        raise Http404
    return cluster


def _facts(cluster: Cluster) -> dict[str, Any]:
    """Capacity in the words of the page; empty before the first good probe."""
    capacity = cluster.capacity
    if not capacity:
        return {}
    gpus = len(capacity.get("gpus", ()))
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
