"""Django application."""

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "gangline.people"
