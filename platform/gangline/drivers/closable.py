"""What one thread reads until its end, while others write to it and any may close it."""

import contextlib
import os
import threading


class Closable:
    """``_wake`` can be polled: it is readable as soon as the reader shall look up."""

    def __init__(self) -> None:
        self._wake, self._waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._guard = threading.Lock()
        """Around the use of descriptors that the reader closes in the end."""
        self._writing = threading.Lock()
        self._input_ended = self._closed = self._over = False

    def close(self) -> None:
        with self._guard:
            self._closed = True
            self._rouse()

    def _rouse(self) -> None:
        """Wake the reader. Whoever calls it holds the guard."""
        if not self._over:
            with contextlib.suppress(BlockingIOError):
                os.write(self._waker, b".")

    def _let_go(self) -> None:
        """The reader needs no waking any more. Whoever calls it holds the guard."""
        self._over = True
        os.close(self._wake)
        os.close(self._waker)
