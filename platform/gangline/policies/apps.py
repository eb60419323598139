"""Django application."""

from django.apps import AppConfig


class PoliciesConfig(AppConfig):
    name = "gangline.policies"
