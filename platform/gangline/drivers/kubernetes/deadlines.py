"""One deadline for all the requests of a call.

A look or an effect asks four to ten times. Each request may take 25 s, while a call of the driver
ends within 30 s, before the lease of whoever called it does (`drivers/base.py`).
"""

import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from .client import READ_SECONDS, Answer, Client, Unreachable

BUDGET = 24.0
"""Seconds; the last request may need five more to connect."""
KEPT = 0.5
"""Share of it that stays for what a call is about, whatever is done before it."""
SHORT = 0.04
"""Of what is left, too small a share to ask for anything more."""
P = ParamSpec("P")
R = TypeVar("R")
_until: ContextVar[float | None] = ContextVar("until", default=None)


def in_time(act: Callable[P, R]) -> Callable[P, R]:
    """Let ``act`` end within `BUDGET`, as far as its requests go through `InTime`."""

    @wraps(act)
    def within(*arguments: P.args, **more: P.kwargs) -> R:
        token = _until.set(time.monotonic() + BUDGET)
        try:
            return act(*arguments, **more)
        finally:
            _until.reset(token)

    return within


class InTime(Client):
    """``inner``, whose connections it shares, for as long as the deadline lets it.

    Raises Unreachable once it has passed; nothing is sent then.
    """

    def __init__(self, inner: Client) -> None:
        self.__dict__.update(inner.__dict__)
        self._inner = inner

    def request(
        self, method: str, path: str, *, read_seconds: float = READ_SECONDS, **more: Any
    ) -> Answer:
        return self._inner.request(method, path, read_seconds=left(read_seconds), **more)


def spare(wanted: float) -> float:
    """Seconds, at most ``wanted``, for what a call can do without; 0 when there are none."""
    return max(0.0, min(wanted, _remaining() - KEPT * BUDGET))


def is_short() -> bool:
    """Whether the deadline has come, or comes before anything more can be asked."""
    return _remaining() <= SHORT * BUDGET


def left(wanted: float) -> float:
    """Seconds, at most ``wanted``, until the deadline. Raises Unreachable once it has passed."""
    remaining = _remaining()
    if remaining <= 0:
        raise Unreachable("The cluster answers too slowly.")
    return min(wanted, remaining)


def _remaining() -> float:
    until = _until.get()
    return float("inf") if until is None else until - time.monotonic()
