"""`gangline-manage create-user USER`: add a person; the password is asked for."""  # noqa: N999

import getpass
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from gangline.accounts.services import CannotMake, create_user


class Command(BaseCommand):
    help = "Create a user. Access rules give it roles."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="user name")
        parser.add_argument("--email", default="", help="email address")
        parser.add_argument(
            "--no-password",
            action="store_true",
            help=(
                "sign in with sign-in links and tokens only; otherwise the password is prompted "
                "for, or read from standard input"
            ),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        password = None if options["no_password"] else self._password()
        try:
            user = create_user(username=options["user"], password=password, email=options["email"])
        except CannotMake as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stdout.write(f"Added {user.username}.")

    def _password(self) -> str:
        if sys.stdin.isatty():
            first = getpass.getpass("Password: ")
            if first != getpass.getpass("Confirm password: "):
                raise CommandError("The passwords do not match.")
            return first
        return sys.stdin.readline().rstrip("\n")
