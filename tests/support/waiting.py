"""Wait for a condition with a deadline: what tests do instead of sleeping."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(
    condition: Callable[[], T], *, seconds: float = 10, every: float = 0.02, what: str = ""
) -> T:
    """Return the first true answer of `condition`; fail when none came in time."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(_late(condition, seconds, what, answer))
        time.sleep(every)


async def wait_for_async(
    condition: Callable[[], Awaitable[T]],
    *,
    seconds: float = 10,
    every: float = 0.02,
    what: str = "",
) -> T:
    """Do the same in a coroutine."""
    deadline = time.monotonic() + seconds
    while True:
        answer = await condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(_late(condition, seconds, what, answer))
        await asyncio.sleep(every)


def _late(condition: object, seconds: float, what: str, answer: object) -> str:
    name = what or getattr(condition, "__qualname__", repr(condition))
    return f"Waited {seconds:g} s for {name}; the last answer was {answer!r}."
