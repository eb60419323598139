"""Departments and projects as resources."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Count, Manager, OuterRef, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.models import AccessRule
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters.connections import names_node_types, namespaces_of, queue_problem
from gangline.clusters.models import Cluster
from gangline.clusters.selectors import cluster_choices
from gangline.db.expressions import total
from gangline.resources.registry import Uses, get, register, register_usage
from gangline.resources.resource import Action, M, Nav, Panel, Resource, Wire
from gangline.resources.tables import column, name_column, table, time_column
from gangline.tables import filters

from . import panels, queues, quotas, usage
from .models import Department, Project, Quota


def _of_scope(rows: Manager[Any], what: Any) -> Subquery:
    """``what`` over the ``rows`` of the unit's own scope."""
    own = rows.filter(scope=OuterRef("scope")).order_by().values("scope")
    return Subquery(own.annotate(total=what).values("total"))


def department_choices(user: User) -> Sequence[tuple[str, str]]:
    rows = get("department").visible(user).order_by("name").values_list("pk", "name")
    return [(str(pk), name) for pk, name in rows]


_CLUSTER = filters.choice("cluster", "Cluster", "cluster_id")
_SHARED_FILTERS = (
    filters.dates("created", "Created", "created_at", wire="createdAt"),
    filters.for_clients("name", "name"),
    filters.for_clients("clusterId", "cluster_id", filters.Kind.ID),
    filters.for_clients("totalGpuQuota", "gpu_quota", filters.Kind.NUMBERS),
)
_TAIL = (
    column("quota", "GPU quota", "gpu_quota", cell=panels.gpu_cell, sort="quota_order", width="l"),
    column("members", "Members", "members", sort="members", right=True, width="s", drops=2),
    time_column("created", "Created", "created_at", sort="created_at", drops=3),
)
UNLIMITED = Decimal(10**9)
"""Where the order puts what has no quota."""


def _new_project(above: str) -> Action:
    """A button of a department or a cluster that leads to the form of a project in it."""
    return Action(
        label="New project",
        icon="plus",
        url=lambda row: f"{reverse('project-create')}?{above}={row.pk}",
        permission=Permission.PROJECT_CREATE,
    )


POLICY = Action(
    label="Policy",
    icon="shield-check",
    url=lambda row: reverse("policy-edit", args=[row.scope_id]),
    permission=Permission.POLICY_VIEW,
)
WORKLOADS = Action(
    label="Workloads",
    icon="list-details",
    url=lambda row: f"{reverse('workload-list')}?{urlencode({'project': row.name})}",
    permission=Permission.WORKLOAD_VIEW,
)


