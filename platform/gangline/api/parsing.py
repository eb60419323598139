"""Strict JSON: what is ambiguous is refused with its place."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from gangline.lib import yaml_text
from gangline.lib.answers import place_in_body
from gangline.spec.problems import Problem

MAX_DEPTH = 20
MAX_NODES = 10_000
MAX_STRING = 64 * 1024
MAX_DIGITS = 15
MOST_TOLD = 20
"""Of one body: nobody reads more."""
# A string that never ends takes the rest: what stands in it is no bracket, and json.loads says so.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[\[{\]}]', re.DOTALL)

_Place = tuple[str | int, ...]
"""Keys and indexes that lead to a value."""


@dataclass(frozen=True, slots=True)
class _Wrong:
    """What stands in place of a value that no one may send, until its place is known."""

    code: str
    accepted: str
    params: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None
    """Of an object: which of its keys is meant."""

    def at(self, place: _Place) -> Problem:
        role, path = place_in_body([_shown(step) for step in place])
        return Problem.of(
            role, path, self.code, accepted=self.accepted, label=_named(place), **self.params
        )


class BadBody(ParseError):
    """A body that cannot be read, with what is wrong with it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems[0].sentence)
        self.problems = problems


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


class StrictYAMLParser(BaseParser):
    """Parses a body in the part of YAML that says the same as JSON, however it is read."""

    media_type = "application/yaml"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            data = yaml_text.read(stream.read()).data
        except yaml_text.UnreadableYaml as error:
            accepted = error.suggestion or "one YAML object without anchors, aliases and tags"
            raise _whole("format:yaml", accepted, said=str(error)) from error
        if problems := list(islice(_problems(data), MOST_TOLD)):
            raise BadBody(problems)
        return data


def loads(raw: bytes) -> Any:
    """The value of a JSON text, or BadBody that says where."""
    if not raw.strip():
        return {}
    if raw.startswith(b"\xef\xbb\xbf"):
        raise _whole("format:bom", "UTF-8 without a byte order mark")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _whole("format:utf8", "UTF-8", at=error.start) from error
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
        place = {"line": error.lineno, "column": error.colno}
        raise _whole("format:json", "one JSON object", said=error.msg.lower(), **place) from error
    except RecursionError as error:
        raise _too_deep() from error
    if problems := list(islice(_problems(value), MOST_TOLD)):
        raise BadBody(problems)
    return value


def _whole(code: str, accepted: str, **params: Any) -> BadBody:
    return BadBody([_Wrong(code, accepted, params).at(())])


def _too_deep() -> BadBody:
    return _whole("format:depth", f"at most {MAX_DEPTH} levels", most=MAX_DEPTH)


def _check_depth(text: str) -> None:
    """Before the recursive parser sees it: brackets outside strings may nest 20 deep."""
    depth = 0
    for found in _STRING_OR_BRACKET.findall(text):
        if found in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise _too_deep()
        elif found in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Wrong:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    names = [name for name, _ in pairs]
    double = next(name for name in names if names.count(name) > 1)
    return _Wrong("unique:key", "each key once", key=double)


def _integer(text: str) -> int | _Wrong:
    if len(text.lstrip("-")) > MAX_DIGITS:
        return _number_as("max:digits", text)
    return int(text)


def _number(text: str) -> float | _Wrong:
    value = float(text)
    if math.isinf(value) or len(text) > 40:
        return _number_as("max:large", text)
    if value == 0 and any(c in "123456789" for c in text.lower().partition("e")[0]):
        return _number_as("min:zero", text)
    return value


def _constant(text: str) -> _Wrong:
    return _number_as("type:number", text)


def _number_as(code: str, text: str) -> _Wrong:
    accepted = f"a number of at most {MAX_DIGITS} digits"
    return _Wrong(code, accepted, {"value": text, "most": MAX_DIGITS})


def _problems(value: Any) -> Iterator[Problem]:
    """No NUL, no lone surrogate, no giant string, no giant document; an explicit stack."""
    nodes = 0
    stack: list[tuple[_Place, Any]] = [((), value)]
    while stack:
        place, item = stack.pop()
        nodes += 1
        if nodes > MAX_NODES:
            most = f"at most {MAX_NODES} values"
            yield _Wrong("max:values", most, {"most": MAX_NODES}).at(())
            return
        if isinstance(item, _Wrong):
            yield item.at(place if item.key is None else (*place, item.key))
        elif isinstance(item, str):
            yield from _of_text(place, item)
        elif isinstance(item, dict):
            for key in item:
                yield from _of_text((*place, key), key)
            stack.extend(((*place, key), inner) for key, inner in reversed(item.items()))
        elif isinstance(item, list):
            stack.extend(((*place, n), item[n]) for n in reversed(range(len(item))))


def _of_text(place: _Place, text: str) -> Iterator[Problem]:
    """The text itself is not repeated: nobody knows here whether it is secret."""
    if len(text) > MAX_STRING:
        most = f"{MAX_STRING // 1024} KiB"
        accepted = f"text of at most {most}"
        yield _Wrong("maxLength:bytes", accepted, {"most": most}).at(place)
    elif "\x00" in text:
        yield _Wrong("format:nul", "text without NUL characters").at(place)
    elif not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        yield _Wrong("format:surrogate", "text of complete characters").at(place)


def _named(place: _Place) -> str:
    """``spec.labels[2].name``; put into words only when there is something to say of it."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{_shown(step)}" for step in place)
    return "".join(parts).removeprefix(".") or "The body"


def _shown(step: str | int) -> str:
    text = str(step)
    visible = "".join(
        c if c.isprintable() and not "\ud800" <= c <= "\udfff" else f"\\u{ord(c):04x}"
        for c in text[:60]
    )
    return visible if len(text) <= 60 else f"{visible}…"
