"""Further ways to sign in, offered on the sign-in page; who knows one stands above this package."""

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest


@dataclass(frozen=True, slots=True)
class Way:
    """A button of the sign-in page."""

    key: str
    label: str
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
