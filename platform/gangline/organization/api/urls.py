"""Addresses of clusters and projects in the API, below /api/v1/."""

from django.urls import path

from . import views

urlpatterns = [
    path("clusters", views.Clusters.as_view()),
    path("clusters/<uuid:cluster_id>", views.ClusterOne.as_view()),
    path("org-unit/projects", views.Projects.as_view()),
    path("org-unit/projects/count", views.ProjectCount.as_view()),
    path("org-unit/projects/<int:project_id>", views.ProjectOne.as_view()),
]
