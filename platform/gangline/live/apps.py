"""Django application."""

from django.apps import AppConfig


class LiveConfig(AppConfig):
    name = "gangline.live"
