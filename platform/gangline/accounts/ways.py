"""Further ways to sign in, offered on the sign-in page; who knows one stands above this package."""

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest

from .models import User

CAME_BY = "came_by"
"""Key of sessions that were not opened with a password: the key of the way."""


@dataclass(frozen=True, slots=True)
class Way:
    """A button of the sign-in page."""

    key: str
    name: str
    """Of who signs people in there."""
    url: str
    """Where it leads, with what the person wanted to see."""
    leave_url: str = ""
    """Where one signs out there, too; empty: unknown."""


_offers: list[Callable[[HttpRequest, str], list[Way]]] = []


def register(offer: Callable[[HttpRequest, str], list[Way]]) -> None:
    """``offer`` is called with a request and the path that the person wanted to see."""
    _offers.append(offer)


def offered(request: HttpRequest, target: str) -> list[Way]:
    return [way for offer in _offers for way in offer(request, target)]


_connections: list[Callable[[User], list[tuple[str, str]]]] = []


def register_connections(of: Callable[[User], list[tuple[str, str]]]) -> None:
    """``of`` answers a user's ways: the name, and where one connects it; empty: it is."""
    _connections.append(of)


def connections(user: User) -> list[tuple[str, str]]:
    return [one for of in _connections for one in of(user)]
