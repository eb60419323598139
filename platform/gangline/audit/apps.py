"""Django application."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "gangline.audit"

    def ready(self) -> None:
        """Listen to what happens to accounts."""
        from . import receivers  # noqa: F401  connects itself
