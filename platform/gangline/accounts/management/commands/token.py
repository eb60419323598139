"""`gangline-manage token USER [--days 30] [--name ci]`: print a new API token, once."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gangline.accounts.management.people import person
from gangline.accounts.services import CannotMake, make_token


class Command(BaseCommand):
    help = "Print a new API token. It is shown only once; only its hash is stored."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="user name")
        parser.add_argument("--days", type=int, default=30, help="at least 1")
        parser.add_argument("--name", default="command line", help="what the token is for")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            new = make_token(
                user=person(options["user"]), name=options["name"], days=options["days"]
            )
        except CannotMake as error:
            raise CommandError(str(error)) from error
        self.stdout.write(new.text)
        self.stderr.write(f"Valid until {new.token.expires_at:%Y-%m-%d %H:%M} UTC.")
