"""Addresses of projects in the API, below /api/v1/."""

from django.urls import path

from . import views

urlpatterns = [
    path("org-unit/projects", views.Projects.as_view()),
    path("org-unit/projects/count", views.ProjectCount.as_view()),
    path("org-unit/projects/<int:project_id>", views.ProjectOne.as_view()),
]
