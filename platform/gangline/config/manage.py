"""`gangline-manage`: Django's commands and ours, in both modes."""

import os
import sys
from pathlib import Path

from django.core.management import execute_from_command_line
from django.db import DatabaseError, OperationalError, ProgrammingError
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gangline.config.env import env
from gangline.config.presence import is_there, sentence

OF_AN_INSTALLATION = {
    "create-user",
    "demo",
    "doctor",
    "keys",
    "project",
    "sign-in-link",
    "token",
    "watch",
}
"""Commands that make nothing of their own: without an installation they have nothing to do."""
NO_SUCH_TABLE = "42P01"


def main() -> None:
    """Run a management command with Gangline's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangline.config.settings")
    try:
        known = env()
    except ValidationError as error:
        sys.exit("\n".join(map(_in_words, error.errors(include_url=False))))
    needs_one = bool(OF_AN_INSTALLATION & {*sys.argv[1:2]})
    if {"-h", "--help"} & {*sys.argv}:
        needs_one = False
    # Before Django reads its settings: that makes the data folder and a key in it.
    if needs_one and not is_there(known):
        sys.exit(sentence(known))
    try:
        execute_from_command_line(sys.argv)
    except ProgrammingError as error:
        if needs_one and getattr(error.__cause__, "sqlstate", "") == NO_SUCH_TABLE:
            sys.exit(sentence(known))
        raise
    except (DatabaseError, OperationalError) as error:
        if type(error) not in (DatabaseError, OperationalError):
            raise
        place = "The database" if known.database_url else f"The database {known.database_file}"
        sys.exit(
            f"{place} cannot be used: {' '.join(str(error).split())}."
            " For details, run: gangline-manage doctor"
        )
    except OSError as problem:
        path = Path(str(problem.filename or ""))
        if known.data_dir not in (path, *path.parents):
            raise
        sys.exit(
            f"The data folder {known.data_dir} cannot be used: {path}: {problem.strerror}."
            " Set GANGLINE_DATA_DIR to another folder."
        )


def _in_words(problem: ErrorDetails) -> str:
    """``PORT cannot be 'abc': input should be a valid integer.``"""
    field = str(problem["loc"][0])
    name = field if field.isupper() else f"GANGLINE_{field.upper()}"
    why = problem["msg"][:1].lower() + problem["msg"][1:]
    return f"{name} cannot be {problem['input']!r}: {why}."


if __name__ == "__main__":
    main()
