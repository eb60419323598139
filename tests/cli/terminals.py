"""A terminal that a test types at."""

import fcntl
import os
import pty
import select
import struct
import termios
import time
from typing import Self


class Terminal:
    """Runs a program at a new terminal; ``text`` is all that was shown."""

    def __init__(
        self, command: list[str], environment: dict[str, str], *, rows: int, columns: int
    ) -> None:
        self.text, self._code = "", None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            _size(0, rows, columns)
            os.execvpe(command[0], command, environment)
        _size(self.fd, rows, columns)

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def resize(self, *, rows: int, columns: int) -> None:
        """The kernel tells the program, as it does of a window."""
        _size(self.fd, rows, columns)

    def until(self, text: str, seconds: float = 30) -> None:
        """Until ``text`` is shown after what was waited for before."""
        deadline = time.monotonic() + seconds
        while text not in self.text:
            left = deadline - time.monotonic()
            assert left > 0, self.text
            self._read(left)
        self.text = self.text.partition(text)[2]

    def until_told(self, asked: str, text: str) -> None:
        """Type ``asked`` again until ``text`` is the answer: what changes takes its way too."""
        for _ in range(60):
            self.type(asked)
            self._read(1.0)
            self._read(0.1)
            if text in self.text:
                return
        raise AssertionError(self.text)

    def code(self, seconds: float = 20) -> int:
        """The exit code, once the program has ended."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
        raise AssertionError(self.text)

    def _read(self, seconds: float) -> None:
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.text += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                time.sleep(min(seconds, 0.05))  # the program has let go of it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.pid:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


def _size(fd: int, rows: int, columns: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
