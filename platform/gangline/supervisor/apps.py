"""Django application: holds the commands that start processes."""

import gc

from django.apps import AppConfig


class SupervisorConfig(AppConfig):
    name = "gangline.supervisor"

    def ready(self) -> None:
        """All is loaded, and stays: garbage is looked for again, but not among it."""
        gc.freeze()
        gc.enable()
