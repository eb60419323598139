"""`gangline-manage sign-in-link USER`: print an address that signs this person in, once."""  # noqa: N999

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gangline.accounts.management.people import person
from gangline.accounts.services import LINK_MINUTES, CannotMake, make_sign_in_link
from gangline.config.env import env
from gangline.supervisor.lockfile import holder


class Command(BaseCommand):
    help = f"Print a link that signs a user in, once, within {LINK_MINUTES} minutes."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="user name")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            path = make_sign_in_link(user=person(options["user"]))
        except CannotMake as error:
            raise CommandError(str(error)) from error
        self.stdout.write(_origin() + path)


def _origin() -> str:
    """Where people open it: as it was said, else where a server of this folder listens now."""
    serving = None if env().public_url else holder(env().data_dir)
    return str(serving.address) if serving and serving.address else env().origin
