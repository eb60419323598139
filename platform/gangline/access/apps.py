"""Django application."""

from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "gangline.access"
