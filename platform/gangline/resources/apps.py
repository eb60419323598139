"""Django application: the registrations of every app are loaded when all models are there."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class ResourcesConfig(AppConfig):
    name = "gangline.resources"

    def ready(self) -> None:
        autodiscover_modules("resources")
