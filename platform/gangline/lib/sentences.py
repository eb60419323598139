"""Texts of others as sentences in one line."""


def one_line(text: str) -> str:
    """``text`` without line breaks, control characters and needless spaces."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def sentence(text: str) -> str:
    """``text`` in one line and with a full stop; empty stays empty."""
    clean = one_line(text)
    return clean if not clean or clean[-1] in ".!?…" else f"{clean}."
