"""`gangline-manage doctor`: look at the machine and the settings, and say what to fix."""

from typing import Any

from django.core.management.base import BaseCommand

from gangline.supervisor.doctor import findings

MARKS = {"ok": "ok", "note": "note", "error": "ERROR"}


class Command(BaseCommand):
    help = "Check this machine and the settings; ends with 1 when something needs fixing."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        errors = 0
        for finding in findings():
            errors += finding.grade == "error"
            self.stdout.write(f"{MARKS[finding.grade]:<6}{finding.what:<13}{finding.says}")
            if finding.mend:
                self.stdout.write(f"{'':19}→ {finding.mend}")
        if errors:
            self.stdout.write(f"{errors} thing{'s' if errors != 1 else ''} to fix.")
            raise SystemExit(1)
        self.stdout.write("Nothing to fix.")
