"""`gangline-manage`: Django's commands and ours, in both modes."""

import os
import sys

from django.core.management import execute_from_command_line
from django.db import ProgrammingError

from gangline.config.env import env
from gangline.config.presence import is_there, sentence

OF_AN_INSTALLATION = {"create-user", "demo", "doctor", "sign-in-link", "token", "watch"}
"""Commands that make nothing of their own: without an installation they have nothing to do."""
NO_SUCH_TABLE = "42P01"


def main() -> None:
    """Run a management command with Gangline's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangline.config.settings")
    asks = sys.argv[1:2]
    needs_one = bool(OF_AN_INSTALLATION & {*asks}) and not {"-h", "--help"} & {*sys.argv}
    # Before the settings are read: they make the data folder and a key in it.
    if needs_one and not is_there(env()):
        sys.exit(sentence(env()))
    try:
        execute_from_command_line(sys.argv)
    except ProgrammingError as error:
        if needs_one and getattr(error.__cause__, "sqlstate", "") == NO_SUCH_TABLE:
            sys.exit(sentence(env()))
        raise


if __name__ == "__main__":
    main()
