"""Connections to ports of a running pod, through the API server.

Of a port the line has two channels, one of its bytes and one of what went wrong; what comes on each
begins with the number of the port. Nobody can say on such a line that no more will be sent.
https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.34/#portforward-pod-v1-core
"""

import time
from collections.abc import Callable, Iterable

from gangline.drivers.ports import SILENT
from gangline.drivers.shells import REPLICA_ENDED, STDOUT, Ended, Output

from .exec_line import Line
from .pod_stream import Talk, pieces
from .wording import cleaned

BYTES, TROUBLE = 0, 1
NUMBER = 2
"""Bytes that the number of the port takes."""
MOST_WORDS = 4096
FORGOTTEN = 10.0
"""Seconds in which a client that sends no more gets the rest; after a longer silence it is over."""
NOT_CONNECTED = "The cluster reported for the port: {}."


class KubernetesConnection(Talk):
    """See `gangline.drivers.ports.Connection`. ``has_ended`` tells whether the pod has."""

    def __init__(self, line: Line, port: int, has_ended: Callable[[], bool]) -> None:
        super().__init__(line)
        self._port, self._has_ended = port, has_ended
        self._heads = {BYTES: NUMBER, TROUBLE: NUMBER}
        """What is still to come of the numbers."""
        self._input_ended_at = 0.0

    def end_input(self) -> None:
        with self._writing, self._guard:
            self._input_ended, self._input_ended_at = True, time.monotonic()

    def _take(self, channel: int, data: bytes) -> Iterable[Output]:
        head = min(self._heads.get(channel, 0), len(data))
        if head:
            self._heads[channel] -= head
        data = data[head:]
        if channel == BYTES:
            return pieces(STDOUT, data)
        if channel == TROUBLE and data:
            self._told = ((self._told or b"") + data)[:MOST_WORDS]
        return ()

    def _is_forgotten(self) -> bool:
        return self._input_ended and time.monotonic() - self._input_ended_at > FORGOTTEN

    def _judged(self) -> Ended:
        if not self._told:
            return Ended(0)
        words = self._told.decode("utf-8", "replace")
        if "connection refused" in words.lower():
            return Ended(None, SILENT.format(port=self._port))
        if self._has_ended():
            return Ended(None, REPLICA_ENDED)
        why = cleaned(words.rpartition(": ")[2]).rstrip(".")
        return Ended(None, NOT_CONNECTED.format(why))
