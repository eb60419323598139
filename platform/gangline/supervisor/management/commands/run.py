"""`gangline-manage run`: the embedded product in one process."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gangline.config.env import Env, env
from gangline.supervisor import banner, first_start, schema
from gangline.supervisor.listener import CannotListen, is_loopback, listen
from gangline.supervisor.lockfile import AlreadyRunning, LockFile


class Command(BaseCommand):
    help = "Serve Gangline on this machine, everything in one process."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def handle(self, *args: Any, **options: Any) -> None:
        settings = env()
        if settings.mode != "embedded":
            raise CommandError(
                "GANGLINE_MODE is production. There each part is a process of its own:"
                " see docs/how-to/go-to-production.md."
            )
        if not is_loopback(settings.host) and not settings.behind_proxy:
            raise CommandError(
                f"{settings.host} can be reached from other machines, and this mode has no TLS."
                " Use 127.0.0.1, or put a TLS proxy in front and set GANGLINE_BEHIND_PROXY=1."
            )
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings.data_dir.chmod(0o700)
        try:
            listener = listen(settings.host, settings.port)
            with LockFile(settings.data_dir, settings.origin):
                self._serve(listener, _door(settings))
        except (AlreadyRunning, CannotListen, schema.FormerDatabase) as refusal:
            raise CommandError(str(refusal)) from None

    def _serve(self, listener: Any, door: Any) -> None:
        # Late: these load the whole product, and a taken port or folder must be said at once.
        from gangline.supervisor.embedded import serve

        schema.ensure(env().data_dir)
        first_start.prepare()
        serve(listener, on_ready=self._ready, door=door)

    def _ready(self) -> None:
        sys.stdout.write(banner.text())
        sys.stdout.flush()


def _door(settings: Env) -> Any:
    """Where tools of this machine are opened; None where nobody could, or its port is taken."""
    if not (settings.offers_local_cluster and settings.tools_address):
        return None
    try:
        return listen(settings.host, settings.tools_listens_at)
    except CannotListen as refusal:
        if settings.tools_port:
            raise
        says = "Tools of workloads cannot be opened; GANGLINE_TOOLS_PORT can name another port."
        sys.stderr.write(f"{says} {refusal}\n")
        return None
