"""`gangline-manage`: Django's commands and ours, in both modes."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Run a management command with Gangline's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangline.config.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
