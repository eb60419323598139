"""Django application."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "gangline.accounts"

    def ready(self) -> None:
        """Hear every sign-in, in processes without web requests too."""
        from . import middleware  # noqa: F401  connects itself
