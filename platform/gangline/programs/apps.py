"""Django application."""

from django.apps import AppConfig


class ProgramsConfig(AppConfig):
    name = "gangline.programs"
