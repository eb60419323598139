"""Addresses of the pages of assets."""

from django.urls import path

from assets import views

urlpatterns = [
    path("templates", views.template_list, name="template-list"),
]
