"""What people are told when the database does not do its work."""

from django.db import OperationalError

_NO_ROOM = ("disk is full", "No space left")
"""What SQLite and PostgreSQL say of a full disk."""


def outage(error: OperationalError) -> str:
    """The reason, without a full stop."""
    is_full = any(words in str(error) for words in _NO_ROOM)
    return "The disk of the database is full" if is_full else "The database is busy"
