"""Texts of others as sentences in one line."""

import re

ESCAPES = (
    r"(?:\x1b\[|\x9b)(?P<given>[0-?]*)[ -/]*(?P<final>[@-~]?)"  # CSI: colours, cursor, reports
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])"  # OSC, DCS, SOS, PM, APC ...
    r"[^\x07\x18\x1a\x1b\x9c]*(?:\x07|\x1b\\|\x9c|\x18|\x1a)?"  # ... up to their end, or the line's
    r"|\x1b[ -/]*[0-~]?"  # any other escape
)
"""What a terminal would obey, as a whole. Alternatives that never go back: the time is linear."""
_ESCAPES = re.compile(ESCAPES)


def one_line(text: str) -> str:
    """``text`` without line breaks, escapes, control characters and needless spaces."""
    plain = _ESCAPES.sub("", " ".join(text.split()))
    return " ".join("".join(c if c.isprintable() else " " for c in plain).split())


def sentence(text: str) -> str:
    """``text`` in one line and with a full stop; empty stays empty."""
    clean = one_line(text)
    return clean if not clean or clean[-1] in ".!?…" else f"{clean}."
