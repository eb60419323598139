"""The database's clock, the only one that decisions use (R14)."""

from datetime import UTC, datetime, timedelta

from django.db import connection

_shift = timedelta()


def db_now() -> datetime:
    """Now by the database server, with sub-second precision, timezone-aware (UTC).

    SQLite runs in this process, on this machine's clock: asking it would only lose precision.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            row = cursor.fetchone()
        now: datetime = row[0]
        return now.astimezone(UTC) + _shift
    return datetime.now(UTC) + _shift


def shift(by: timedelta) -> None:
    """Move the clock of this process, for tests of time-outs; ``timedelta()`` sets it right."""
    global _shift
    _shift = by
