"""Django application."""

from django.apps import AppConfig


class TablesConfig(AppConfig):
    name = "gangline.tables"
