"""`gangline-manage watch`: watchers, ticker and pruner of production mode (R10)."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gangline.config.env import env
from gangline.supervisor.signals import end_signal

STOP_SECONDS = 4.0


class Command(BaseCommand):
    help = (
        "Watch the clusters and hand out due work until stopped. One or two of them per"
        " installation: the second stands by until the first ends."
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        if env().mode != "production":
            raise CommandError(
                "GANGLINE_MODE is embedded. There `gangline-manage run` does this in its own"
                " process: see docs/how-to/go-to-production.md for production."
            )
        # Late: these load the whole product, and a wrong mode must be said at once.
        from gangline.supervisor.background import Background, leave_at_once

        with end_signal() as ending:
            background = Background()
            background.start()
            ending.wait()
            if not background.join(STOP_SECONDS):
                leave_at_once()
