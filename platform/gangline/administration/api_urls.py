"""Addresses of the settings below ``/v1/``; those of signing in and the log below ``/api/v1/``."""

from django.urls import path

from . import api, security_api

SECURITY = [
    path("security/settings", security_api.SecuritySettings.as_view()),
    path("security/settings/<str:key>", security_api.SecuritySetting.as_view()),
]
AUDIT = [
    path("audit/log", api.AuditLogView.as_view()),
    path("audit/log/file", api.AuditLogFileView.as_view()),
]
SETTINGS = [
    path("k8s/setting", api.SettingsView.as_view()),
    path("k8s/setting/<str:key>", api.SettingView.as_view()),
]
