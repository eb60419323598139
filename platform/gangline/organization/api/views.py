"""Projects for clients: what one may see, and nothing of the rest."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.api import filtering
from gangline.api.filtering import Filter, identifier, number, time
from gangline.api.paging import answer, known_only, page_of, sorting
from gangline.clusters.connections import namespace_of
from gangline.organization.models import Project
from gangline.organization.selectors import visible_projects

from . import shapes

FILTERS = {
    "name": Filter("name"),
    "clusterId": identifier("cluster_id"),
    "departmentId": number("department_id"),
    "parentId": number("department_id"),
    "parentName": Filter("department__name"),
    "totalGpuQuota": number("gpu_quota"),
    "createdAt": time("created_at"),
}
SORTS = {"name": "name", "createdAt": "created_at", "parentName": "department__name"}
LIST = frozenset({"filterBy", "sortBy", "sortOrder", "offset", "limit", "search"})


class Projects(APIView):
    """Projects."""

    @extend_schema(
        operation_id="listProjects",
        parameters=shapes.PROJECT_PARAMETERS,
        responses={200: shapes.PROJECTS, **shapes.errors(400)},
    )
    def get(self, request: Request) -> Response:
        """Projects that the caller may see."""
        known_only(request, LIST)
        page = page_of(request)
        column, descending = sorting(request, SORTS, "name")
        rows = _projects(request).order_by(f"{'-' if descending else ''}{column}", "pk")
        found = [_project(p) for p in rows[page.offset : page.offset + page.limit + 1]]
        return Response(answer("projects", found, page))


class ProjectCount(APIView):
    """Number of projects."""

    @extend_schema(
        operation_id="countProjects",
        parameters=shapes.PROJECT_COUNT_PARAMETERS,
        responses={200: shapes.COUNT, **shapes.errors(400)},
    )
    def get(self, request: Request) -> Response:
        """How many projects the filters let through."""
        known_only(request, frozenset({"filterBy", "search"}))
        return Response({"count": _projects(request).count()})


class ProjectOne(APIView):
    """One project."""

    @extend_schema(operation_id="getProject", responses={200: shapes.PROJECT, **shapes.errors(404)})
    def get(self, request: Request, project_id: int) -> Response:
        """One project."""
        known_only(request, frozenset())
        rows = visible_projects(_user(request), Permission.PROJECT_VIEW)
        project = None
        if project_id < 10**15:
            project = rows.select_related("department", "cluster").filter(pk=project_id).first()
        if project is None:
            raise Http404
        return Response(_project(project))


def _user(request: Request) -> User:
    user = request.user
    if not isinstance(user, User):
        raise TypeError("the permission classes let a stranger in")
    return user


def _projects(request: Request) -> QuerySet[Project]:
    rows = visible_projects(_user(request), Permission.PROJECT_VIEW)
    rows = rows.select_related("department", "cluster").filter(
        filtering.conditions(request.query_params.getlist("filterBy"), FILTERS)
    )
    search = "".join(c for c in request.query_params.get("search", "")[:100] if c.isprintable())
    return rows.filter(name__icontains=search) if search else rows


def _project(project: Project) -> dict[str, Any]:
    return {
        "id": str(project.pk),
        "name": project.name,
        "description": "",
        "clusterId": project.cluster_id,
        "parentId": str(project.department_id),
        "parent": {"id": str(project.department_id), "name": project.department.name},
        "requestedNamespace": None,
        "enforceRunaiScheduler": False,
        "status": {"namespace": namespace_of(project.cluster, project.name), "phase": "Ready"},
        "totalResources": {"gpuQuota": project.gpu_quota, "cpuQuota": None, "memoryQuota": None},
        "resources": [],
        "effective": {},
        "createdAt": project.created_at,
        "updatedAt": project.created_at,
    }
