"""One deadline for all the requests of an effect.

An effect asks four to ten times. Each of its requests may take 25 s, while a call of the driver
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
        return self._inner.request(method, path, read_seconds=_left(read_seconds), **more)


def _left(wanted: float) -> float:
    until = _until.get()
    if until is None:
        return wanted
    left = until - time.monotonic()
    if left <= 0:
        raise Unreachable("The cluster answers too slowly.")
    return min(wanted, left)
