"""Addresses of the nodes of the scope tree that have pages."""

from django.urls import path

from . import connecting, editing, views

CLUSTER = "clusters/<uuid:cluster_id>"

urlpatterns = [
    path("clusters", views.cluster_list, name="cluster-list"),
    path("clusters/connect", connecting.cluster_connect, name="cluster-connect"),
    path("clusters/role.yaml", connecting.cluster_role, name="cluster-role"),
    path(CLUSTER, views.cluster_detail, name="cluster-detail"),
    path(f"{CLUSTER}/check", views.cluster_check, name="cluster-check"),
    path(f"{CLUSTER}/credential", connecting.cluster_credential, name="cluster-credential"),
    path(f"{CLUSTER}/settings", editing.cluster_settings, name="cluster-settings"),
]
