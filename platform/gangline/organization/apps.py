"""Django application."""

from django.apps import AppConfig


class OrganizationConfig(AppConfig):
    name = "gangline.organization"
