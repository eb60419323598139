"""Django application."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "gangline.web"
