"""Addresses of the settings below ``/v1/``, and of the audit log below ``/api/v1/``."""

from django.urls import path, re_path

from gangline.api.views import nothing_here
from gangline.clusters.api_urls import K8S

from . import api

AUDIT = [
    path("audit/log", api.AuditLogView.as_view()),
    path("audit/log/file", api.AuditLogFileView.as_view()),
]
urlpatterns = [
    path("k8s/setting", api.SettingsView.as_view()),
    path("k8s/setting/<str:key>", api.SettingView.as_view()),
    *K8S,
    re_path(r"^.*\Z", nothing_here),
]
