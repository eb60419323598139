"""The work bell: somebody committed something that the ticker should look at now (R11).

Embedded: an event in this process. Production: PostgreSQL's NOTIFY, heard by the ticker's process.
A bell may be lost; the ticker looks every second anyway.
"""

import logging
import threading

from django.conf import settings
from django.db import DatabaseError, connection

log = logging.getLogger(__name__)

CHANNEL = "gangline_work"
_event = threading.Event()


def ring() -> None:
    """Wake the ticker. Call it after the commit; it never raises."""
    _event.set()
    if _notifies():
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"NOTIFY {CHANNEL}")
        except DatabaseError as error:
            log.info("the work bell was not rung: %s", error)


def wake() -> None:
    """Wake the ticker of this process only."""
    _event.set()


def wait(timeout: float) -> bool:
    """Wait until the bell of this process rings; True if it did."""
    rung = _event.wait(timeout)
    _event.clear()
    return rung


class Listener:
    """Hears the bells of other processes and rings them here, in a thread of its own."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="work-bell", daemon=True)

    def start(self) -> None:
        if _notifies():
            self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(2)

    def _run(self) -> None:
        # A connection outside Django's pool: it listens for as long as the process lives.
        import psycopg

        while not self._stop.is_set():
            try:
                parameters = connection.get_connection_params()
                known = {k: parameters[k] for k in _PARAMETERS if parameters.get(k)}
                with psycopg.connect(**known, autocommit=True) as listening:
                    listening.execute(f"LISTEN {CHANNEL}")
                    _event.set()
                    while not self._stop.is_set():
                        for _ in listening.notifies(timeout=1, stop_after=1):
                            _event.set()
            except psycopg.Error as error:
                log.warning("the work bell is not heard; the ticker polls: %s", error)
                self._stop.wait(1)


_PARAMETERS = ("dbname", "user", "password", "host", "port")


def _notifies() -> bool:
    return settings.GANGLINE.mode == "production" and connection.vendor == "postgresql"
