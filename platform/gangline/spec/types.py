"""Value types shared by several fields: the grammar of each, and in words what it accepts."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from gangline.lib.texts import hidden

from . import images
from .base import refused

LONGEST_TEXT = 65_536
LONGEST_NAME = 51
"""``<name>-worker-9999`` must fit into the 63 characters of a DNS label."""
MOST_WORDS = 1000

QUANTITY_UNITS = {
    "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60,
}  # fmt: skip
_QUANTITY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)(k|[MGTPE]|[KMGTPE]i)?")
_NAME = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Format:
    """Grammar of a string. ``check`` gives the predicate of what is wrong, or None.

    ``numbers``: of a list of numbers written as one text, reads them; bounds hold for each.
    """

    name: str
    accepted: str
    check: Callable[[str], str | None]
    numbers: Callable[[str], Sequence[int]] | None = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), "format": self.name}

    def _checked(self, text: str | None) -> str | None:
        """None, where the field may be empty, is of no grammar."""
        if text is not None and (message := self.check(text)) is not None:
            raise refused(message, self.accepted)
        return text


@dataclass(frozen=True, slots=True)
class DurationMark:
    """Tells that a whole number is a time in seconds."""


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Smallest and largest quantity, both allowed, and the units that a form offers."""

    minimum: str
    maximum: str
    units: tuple[str, ...] = ("M", "G", "Mi", "Gi")

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, text: str | None) -> str | None:
        size = quantity_bytes(self.minimum if text is None else text)
        if not quantity_bytes(self.minimum) <= size <= quantity_bytes(self.maximum):
            least, most = size_in_words(self.minimum), size_in_words(self.maximum)
            raise refused(f"between {least} and {most}", code="size")
        return text


def quantity_bytes(text: str) -> int:
    """Size in bytes of a Kubernetes quantity such as ``16Gi`` or ``500M``.

    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"must be a size such as 512M or 16Gi, not {text[:60]!r}")
    number, unit = match.groups()
    return int(Decimal(number) * QUANTITY_UNITS[unit or ""])


def split_quantity(text: str) -> tuple[str, str] | None:
    """``16Gi`` → ``("16", "Gi")``; None when the text is no quantity."""
    match = _QUANTITY.fullmatch(text)
    return None if match is None else (match[1], match[2] or "")


def size_in_words(text: str) -> str:
    """``256M`` → ``256 MB``, for people; whoever writes JSON is told ``256M``."""
    number, unit = split_quantity(text) or (text, None)
    return number if unit is None else f"{number} {f'{unit}B' if unit else 'bytes'}"


def _quantity_problem(text: str) -> str | None:
    if _QUANTITY.fullmatch(text):
        return None
    if re.fullmatch(r"[0-9.]{1,20}m", text):
        return f"must be a size; {text} means thousandths of a byte, write {text[:-1]}M for MB"
    close = re.fullmatch(r"([0-9.]{1,20})\s*([kKMGTPE]i?)[bB]?", text.strip())
    if close:
        unit = close[2].replace("K", "k") if len(close[2]) == 1 else close[2]
        return f"must be a size; write it as {close[1]}{unit}"
    return "must be a size such as 512M or 16Gi"


def is_workload_name(text: str) -> bool:
    """Whether it is a DNS-1035 label, as a workload's name must be (R26)."""
    return len(text) <= LONGEST_NAME and _NAME.fullmatch(text) is not None


def split_command(text: str) -> list[str]:
    """The argument list of a command line; no shell is involved (R19).

    Raises ValueError with a predicate: "has an unclosed quote".
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        unclosed = "quotation" in str(error)
        raise ValueError("has an unclosed quote" if unclosed else "ends with “\\”") from error
    if len(words) > MOST_WORDS:
        raise ValueError(f"must have at most {MOST_WORDS} words")
    return words


def _words_problem(text: str) -> str | None:
    try:
        split_command(text)
    except ValueError as error:
        return str(error)
    return None


def _command_problem(text: str) -> str | None:
    return _words_problem(text) or (None if text.strip() else "must not be empty")


def absolute_path_problem(text: str) -> str | None:
    if not text.startswith("/"):
        return "must be an absolute path: start it with “/”"
    if ".." in text.split("/"):
        return "must not contain “..”"
    return None if text.isprintable() else "must not contain control characters"


def _prose_problem(text: str) -> str | None:
    character = hidden(text)
    return f"must not contain the invisible character {character}" if character else None


Quantity = Annotated[
    str, Field(max_length=40), Format("quantity", "a size such as 512M or 16Gi", _quantity_problem)
]
Duration = Annotated[int, DurationMark()]
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
"""What programs read: every character counts."""
Prose = Annotated[
    str, Field(max_length=250), Format("prose", "text of visible characters", _prose_problem)
]
"""What people read."""
Command = Annotated[
    str,
    Field(max_length=LONGEST_TEXT),
    Format("command", "a command with closed quotes, such as python train.py", _command_problem),
]
Arguments = Annotated[
    str,
    Field(max_length=LONGEST_TEXT),
    Format("command", "arguments with closed quotes, such as --epochs 10", _words_problem),
]
Image = Annotated[
    str,
    Field(max_length=512),
    Format(
        "image",
        "a container image such as registry.local/ddp:1.4, or local:// and the name of a runtime",
        images.problem,
    ),
]
_INTERFACE = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,14}")


def _interface_problem(text: str) -> str | None:
    """https://man7.org/linux/man-pages/man7/netdevice.7.html: 15 bytes at most."""
    if _INTERFACE.fullmatch(text):
        return None
    return "must be the name of one network interface, of 1 to 15 letters, digits or “-”, “_”, “.”"


NetworkInterface = Annotated[
    str,
    Field(max_length=15),
    Format("network-interface", "a name such as eth0 or ib0", _interface_problem),
]
AbsolutePath = Annotated[
    str,
    Field(max_length=1024),
    Format("absolute-path", "an absolute path such as /workspace", absolute_path_problem),
]
