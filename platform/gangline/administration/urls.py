"""Addresses of the settings. Those of the audit log come from its resource."""

from django.urls import path

from . import views

urlpatterns = [
    path("settings", views.settings_page, name="settings"),
    path("settings/environment", views.environment_page, name="environment"),
    path("settings/<slug:category>", views.settings_page, name="settings-category"),
]
