"""Which projects a person sees, and what is read with them."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from gangline.access.grants import held_at, held_everywhere, holds
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters.models import Cluster
from gangline.clusters.selectors import Health, late_news
from gangline.scopes.models import ScopeKind

from .models import Project

_NEWS = ("name", "health", "health_reason", "health_since", "heard_at", "watch_trouble")


def visible_projects(user: User, permission: Permission) -> QuerySet[Project]:
    """Every project in which ``can(user, permission, project.scope)`` holds."""
    return Project.objects.filter(holds(user, permission))


def may_create_somewhere(user: User) -> bool:
    """Whether any project takes this person's workloads."""
    permission = Permission.WORKLOAD_CREATE
    if held_at(user, permission, (ScopeKind.PROJECT,)):
        return True
    if held_everywhere(user, permission):
        return Project.objects.exists()
    return visible_projects(user, permission).exists()


def with_scopes(projects: QuerySet[Project]) -> QuerySet[Project]:
    """``projects`` with everything that names or merges their scopes, in the same query."""
    return projects.select_related("cluster", "department", "scope__parent__parent__parent")


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
