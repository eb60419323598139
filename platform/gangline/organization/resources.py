"""Departments and projects as resources."""

from typing import Any

from django.db.models import Count, QuerySet

from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters.models import Cluster
from gangline.clusters.resources import cluster_choices
from gangline.resources.registry import Uses, register, register_usage
from gangline.resources.resource import Nav, Resource, Wire
from gangline.resources.tables import Filter, name_link, table
from gangline.tables.columns import Column
from gangline.web import components

from .models import Department
from .selectors import visible_projects


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
        (
            Column("name", "Department", lambda row: name_link(row, "department"), sort="name"),
            Column("cluster", "Cluster", lambda row: row.cluster.name, sort="cluster__name"),
            Column(
                "projects",
                "Projects",
                lambda row: str(row.project_count),
                sort="project_count",
                right=True,
            ),
            Column(
                "created",
                "Created",
                lambda row: components.time_ago(row.created_at),
                sort="created_at",
            ),
        ),
        search=("name", "description"),
        filters=(
            Filter(name="name", column="name"),
            Filter(
                name="clusterId",
                column="cluster_id",
                label="Cluster",
                kind="uuid",
                choices=cluster_choices,
            ),
            Filter(name="createdAt", column="created_at", kind="time"),
        ),
    )
    wire = Wire(
        path="org-unit/departments",
        envelope="departments",
        serializer="gangline.organization.serializers.DepartmentSerializer",
        in_use=400,
    )

    def rows(self, user: User) -> QuerySet[Department]:
        return super().rows(user).annotate(project_count=Count("projects"))


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
