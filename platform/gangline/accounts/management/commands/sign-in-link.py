"""`gangline-manage sign-in-link USER`: print an address that signs this person in, once."""  # noqa: N999

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from gangline.accounts.management.people import person
from gangline.accounts.services import LINK_MINUTES, CannotMake, make_sign_in_link


class Command(BaseCommand):
    help = f"Print an address that signs a person in, once, within {LINK_MINUTES} minutes."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="user name")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            path = make_sign_in_link(user=person(options["user"]))
        except CannotMake as error:
            raise CommandError(str(error)) from error
        self.stdout.write(settings.CSRF_TRUSTED_ORIGINS[0] + path)
