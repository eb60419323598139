"""`gangline-manage demo load|remove`: the demo organisation."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gangline.config.env import env
from gangline.lib.program import program
from gangline.supervisor import demo


class Command(BaseCommand):
    help = "Load the demo organisation (embedded mode only), or remove its people and templates."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", choices=["load", "remove"])

    def handle(self, *args: Any, **options: Any) -> None:
        if options["what"] == "remove":
            demo.remove()
            self.stdout.write("The demo's people can no longer sign in; its templates are removed.")
            return
        if env().mode == "production":
            raise CommandError(
                "Production has no demo. Start it with: gangline-manage bootstrap --admin USER"
            )
        demo.load()
        self.stdout.write(
            f"The demo organisation is ready. Sign in as {demo.ADMINISTRATOR} or"
            f" {demo.RESEARCHER}: {program()} sign-in-link USER"
        )
