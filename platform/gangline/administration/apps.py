"""Django application."""

from django.apps import AppConfig


class AdministrationConfig(AppConfig):
    name = "gangline.administration"