class Units(Resource[M]):
    """What departments and projects share: quotas as parts, members, the cluster's queue."""

    panels: tuple[Panel, ...] = (
        Panel(title="Quota", template="organization/quota.html", context=panels.quota_panel),
    )
    form_template = "organization/form.html"

    def rows(self, user: User) -> QuerySet[M]:
        return (
            super()  # type: ignore[return-value]  # annotated rows are still of the model
            .rows(user)
            .annotate(
                gpu_quota=_of_scope(Quota.objects, Sum("gpus")),
                quota_order=Coalesce(_of_scope(Quota.objects, Sum("gpus")), Value(UNLIMITED)),
                members=Coalesce(_of_scope(AccessRule.objects, Count("pk")), 0),
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
    empty_text = "A department groups projects on a cluster and divides its quota among them."
    form = "gangline.organization.forms.DepartmentForm"
    nav = Nav(group="Organisation", icon="sitemap", order=20)
    related = ("scope__parent__parent", "cluster", "created_by", "updated_by")
    facts = ("cluster",)
    names_users = False
    panels = (
        *Units.panels,
        Panel(
            title="Projects",
            template="organization/projects.html",
            context=panels.projects_panel,
        ),
    )
    can_copy = True
    actions = (_new_project("department"), POLICY)
    table = table(
        "departments",
        name_column("department", "Department"),
        column("cluster", "Cluster", "cluster.name", sort="cluster__name", width="m"),
        column(
            "projects", "Projects", "project_count", sort="project_count", right=True, width="s"
        ),
        *_TAIL,
        noun=("department", "departments"),
        search=("name", "description"),
        filters=(_CLUSTER, *_SHARED_FILTERS),
    )
    wire = Wire(
        path="org-unit/departments",
        envelope="departments",
        serializer="gangline.organization.serializers.DepartmentSerializer",
        viewset="gangline.organization.api.UnitViewSet",
        in_use=400,
    )

    def rows(self, user: User) -> QuerySet[Department]:
        return super().rows(user).annotate(project_count=total(Project.objects.all(), "department"))

    def choices(self, user: User) -> Mapping[str, Sequence[tuple[str, str]]]:
        return {"cluster": cluster_choices(user)}

    def check(self, obj: Department, *, actor: Actor | None, before: Department | None) -> None:
        _check_node_types(obj, before)


class Projects(Units[Project]):
    model = Project
    actions = (WORKLOADS, POLICY)
    key = "project"
    path = "projects"
    lede = "Each has its members and its share of a cluster."
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
        name_column("project", "Project"),
        column("department", "Department", "department.name", sort="department__name", width="m"),
        column("cluster", "Cluster", "cluster.name", sort="cluster__name", width="m", drops=2),
        *_TAIL,
        noun=("project", "projects"),
        search=("name", "description"),
        filters=(
            filters.choice("department", "Department", "department_id"),
            _CLUSTER,
            *_SHARED_FILTERS,
            filters.for_clients("departmentId", "department_id", filters.Kind.NUMBERS),
            filters.for_clients("parentId", "department_id", filters.Kind.NUMBERS),
            filters.for_clients("parentName", "department__name"),
        ),
    )
    wire = Wire(
        path="org-unit/projects",
        envelope="projects",
        serializer="gangline.organization.serializers.ProjectSerializer",
        viewset="gangline.organization.api.ProjectViewSet",
        in_use=400,
    )

    def choices(self, user: User) -> Mapping[str, Sequence[tuple[str, str]]]:
        return {"cluster": cluster_choices(user), "department": department_choices(user)}

    def check(self, obj: Project, *, actor: Actor | None, before: Project | None) -> None:
        if before is not None and before.department_id != obj.department_id:
            raise ValidationError(
                {
                    "department": ValidationError(
                        ("A project cannot be moved to another department."), "fixed"
                    )
                }
            )
        _check_right_to_own(obj, before, actor)
        if before is None or before.own_namespace != obj.own_namespace:
            _check_namespace(obj, before)
        if obj.own_queue and (before is None or before.own_queue != obj.own_queue):
            why = queue_problem(obj.cluster, namespace=obj.namespace, queue=obj.own_queue)
            if why:
                raise ValidationError({"own_queue": ValidationError(why, "queue")})
        _check_node_types(obj, before)
        names = {one.name for one in quotas.pools_of(obj.cluster)}
        strange = [one for one in obj.default_pools if one not in names]
        if strange:
            words = f"There is no node pool {strange[0]}; there is {', '.join(sorted(names))}."
            raise ValidationError({"default_pools": ValidationError(words, "pool")})

    def facts_of(self, request: HttpRequest, obj: Project) -> Any:
        yield "Department", obj.department
        yield "Cluster", obj.cluster
        if obj.namespace:
            yield "Namespace", obj.namespace
        if state := queues.state_of(obj):
            yield "Queue", state


def _check_node_types(node: Department | Project, before: Department | Project | None) -> None:
    """Rules of nodes need nodes, and a project may only tighten what its department says."""
    if not node.node_types or (before is not None and before.node_types == node.node_types):
        return
    if not names_node_types(node.cluster):
        words = f"{node.cluster.name} has no node types to choose from."
        raise ValidationError({"node_types": ValidationError(words, "cluster")})
    allowed = node.department.node_types if isinstance(node, Project) else []
    strange = [one for one in node.node_types if one not in allowed] if allowed else []
    if strange:
        words = f"Department {node.department.name} allows {', '.join(allowed)}."  # type: ignore[union-attr]
        params = {"value": strange[0]}
        raise ValidationError({"node_types": ValidationError(words, "department", params)})


def _check_right_to_own(project: Project, before: Project | None, actor: Actor | None) -> None:
    """A namespace of others may hold their secrets; a queue of others is outside of every quota."""
    names = ("own_namespace", "own_queue")
    named = [n for n in names if getattr(project, n) not in ("", getattr(before, n, ""))]
    place = project.cluster.scope
    if named and actor is not None and not can(actor.user, Permission.CLUSTER_EDIT, place):
        words = f"Only those who may edit cluster {project.cluster.name} can name one."
        raise ValidationError(dict.fromkeys(named, ValidationError(words, "cluster")))


def _check_namespace(project: Project, before: Project | None) -> None:
    if before is not None:
        why, code = "The namespace of a project cannot be changed.", "fixed"
    elif project.own_namespace and not namespaces_of(project.cluster)(project.name):
        why, code = f"{project.cluster.name} has no namespaces.", "namespace"
    else:
        return
    params = {"value": project.own_namespace}
    raise ValidationError({"own_namespace": ValidationError(why, code, params)})


register(Departments())
register(Projects())
get("cluster").actions = (_new_project("cluster"), *get("cluster").actions)


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
