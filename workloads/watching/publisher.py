"""Tells Celery's workers what is due, and notices within a second when nobody listens."""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as TookTooLong
from datetime import timedelta
from uuid import UUID

from django.utils.module_loading import import_string

from gangline.db import leases
from gangline.db.clock import db_now
from workloads import tasks

log = logging.getLogger(__name__)

CELERY_APP = "gangline.config.celery.app"
PUBLISH_SECONDS = 1.0
"""For one message. A service that takes one after the other is slow, and not down."""
LONGEST_SECONDS = 3.0
"""For all of one round. The ticker rings again for the rest, see its ``RING_SECONDS``."""
BROKEN_SECONDS = 10.0
CANARY_SECONDS = 15.0
SILENT_SECONDS = 60.0
MESSAGES_DOWN = "message-service"
WORKERS_SILENT = "workers"


class CeleryPublisher:
    """Publishes in a thread of its own, so that a broker that hangs never holds the ticker up."""

    def __init__(self) -> None:
        # Named by hand: the current application is another one in every thread. What the first
        # message needs is loaded here, because it must not count against the broker.
        self._app = import_string(CELERY_APP)
        self._app.finalize()
        with self._app.connection_for_write() as unused:
            _discard((self._app.amqp, unused.transport))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="publish")
        self._sending: Future[None] | None = None
        self._taken_at = 0.0
        self._broken_until = 0.0
        self._canary_at = 0.0
        self._waiting_since = db_now()
        self._noted: dict[str, bool] = {}

    def is_usable(self) -> bool:
        """Whether messages get through and workers were heard within the last minute."""
        self._send_canary()
        if time.monotonic() < self._broken_until:
            return False
        return not self._workers_are_silent()

    def publish(self, rows: Sequence[tuple[UUID, str]]) -> bool:
        """Tell the workers of each queue; False when a message was not taken within a second."""
        until = time.monotonic() + LONGEST_SECONDS

        def send() -> None:
            for workload_id, queue in rows:
                if time.monotonic() > until:
                    log.warning("the message service is slow: not all workers were told at once")
                    return
                self._ask(tasks.RECONCILE, [str(workload_id)], queue)

        return self._send(send)

    def _send(self, send: Callable[[], None]) -> bool:
        if self._sending is not None and not self._sending.done():
            self._breaks("a message is still on its way")
            return False
        self._taken_at = time.monotonic()
        self._sending = self._thread.submit(send)
        try:
            self._await(self._sending)
        except TookTooLong:
            self._breaks("it does not answer")
            return False
        except Exception as error:  # noqa: BLE001  whatever a broker raises, work goes on inline
            self._breaks(str(error))
            return False
        self._note(MESSAGES_DOWN, "")
        return True

    def _await(self, sending: Future[None]) -> None:
        """Raises TookTooLong when no message is taken for too long, and what the thread raised."""
        while not sending.done():
            wait([sending], timeout=max(0.0, self._taken_at + PUBLISH_SECONDS - time.monotonic()))
            if not sending.done() and time.monotonic() >= self._taken_at + PUBLISH_SECONDS:
                raise TookTooLong
        sending.result()

    def _send_canary(self) -> None:
        now = time.monotonic()
        if now < max(self._canary_at, self._broken_until):
            return
        self._canary_at = now + CANARY_SECONDS
        self._send(lambda: self._ask(tasks.CANARY, [], self._app.conf.task_default_queue))

    def _ask(self, task: str, arguments: list[str], queue: str) -> None:
        self._app.send_task(task, args=arguments, queue=queue, retry=False, ignore_result=True)
        self._taken_at = time.monotonic()

    def _workers_are_silent(self) -> bool:
        until = leases.last_mark(leases.WORKERS_SEEN)
        now = db_now()
        seen_lately = until is not None and until > now
        is_early = now - self._waiting_since < timedelta(seconds=SILENT_SECONDS)
        silent = not seen_lately and not is_early
        self._note(
            WORKERS_SILENT, "Workers do not answer. Work continues more slowly." if silent else ""
        )
        return silent

    def _breaks(self, why: str) -> None:
        log.warning("the message service is not used for %g s: %s", BROKEN_SECONDS, why)
        self._broken_until = time.monotonic() + BROKEN_SECONDS
        self._note(MESSAGES_DOWN, "The message service is down. Work continues more slowly.")

    def _note(self, name: str, message: str) -> None:
        """Keep the banner true, with a write only when something changed."""
        if self._noted.get(name) == bool(message):
            return
        self._noted[name] = bool(message)
        if message:
            leases.notice(name, message)
        else:
            leases.clear_notice(name)


def _discard(_: object) -> None:
    """Celery returns a handle that nobody needs."""
