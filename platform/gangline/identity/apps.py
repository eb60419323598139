"""Django application."""

from django.apps import AppConfig


class IdentityConfig(AppConfig):
    name = "gangline.identity"

    def ready(self) -> None:
        from gangline.accounts import ways

        from .ways import connections, offered

        ways.register(offered)
        ways.register_connections(connections)
