"""Commands that people start beside a running replica: what a driver may offer, and its words."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from gangline.drivers.base import AttemptRef, Busy, Refused, Unknown

STDIN, STDOUT, STDERR = 0, 1, 2
"""What a piece of data belongs to. A terminal shows both kinds of output as the first."""
LEAST_SIZE, MOST_COLUMNS, MOST_ROWS = 1, 1000, 500
PIECE = 1 << 15
"""Bytes that a driver hands over at once, at most."""
REPLICA_ENDED = "The pod has ended."
CLOSED = "It was closed."


class Size(NamedTuple):
    """Of a terminal, in characters."""

    columns: int = 80
    rows: int = 24

    @property
    def is_possible(self) -> bool:
        return LEAST_SIZE <= self.columns <= MOST_COLUMNS and LEAST_SIZE <= self.rows <= MOST_ROWS


USUAL = Size()


@dataclass(frozen=True, slots=True)
class ShellRequest:
    """What to start. Without ``command`` the shell of the replica: bash, else sh."""

    command: tuple[str, ...] = ()
    tty: bool = True
    size: Size = USUAL


class Output(NamedTuple):
    stream: int
    """STDOUT or STDERR."""
    data: bytes


class Ended(NamedTuple):
    """``code`` None: it is not known how the command ended; ``reason`` then says why."""

    code: int | None
    reason: str = ""


@runtime_checkable
class Shell(Protocol):
    """One running command. ``read`` is called by one thread, everything else by any."""

    def read(self) -> Output | Ended:
        """Wait for output or the end. After the end, or ``close``, always the end."""

    def write(self, data: bytes) -> None:
        """Hand all of ``data`` to the command, however long it takes; dropped after the end."""

    def end_input(self) -> None:
        """Nothing more is written."""

    def resize(self, size: Size) -> None:
        """Without a terminal nothing happens."""

    def close(self) -> None:
        """End the command, as a terminal that is closed does. Returns at once."""


@runtime_checkable
class ShellOpener(Protocol):
    """A driver that lets people into running replicas."""

    def open_shell(
        self, ref: AttemptRef, replica: str, request: ShellRequest
    ) -> Shell | Refused | Unknown | Busy:
        """Start a command in ``replica`` (``worker-0``) of a running attempt.

        It has the environment, the files, the limits and no more rights than the replica's own.
        """
