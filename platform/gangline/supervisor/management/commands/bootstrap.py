"""`gangline-manage bootstrap --admin USER`: the first start of a production installation (R35a)."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gangline.accounts.services import CannotMake
from gangline.lib.problems import Refused
from gangline.supervisor.installation import CannotBootstrap, bootstrap


class Command(BaseCommand):
    help = (
        "Create the first administrator and project. Running it again creates only what is missing."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--admin", required=True, metavar="USER", help="system administrator")
        parser.add_argument("--project", default="", metavar="NAME", help="a project to start with")
        parser.add_argument(
            "--local-cluster", action="store_true", help="offer this machine as a cluster"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = bootstrap(
                admin=options["admin"],
                project=options["project"],
                local_cluster=options["local_cluster"],
            )
        except (CannotBootstrap, CannotMake) as refusal:
            raise CommandError(str(refusal)) from None
        except Refused as refusal:
            raise CommandError(" ".join(one.told for one in refusal.problems)) from None
        for line in made or ["Nothing to do: everything exists already."]:
            self.stdout.write(line)
