"""Lists: ``offset`` and ``limit``, sorting and conditions from the query, by allow-list only."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.http import QueryDict
from rest_framework.exceptions import ValidationError

DEFAULT_LIMIT = 50
MAX_LIMIT = 500
MAX_OFFSET = 10_000


class BadQuery(ValidationError):
    """A query parameter that cannot be used; ``detail`` is the sentence."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.detail = sentence  # type: ignore[assignment]


class Asked(Protocol):
    """A request, or anything else that has its query."""

    @property
    def query_params(self) -> QueryDict: ...


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list. ``cursor`` is an opaque text of the list itself, for far pages."""

    offset: int
    limit: int
    cursor: str = ""


def page_of(request: Asked, *, default_limit: int = DEFAULT_LIMIT) -> Page:
    """Offset, limit and cursor of the query."""
    query = request.query_params
    offset = whole_number(query.get("offset"), "offset", 0, 0, MAX_OFFSET)
    limit = whole_number(query.get("limit"), "limit", default_limit, 1, MAX_LIMIT)
    return Page(offset=offset, limit=limit, cursor=query.get("cursor", ""))


def known_only(request: Asked, allowed: frozenset[str]) -> None:
    """Refuse parameters that would be ignored: a typo must not widen an answer."""
    for name in request.query_params:
        if name not in allowed:
            listed = ", ".join(sorted(allowed))
            raise BadQuery(f"Unknown parameter {name[:60]!r}. Accepted: {listed}.")


def sorting(request: Asked, fields: Mapping[str, str], default: str) -> tuple[str, bool]:
    """The column to sort by and whether descending. ``fields`` maps API names to columns."""
    by = request.query_params.get("sortBy")
    order = request.query_params.get("sortOrder")
    if by is not None:
        # Clients that send an enumeration's Python name: ProjectFilterSortFields.NAME.
        plain = by.rpartition(".")[2].lower()
        by = next((name for name in fields if name.lower() == plain), by)
        one_of(by, "sortBy", fields)
    if order not in (None, "asc", "desc"):
        raise BadQuery(f"sortOrder must be asc or desc, not {order[:60]!r}.")
    if by is None:
        return default.removeprefix("-"), (order == "desc") if order else default.startswith("-")
    return fields[by], order == "desc"


def one_of(given: str, name: str, words: Iterable[str]) -> str:
    """A value that must be one of some words."""
    listed = list(words)
    if given not in listed:
        raise BadQuery(f"{name} must be one of {', '.join(listed)}, not {given[:60]!r}.")
    return given


def flag(request: Asked, name: str) -> bool:
    """A parameter that is true or false; absent is false."""
    value = request.query_params.get(name, "false").lower()
    if value not in ("true", "false", "1", "0"):
        raise BadQuery(f"{name} must be true or false.")
    return value in ("true", "1")


def answer(key: str, rows: list[Any], page: Page, *, cursor: str = "") -> dict[str, Any]:
    """``{key: rows, next: …}`` where ``rows`` may hold one more than the page."""
    body: dict[str, Any] = {key: rows[: page.limit]}
    if len(rows) > page.limit:
        if not page.cursor and page.offset + page.limit <= MAX_OFFSET:
            body["next"] = page.offset + page.limit
        if cursor:
            body["cursor"] = cursor
    return body


def whole_number(text: str | None, name: str, default: int, least: int, most: int) -> int:
    """A parameter in ASCII digits between two bounds; ``default`` when it is absent."""
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or not least <= int(text) <= most:
        raise BadQuery(f"{name} must be a whole number from {least} to {most}.")
    return int(text)
