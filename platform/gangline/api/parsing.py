"""Strict JSON: what is ambiguous is refused with its place."""

import json
import math
import re
from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

MAX_DEPTH = 20
MAX_NODES = 10_000
MAX_STRING = 64 * 1024
MAX_DIGITS = 15
# A string that never ends takes the rest: what stands in it is no bracket, and json.loads says so.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[\[{\]}]', re.DOTALL)

_Place = tuple[str | int, ...]
"""Keys and indexes that lead to a value."""


class StrictJSONParser(BaseParser):
    """Parses a request body. An empty body is no data; a string is parsed once more.

    Some clients send the JSON document wrapped in a JSON string; both mean the same.
    """

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        data = loads(stream.read())
        return loads(data.encode()) if isinstance(data, str) else data


def loads(raw: bytes) -> Any:
    """The value of a JSON text, or ParseError with a sentence that says where."""
    if not raw.strip():
        return {}
    if raw.startswith(b"\xef\xbb\xbf"):
        raise ParseError("The body must be JSON without a byte order mark.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParseError(f"The body is not UTF-8 at byte {error.start}.") from error
    _check_depth(text)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_constant,
        )
    except json.JSONDecodeError as error:
        raise ParseError(
            f"The body is not JSON: {error.msg.lower()} at line {error.lineno}, "
            f"column {error.colno}."
        ) from error
    except RecursionError as error:
        raise ParseError(f"The body is nested deeper than {MAX_DEPTH} levels.") from error
    _check(value)
    return value


def _check_depth(text: str) -> None:
    """Before the recursive parser sees it: brackets outside strings may nest 20 deep."""
    depth = 0
    for found in _STRING_OR_BRACKET.findall(text):
        if found in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise ParseError(f"The body is nested deeper than {MAX_DEPTH} levels.")
        elif found in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise ParseError(f"The key {_shown(double)} stands twice in one object.")
    return result


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise ParseError(f"The number {_shown(text)} has more than {MAX_DIGITS} digits.")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value) or len(text) > 40:
        raise ParseError(f"The number {_shown(text)} is too large.")
    if value == 0 and any(c in "123456789" for c in text.lower().partition("e")[0]):
        raise ParseError(f"The number {_shown(text)} is too small to be told from 0.")
    return value


def _constant(text: str) -> float:
    raise ParseError(f"{text} is not a JSON number.")


def _check(value: Any) -> None:
    """No NUL, no lone surrogate, no giant string, no giant document; an explicit stack."""
    nodes = 0
    stack: list[tuple[_Place, Any]] = [((), value)]
    while stack:
        place, item = stack.pop()
        nodes += 1
        if nodes > MAX_NODES:
            raise ParseError(f"The body holds more than {MAX_NODES} values.")
        if isinstance(item, str):
            _check_text(place, item)
        elif isinstance(item, dict):
            for key, inner in item.items():
                here = (*place, key)
                _check_text(here, key)
                stack.append((here, inner))
        elif isinstance(item, list):
            stack.extend(((*place, n), inner) for n, inner in enumerate(item))


def _check_text(place: _Place, text: str) -> None:
    if len(text) > MAX_STRING:
        raise ParseError(f"{_named(place)} is longer than {MAX_STRING // 1024} KiB.")
    if "\x00" in text:
        raise ParseError(f"{_named(place)} holds a NUL character.")
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise ParseError(f"{_named(place)} holds half of a surrogate pair.")


def _named(place: _Place) -> str:
    """``spec.labels[2].name``; put into words only when there is something to say of it."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{_shown(step)}" for step in place)
    return "".join(parts).removeprefix(".") or "The body"


def _shown(text: str) -> str:
    visible = "".join(
        c if c.isprintable() and not "\ud800" <= c <= "\udfff" else f"\\u{ord(c):04x}"
        for c in text[:60]
    )
    return visible if len(text) <= 60 else f"{visible}…"
