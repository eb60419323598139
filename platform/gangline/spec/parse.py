"""Text to values and back, for forms, flags and query strings; it judges no value."""

import re
from typing import Any

from .catalogue import Kind, SpecField
from .words import DURATION_UNITS, accepted, must_be, plain_number, split_duration

_BLANK = " \t\r\n"
_INTEGER = re.compile(r"[+-]?[0-9]{1,15}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,12})?")
_DURATION = re.compile(r"([+-]?[0-9]{1,15}) ?(s|min|h|d)?")
_BOOLEANS = {"true": True, "false": False}


class Unparsable(ValueError):
    """The text is no value of the field, which must be of ``kind``."""

    def __init__(self, kind: str, accepted: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.accepted = accepted


def parse_text(field: SpecField, text: str) -> Any:
    """The value that ``text`` stands for. ASCII digits only: no ``1_000``, ``١٢`` or ``1e3``.

    A value that can be read is returned even where it breaks a bound or a grammar, so that
    one place says what is wrong with it.
    """
    if field.kind is Kind.ITEMIZED:
        raise TypeError(f"{field.path}: a list has no single text")
    if field.kind in (Kind.STRING, Kind.COMMAND):
        return text.replace("\r\n", "\n")
    word = text.strip(_BLANK)
    if field.kind is Kind.CHOICE:
        return field.canonical(word)
    if field.kind is Kind.QUANTITY:
        return word
    return _parsed(field, word)


def _parsed(field: SpecField, word: str) -> Any:
    if field.kind is Kind.BOOLEAN and word.lower() in _BOOLEANS:
        return _BOOLEANS[word.lower()]
    if field.kind is Kind.INTEGER and _INTEGER.fullmatch(word):
        return int(word)
    if field.kind is Kind.NUMBER and _NUMBER.fullmatch(word):
        return float(word) if "." in word else int(word)
    if field.kind is Kind.DURATION and (match := _DURATION.fullmatch(word)):
        return int(match[1]) * DURATION_UNITS[match[2] or "s"]
    raise Unparsable(must_be(field), accepted(field))


def show_text(field: SpecField, value: Any) -> str:
    """The text that ``parse_text`` turns into ``value``; None is the empty text."""
    if value is None:
        return ""
    if field.kind is Kind.BOOLEAN:
        return "true" if value else "false"
    if field.kind is Kind.DURATION:
        return "{}{}".format(*split_duration(value))
    if field.kind in (Kind.INTEGER, Kind.NUMBER):
        return plain_number(value)
    return str(value)
