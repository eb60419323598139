"""Django application: holds the commands that start processes."""

from django.apps import AppConfig


class SupervisorConfig(AppConfig):
    name = "gangline.supervisor"
