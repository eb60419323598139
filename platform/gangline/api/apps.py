"""Django application."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "gangline.api"
