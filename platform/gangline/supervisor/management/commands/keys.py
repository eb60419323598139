"""`gangline-manage keys add|list|rotate|retire`: the keys that seal credentials."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gangline.db import sealed
from gangline.lib.sealing import CannotOpen, CannotSeal


class Command(BaseCommand):
    help = "Add an encryption key, re-encrypt everything with the newest one, forget old ones."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        actions.add_parser("add", help="create a key and use it for new credentials")
        actions.add_parser("list", help="every key, and how many credentials use it")
        actions.add_parser("rotate", help="re-encrypt every credential with the newest key")
        retire = actions.add_parser("retire", help="forget a key that is no longer used")
        retire.add_argument("key", help="its id, as list prints it")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['action']}")(options)
        except (CannotOpen, CannotSeal, sealed.StillUsed) as why:
            raise CommandError(str(why)) from None

    def _add(self, options: dict[str, Any]) -> None:
        kid = sealed.key_file().add()
        self.stdout.write(f"The key {kid} is now in use. Next: gangline-manage keys rotate")

    def _list(self, options: dict[str, Any]) -> None:
        keyring, counts = sealed.key_file().keyring(), sealed.counts()
        for kid in [*keyring.keys, *sorted(set(counts) - set(keyring.keys))]:
            words = "seals" if kid == keyring.current else "opens"
            words = words if kid in keyring.keys else "is missing from the key file"
            self.stdout.write(f"{kid}  {words}  {counts.get(kid, 0)} credentials")

    def _rotate(self, options: dict[str, Any]) -> None:
        done = 0
        for done in sealed.reseal():
            if done % sealed.BATCH == 0:
                self.stdout.write(f"{done} …")
        self.stdout.write(f"{done} credentials were re-encrypted; all use the newest key.")

    def _retire(self, options: dict[str, Any]) -> None:
        sealed.retire(options["key"])
        self.stdout.write(f"The key {options['key']} is forgotten.")
