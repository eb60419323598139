"""Django application."""

from django.apps import AppConfig


class FormsConfig(AppConfig):
    name = "gangline.forms"
    label = "gangline_forms"  # Django's own `forms` has the short name
