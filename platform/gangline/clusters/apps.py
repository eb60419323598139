"""Django application."""

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "gangline.clusters"
