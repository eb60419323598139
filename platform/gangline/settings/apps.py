"""Django application."""

from django.apps import AppConfig


class SettingsConfig(AppConfig):
    name = "gangline.settings"
