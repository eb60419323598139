"""`migrate` as Django knows it, but quick in an empty database."""

from typing import Any

from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS

from gangline.supervisor import schema

_OTHERWISE = ("app_label", "check_unapplied", "fake", "fake_initial", "plan", "prune", "run_syncdb")


class Command(migrate.Command):
    """All of it asked of an empty database: the tables are made as the migrations leave them."""

    def handle(self, *args: Any, **options: Any) -> None:
        asked_for_all = not any(options.get(name) for name in _OTHERWISE)
        if asked_for_all and options["database"] == DEFAULT_DB_ALIAS and schema.make():
            if options["verbosity"]:
                self.stdout.write("Made the tables of an empty database.")
            return
        super().handle(*args, **options)
