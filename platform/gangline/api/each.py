"""One action on many things, answered one by one: what one refuses holds up no other."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from django.db import DatabaseError

from .errors import refusal

T = TypeVar("T")
R = TypeVar("R")


def on_each(
    things: Iterable[T], act: Callable[[T], R]
) -> tuple[list[tuple[T, R]], list[tuple[T, int, str]]]:
    """What came of it, and what was refused, with code and sentence. Other errors go through."""
    done: list[tuple[T, R]] = []
    refused: list[tuple[T, int, str]] = []
    for one in things:
        try:
            done.append((one, act(one)))
        except DatabaseError:
            raise
        except Exception as error:
            if (told := refusal(error)) is None:
                raise
            code, body = told
            refused.append((one, code, body["details"] or body["message"]))
    return done, refused
