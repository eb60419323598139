"""Addresses of the nodes of the scope tree that have pages."""

from django.urls import path

from . import views

urlpatterns = [
    path("clusters", views.cluster_list, name="cluster-list"),
    path("clusters/<uuid:cluster_id>", views.cluster_detail, name="cluster-detail"),
    path("clusters/<uuid:cluster_id>/check", views.cluster_check, name="cluster-check"),
]
