"""Django application."""

from django.apps import AppConfig


class ScopesConfig(AppConfig):
    name = "gangline.scopes"
