"""Departments and projects as resources."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.http import HttpRequest

from gangline.access.actor import Actor
from gangline.access.models import AccessRule
from gangline.accounts.models import User
from gangline.clusters.connections import namespace_of, queue_problem
from gangline.clusters.models import Cluster
from gangline.clusters.selectors import visible_clusters
from gangline.resources.registry import Uses, get, register, register_usage
from gangline.resources.resource import M, Nav, Panel, Resource, Wire
from gangline.resources.tables import Filter, name_link, table
from gangline.tables.columns import Column
from gangline.web import components

from . import panels, queues, quotas, usage
from .models import Department, Project, Quota


def _of_scope(rows: QuerySet[Any], total: Any) -> Subquery:
    """``total`` over the ``rows`` of the unit's own scope."""
    own = rows.filter(scope=OuterRef("scope")).order_by().values("scope")
    return Subquery(own.annotate(total=total).values("total"))


def cluster_choices(user: User) -> Sequence[tuple[str, str]]:
    """The clusters that a list can be narrowed to."""
    return [
        (str(pk), name)
        for pk, name in visible_clusters(user).order_by("name").values_list("pk", "name")
    ]


def department_choices(user: User) -> Sequence[tuple[str, str]]:
    rows = get("department").visible(user).order_by("name").values_list("pk", "name")
    return [(str(pk), name) for pk, name in rows]


_CLUSTER = Filter(
    name="clusterId", column="cluster_id", label="Cluster", kind="uuid", choices=cluster_choices
)
_NAME = Filter(name="name", column="name")
_CREATED = Filter(name="createdAt", column="created_at", kind="time")
_QUOTA = Filter(name="totalGpuQuota", column="gpu_quota", kind="number")
_TAIL = (
    Column("quota", "GPU quota", panels.gpu_cell, sort="gpu_quota"),
    Column("members", "Members", lambda row: str(row.members or 0), sort="members", right=True),
    Column(
        "created", "Created", lambda row: components.time_ago(row.created_at), sort="created_at"
    ),
)


class Units(Resource[M]):
    """What departments and projects share: quotas as parts, members, the cluster's queue."""

    panels = (
        Panel(title="Quota", template="organization/quota.html", context=panels.quota_panel),
        Panel(title="Members", template="organization/members.html", context=panels.members_panel),
    )
    form_template = "organization/form.html"

    def rows(self, user: User) -> QuerySet[M]:
        return (
            super()
            .rows(user)
            .annotate(
                gpu_quota=_of_scope(Quota.objects, Sum("gpus")),
                members=_of_scope(AccessRule.objects, Count("pk")),
            )
        )

    def snapshot(self, obj: Any) -> dict[str, Any]:
        return super().snapshot(obj) | {"quotas": quotas.snapshot(obj)}

    def save_parts(self, obj: Any, parts: Mapping[str, Any], *, actor: Actor | None) -> None:
        obj.quotas_before = quotas.quotas_of(obj)
        quotas.save(obj, parts.get("quotas", ()), actor=actor)

    def saved(self, obj: Any, *, actor: Actor | None, changes: Mapping[str, Any]) -> None:
        queues.keep(obj)
        usage.changed(obj)

    def notice(self, obj: Any, *, actor: Actor | None) -> str:
        return quotas.notice(obj)

    def delete(self, obj: Any, *, actor: Actor | None) -> None:
        queues.let_go(obj)
        super().delete(obj, actor=actor)


class Departments(Units[Department]):
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
            *_TAIL,
        ),
        search=("name", "description"),
        filters=(_NAME, _CLUSTER, _QUOTA, _CREATED),
    )
    wire = Wire(
        path="org-unit/departments",
        envelope="departments",
        serializer="gangline.organization.serializers.DepartmentSerializer",
        viewset="gangline.organization.api.UnitViewSet",
        in_use=400,
    )

    def rows(self, user: User) -> QuerySet[Department]:
        return super().rows(user).annotate(project_count=Count("projects"))


class Projects(Units[Project]):
    model = Project
    key = "project"
    path = "projects"
    lede = "Where people work: each with its members and its share of a cluster."
    empty_text = "A project gives people a place on a cluster, with a quota and a namespace."
    form = "gangline.organization.forms.ProjectForm"
    nav = Nav(group="Organisation", icon="folder", order=10)
    related = (
        "scope__parent__parent__parent",
        "cluster",
        "department__scope",
        "created_by",
        "updated_by",
    )
    table = table(
        "projects",
        (
            Column("name", "Project", lambda row: name_link(row, "project"), sort="name"),
            Column(
                "department",
                "Department",
                lambda row: row.department.name,
                sort="department__name",
            ),
            Column("cluster", "Cluster", lambda row: row.cluster.name, sort="cluster__name"),
            *_TAIL,
        ),
        search=("name", "description"),
        filters=(
            _NAME,
            _CLUSTER,
            Filter(
                name="departmentId",
                column="department_id",
                label="Department",
                kind="integer",
                choices=department_choices,
            ),
            Filter(name="parentId", column="department_id", kind="integer"),
            Filter(name="parentName", column="department__name"),
            _QUOTA,
            _CREATED,
        ),
    )
    wire = Wire(
        path="org-unit/projects",
        envelope="projects",
        serializer="gangline.organization.serializers.ProjectSerializer",
        viewset="gangline.organization.api.ProjectViewSet",
        in_use=400,
    )

    def check(self, obj: Project, *, actor: Actor | None, before: Project | None) -> None:
        if before is not None and before.department_id != obj.department_id:
            raise ValidationError(
                {"department": ValidationError("A project stays in its department.", "fixed")}
            )
        if obj.own_queue and (before is None or before.own_queue != obj.own_queue):
            why = queue_problem(obj.cluster, project=obj.name, queue=obj.own_queue)
            if why:
                raise ValidationError({"own_queue": ValidationError(why, "queue")})
        names = {one.name for one in quotas.pools_of(obj.cluster)}
        strange = [one for one in obj.default_pools if one not in names]
        if strange:
            words = f"There is no node pool {strange[0]}; there is {', '.join(sorted(names))}."
            raise ValidationError({"default_pools": ValidationError(words, "pool")})

    def facts_of(self, request: HttpRequest, obj: Project) -> Any:
        yield "Department", name_link(obj.department, "department")
        yield "Cluster", obj.cluster.name
        yield "Namespace", namespace_of(obj.cluster, obj.name)
        if state := queues.state_of(obj):
            yield "Queue", state


register(Departments())
register(Projects())


def _departments_of(cluster: Any) -> Uses:
    department = get("department")
    return Uses(
        "department", Department.objects.filter(cluster=cluster), department.visible, department.url
    )


def _projects_of(department: Any) -> Uses:
    project = get("project")
    return Uses("project", department.projects.all(), project.visible, project.url)


register_usage(Cluster, _departments_of)
register_usage(Department, _projects_of)
