"""The words of a process on this machine: a program, or the launcher that starts it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gangline.drivers import horovod
from gangline.spec.launcher_commands import GLOO, launched

from .expansion import expand
from .frameworks import HOST_NAME, INTERFACE, WORKER


class NoCommand(Exception):
    """There is nothing to start."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a gang is started; ``port`` is where its processes meet."""

    native: Mapping[str, Any]
    workers: int
    host: str
    port: int

    def words(
        self, role: str, own: Mapping[str, Any], environment: Mapping[str, str], hostfile: str
    ) -> list[str]:
        """With a launcher, ``own`` has the program of the workers. Raises NoCommand."""
        launcher = str(self.native.get("launcher", ""))
        words = [*own.get("command", []), *own.get("arguments", [])]
        if not words:
            raise NoCommand(f"The {role} has no command.")
        program = [expand(word, environment) for word in words]
        if not launcher:
            return program
        if launcher == GLOO:
            if role == WORKER:
                return horovod.joined(program, self.host, str(self.port))
            return horovod.served(program, [f"{HOST_NAME}:{self.workers}"], str(self.port))
        return launched(
            launcher,
            program,
            ranks=self.workers,
            hostfile=hostfile,
            interface=self.native.get("interface") or INTERFACE,
        )
