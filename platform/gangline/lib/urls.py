"""URLs that somebody sent, which need not be any."""

from urllib.parse import SplitResult, urlsplit


def parts_of(text: str) -> SplitResult:
    """The parts of a URL; all empty where it is none, as ``http://[``."""
    try:
        return urlsplit(text)
    except ValueError:
        return SplitResult("", "", "", "", "")
