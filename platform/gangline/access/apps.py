"""Django application."""

from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "gangline.access"

    def ready(self) -> None:
        # Late: rights need the models, which are not there when this module is imported.
        from gangline.access.notices import notices_for
        from gangline.web.navigation import show_notices_of

        show_notices_of(notices_for)
