"""Django application."""

from django.apps import AppConfig


class DbConfig(AppConfig):
    name = "gangline.db"
