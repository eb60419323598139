"""Which clusters a person sees, and of which the news is not to be relied on just now."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from gangline.access.grants import visible_projects, visible_scopes
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters.models import Cluster

from .health import Health, late_news
from .models import Project

_NEWS = ("name", "health", "health_reason", "health_since", "heard_at", "watch_trouble")


def visible_clusters(user: User) -> QuerySet[Cluster]:
    """Clusters that the person manages, or on which they have a project."""
    rows = Cluster.objects.select_related("scope", "connection_check")
    return rows.filter(
        Q(scope__in=visible_scopes(user, Permission.CLUSTER_VIEW))
        | Q(pk__in=visible_projects(user, Permission.WORKLOAD_VIEW).values("cluster_id"))
    )


@dataclass(frozen=True, slots=True)
class Late:
    """A cluster whose workloads are shown as they were, and since when."""

    cluster: Cluster
    health: Health


def with_news(projects: QuerySet[Project]) -> QuerySet[Project]:
    """``projects`` with what `late_clusters` must know of their clusters, in the same query."""
    return projects.select_related("cluster").only("name", *(f"cluster__{name}" for name in _NEWS))


def late_clusters(projects: Iterable[Project]) -> list[Late]:
    """Those that do not answer, or of which nothing is heard, by name."""
    clusters = {project.cluster_id: project.cluster for project in projects}.values()
    told = ((one, late_news(one)) for one in sorted(clusters, key=lambda one: one.name))
    return [Late(one, health) for one, health in told if health is not None]
