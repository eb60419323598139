"""URLs that somebody sent, which need not be any."""

from urllib.parse import SplitResult, urlsplit


def parts_of(text: str) -> SplitResult:
    """The parts of a URL; all empty where it is none, as ``http://[``."""
    try:
        return urlsplit(text)
    except ValueError:
        return SplitResult("", "", "", "", "")


def shares_cookies(host: str, other: str) -> bool:
    """Whether pages of one can set cookies that the other gets: it is the same or inside of it.

    https://www.rfc-editor.org/rfc/rfc6265#section-5.3
    """
    one, two = f".{host}", f".{other}"
    return bool(host and other) and (one.endswith(two) or two.endswith(one))


def web_address_problem(text: str) -> str | None:
    """What keeps ``text`` from being the address of a page, as a predicate; None: it is one."""
    parts = parts_of(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must start with https:// or http:// and name a host"
    if parts.username is not None or any(ord(c) < 0x21 for c in text):
        return "must not contain a user name, space or line break"
    return None
