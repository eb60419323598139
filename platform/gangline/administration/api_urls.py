"""Addresses of the settings below ``/v1/``, and of the audit log below ``/api/v1/``."""

from django.urls import path

from . import api

AUDIT = [
    path("audit/log", api.AuditLogView.as_view()),
    path("audit/log/file", api.AuditLogFileView.as_view()),
]
SETTINGS = [
    path("k8s/setting", api.SettingsView.as_view()),
    path("k8s/setting/<str:key>", api.SettingView.as_view()),
]
