"""The doorbell of open pages: "project s is at n", to the hub of every web process (R12).

Losing a doorbell costs a page one poll, so nothing here ever raises or makes a request wait.
"""

import asyncio
import logging
import threading
import time

from channels.layers import InMemoryChannelLayer, get_channel_layer

from . import hub

log = logging.getLogger(__name__)

SEND_SECONDS = 1.0
PAUSE_SECONDS = 10.0
"""After a failure nothing is sent for so long; pages poll meanwhile."""


def announce(project_id: int, seq: int) -> None:
    """Tell every web process, after the commit, that the project's changes reach to ``seq``."""
    hub.notify(project_id, seq)
    try:
        layer = get_channel_layer()
        if layer is not None and not isinstance(layer, InMemoryChannelLayer):
            _sender.send(project_id, seq)
    except Exception as error:  # noqa: BLE001  whatever is wrong with the layer
        # The change is committed: its request must not fail for want of a doorbell.
        log.warning("open pages poll: %s", error)


class _Sender:
    """A thread that sends the newest number of each project, so that nobody waits for the layer."""

    def __init__(self) -> None:
        self._heads: dict[int, int] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def send(self, project_id: int, seq: int) -> None:
        with self._lock:
            self._heads[project_id] = max(seq, self._heads.get(project_id, 0))
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="live-bell", daemon=True)
                self._thread.start()
        self._wake.set()

    def _run(self) -> None:
        # One loop for the life of the thread: the layer keeps its connections per loop.
        loop = asyncio.new_event_loop()
        quiet_until = 0.0
        while True:
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                heads, self._heads = self._heads, {}
            if time.monotonic() < quiet_until:
                continue
            try:
                loop.run_until_complete(_send(heads))
            except Exception as error:  # noqa: BLE001  whatever a layer raises, pages poll
                quiet_until = time.monotonic() + PAUSE_SECONDS
                log.warning("open pages poll for %g s: %s", PAUSE_SECONDS, error)


async def _send(heads: dict[int, int]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    async with asyncio.timeout(SEND_SECONDS):
        for scope, head in heads.items():
            message = {"type": "live.doorbell", "scope": scope, "head": head}
            await layer.group_send(hub.GROUP, message)


_sender = _Sender()
