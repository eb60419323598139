"""Reading the scope tree."""

from django.db.models import QuerySet

from gangline.clusters.models import Cluster

from .models import Department, Installation, Project, Scope, ScopeKind


def installation() -> Installation:
    """This installation. Raises DoesNotExist before the first start has founded it."""
    return Installation.objects.select_related("scope").get()


def tenant_scope() -> Scope:
    """The top of the tree."""
    return Scope.objects.get(kind=ScopeKind.TENANT)


def with_scopes(projects: QuerySet[Project]) -> QuerySet[Project]:
    """``projects`` with everything that names or merges their scopes, in the same query."""
    return projects.select_related("cluster", "department", "scope__parent__parent__parent")


def clusters_of(projects: QuerySet[Project]) -> QuerySet[Cluster]:
    """The clusters on which ``projects`` are."""
    return Cluster.objects.filter(pk__in=projects.values("cluster_id"))


def departments_of(projects: QuerySet[Project]) -> QuerySet[Department]:
    """The departments to which ``projects`` belong."""
    return Department.objects.filter(pk__in=projects.values("department_id"))
