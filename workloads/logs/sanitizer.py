"""Text of a log made harmless: colours kept as words for classes, all other control removed.

What a terminal would obey is taken out by one scanner of alternatives that never goes back, so
the time is linear; what nobody would see (bidirectional and zero-width marks) is made visible.
"""

import re
from dataclasses import dataclass, replace

from gangline.lib.sentences import ESCAPES

_SCAN = re.compile(
    ESCAPES + r"|(?P<control>[\x00-\x08\x0a-\x1a\x1c-\x1f\x7f-\x9f])"
    r"|(?P<unseen>[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ufff9-\ufffb\U000e0000-\U000e007f])"
)
_MOST = 16
"""Parameters of one colour sequence; more are not looked at."""

Part = tuple[str, str]
"""Text and its classes, separated by spaces."""


@dataclass(frozen=True, slots=True)
class _Look:
    front: int | None = None
    back: int | None = None
    bold: bool = False
    faint: bool = False
    italic: bool = False
    underline: bool = False

    @property
    def classes(self) -> str:
        words = [f"fg{self.front}"] if self.front is not None else []
        words += [f"bg{self.back}"] if self.back is not None else []
        flags = (self.bold, self.faint, self.italic, self.underline)
        words += [w for w, on in zip(("b", "faint", "i", "u"), flags, strict=True) if on]
        return " ".join(words)


_PLAIN = _Look()
_FLAGS: dict[int, dict[str, bool]] = {
    1: {"bold": True},
    2: {"faint": True},
    3: {"italic": True},
    4: {"underline": True},
    21: {"underline": True},
    22: {"bold": False, "faint": False},
    23: {"italic": False},
    24: {"underline": False},
}


def clean(text: str) -> list[Part]:
    """``text`` in pieces of one look each. Joined, they hold nothing that a terminal obeys."""
    parts: list[Part] = []
    look, at = _PLAIN, 0
    for found in _SCAN.finditer(text):
        if found.start() > at:
            _put(parts, text[at : found.start()], look.classes)
        at = found.end()
        if found["final"] == "m":
            look = _looked(look, found["given"] or "")
        elif (control := found["control"]) is not None:
            _put(parts, _picture(control), look.classes)
        elif (unseen := found["unseen"]) is not None:
            _put(parts, f"U+{ord(unseen):04X}", "unseen")
    if at < len(text):
        _put(parts, text[at:], look.classes)
    return parts


def plain(text: str) -> str:
    """The same without looks."""
    return "".join(part for part, _ in clean(text))


def _put(parts: list[Part], text: str, classes: str) -> None:
    if parts and parts[-1][1] == classes and classes != "unseen":
        parts[-1] = (parts[-1][0] + text, classes)
    elif text:
        parts.append((text, classes))


def _picture(control: str) -> str:
    code = ord(control)
    if code >= 0x80:
        return ""
    return "\u2421" if code == 0x7F else chr(0x2400 + code)


def _looked(look: _Look, given: str) -> _Look:
    codes = [int(word[:4]) if word.isdigit() else 0 for word in re.split("[;:]", given)[:_MOST]]
    while codes:
        code = codes.pop(0)
        if code == 0:
            look = _PLAIN
        elif code in _FLAGS:
            look = replace(look, **_FLAGS[code])
        elif code in (38, 48):
            look = _with(look, code, _mixed(codes))
        elif code in (39, 49):
            look = _with(look, code, None)
        elif 30 <= code <= 37 or 40 <= code <= 47:
            look = _with(look, code, code % 10)
        elif 90 <= code <= 97 or 100 <= code <= 107:
            look = _with(look, 38 if code < 100 else 48, code % 10 + 8)
    return look


def _with(look: _Look, code: int, colour: int | None) -> _Look:
    return replace(look, front=colour) if code < 40 else replace(look, back=colour)


def _mixed(codes: list[int]) -> int | None:
    """One of the sixteen colours nearest to one of 256, or to red, green and blue."""
    kind = codes.pop(0) if codes else 0
    if kind == 5 and codes:
        number = codes.pop(0)
        if number < 16:
            return number
        if number > 231:
            return 8 if number < 244 else 7
        number -= 16
        return _nearest(number // 36 * 51, number // 6 % 6 * 51, number % 6 * 51)
    if kind == 2 and len(codes) >= 3:
        red, green, blue = codes[:3]
        del codes[:3]
        return _nearest(red, green, blue)
    return None


def _nearest(red: int, green: int, blue: int) -> int:
    top = max(red, green, blue, 1)
    return sum(1 << bit for bit, value in enumerate((red, green, blue)) if value * 2 > top)
