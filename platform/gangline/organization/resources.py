"""Departments and projects as resources."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, F, QuerySet

from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters.models import Cluster
from gangline.clusters.selectors import visible_clusters
from gangline.resources.registry import Uses, register, register_usage
from gangline.resources.resource import Nav, Resource, Wire
from gangline.resources.tables import column, name_column, table, time_column
from gangline.tables import filters

from .models import Department
from .selectors import visible_projects


def cluster_choices(user: User) -> Sequence[tuple[str, str]]:
    """The clusters that a list can be narrowed to."""
    found = visible_clusters(user).order_by("name").values_list("pk", "name")
    return [(str(pk), name) for pk, name in found]


class Departments(Resource[Department]):
    model = Department
    key = "department"
    path = "departments"
    lede = "Parts of the organisation, each with its own projects and quota."
    empty_text = "A department groups projects on a cluster and shares out its quota among them."
    form = "gangline.organization.forms.DepartmentForm"
    nav = Nav(group="Organisation", icon="sitemap", order=20)
    related = ("scope__parent__parent", "cluster", "created_by", "updated_by")
    facts = ("cluster",)
    can_copy = True
    table = table(
        "departments",
        name_column("department", "Department"),
        column("cluster", "Cluster", "cluster_name", sort="cluster_name"),
        column("projects", "Projects", "project_count", sort="project_count", right=True),
        time_column("created", "Created", "created_at", sort="created_at"),
        noun=("department", "departments"),
        search=("name", "description"),
        filters=(
            filters.choice("cluster", "Cluster", "cluster_id"),
            filters.dates("created", "Created", "created_at", wire="createdAt"),
            filters.for_clients("name", "name"),
            filters.for_clients("clusterId", "cluster_id", filters.Kind.ID),
        ),
    )
    wire = Wire(
        path="org-unit/departments",
        envelope="departments",
        serializer="gangline.organization.serializers.DepartmentSerializer",
        in_use=400,
    )

    def rows(self, user: User) -> QuerySet[Department]:
        found = super().rows(user)
        return found.annotate(project_count=Count("projects"), cluster_name=F("cluster__name"))

    def choices(self, user: User) -> Mapping[str, Sequence[tuple[str, str]]]:
        return {"cluster": cluster_choices(user)}


register(Departments())


def _departments_of(cluster: Any) -> Uses:
    from gangline.resources.registry import get

    department = get("department")
    return Uses(
        "department", Department.objects.filter(cluster=cluster), department.visible, department.url
    )


register_usage(Cluster, _departments_of)
register_usage(
    Department,
    lambda row: Uses(
        "project",
        row.projects.all(),
        lambda user: visible_projects(user, Permission.PROJECT_VIEW),
        lambda project: f"/projects/{project.pk}",
    ),
)
