"""`python -m gangline_cli`."""

from gangline_cli.main import run

run()
