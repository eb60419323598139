"""Django application."""

from django.apps import AppConfig


class ViewsConfig(AppConfig):
    name = "gangline.views"
