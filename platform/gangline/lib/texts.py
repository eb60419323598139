"""Values out of texts that anybody may have written, such as those of an address."""

from collections.abc import Sequence
from datetime import UTC, datetime
from unicodedata import category
from uuid import UUID

_MOST_DIGITS = 15
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_SEEN = "\t\n\r\u200c\u200d"


def whole(text: str) -> int | None:
    """The whole number that ``text`` is: ASCII digits and no more than a database holds."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else None


def as_uuid(text: str) -> UUID | None:
    """The UUID that ``text`` is, or None."""
    try:
        return UUID(text)
    except ValueError:
        return None


def moment(text: str, *, zoned: bool = False) -> datetime:
    """ISO 8601 as UTC. Raises ValueError, and nothing else.

    Without a zone it is UTC, or refused where the text has to be ``zoned``.
    """
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        if zoned:
            raise ValueError("this time has no zone")
        return found.replace(tzinfo=UTC)
    try:
        return found.astimezone(UTC)
    except OverflowError:
        raise ValueError("in UTC this lies before the year 1 or after the year 9999") from None


def printable(text: str, longest: int) -> str:
    """As a row can hold it: a cluster's text is anybody's, and PostgreSQL takes no NUL."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text[:longest])
    return text[:longest]


def hidden(text: str) -> str:
    """The first character that nobody sees or that turns around what stands beside it, as U+202E.

    Empty: there is none. Lines, tabs and the joiners of Persian and of emoji are none.
    """
    found = next((c for c in text if category(c) in _HIDDEN and c not in _SEEN), "")
    return code_point(found) if found else ""


def code_point(character: str) -> str:
    return f"U+{ord(character):04X}"


def camel(name: str) -> str:
    """``cluster_id`` → ``clusterId``: a field as the API calls it."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def listed(words: Sequence[str]) -> str:
    """``a, b and c``: Django's `get_text_list` for packages that do not know Django."""
    *first, last = words or ("",)
    return f"{', '.join(first)} and {last}" if first else last
