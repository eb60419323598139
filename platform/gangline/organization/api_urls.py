"""Addresses of the API beside those of the resources; the last ones are below ``/v1``."""

from django.urls import path

from . import api, old_api

urlpatterns = [path("org-unit/priorities", api.Priorities.as_view())]
_CLUSTER = "k8s/clusters/<uuid:cluster_id>"
K8S = [
    path(f"{_CLUSTER}/departments", old_api.OldDepartments.as_view({"get": "list"})),
    path(
        f"{_CLUSTER}/projects",
        old_api.OldProjects.as_view({"get": "list", "post": "create"}),
    ),
    path(
        f"{_CLUSTER}/projects/<int:pk>",
        old_api.OldProjects.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
    path(
        f"{_CLUSTER}/node-pools",
        old_api.OldNodePools.as_view({"get": "list", "post": "create"}),
    ),
    path(
        f"{_CLUSTER}/node-pools/<int:pk>",
        old_api.OldNodePools.as_view({"put": "update", "delete": "destroy"}),
    ),
    path(
        f"{_CLUSTER}/node-pools/<int:pk>/labels",
        old_api.OldNodePools.as_view({"put": "labels"}),
    ),
]
