"""How much is tried: a part in `make test`, all in `make test-all`."""

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")
IS_THOROUGH = os.environ.get("GANGLINE_TEST_THOROUGH") == "1"


def examples(whole: int) -> int:
    """How many Hypothesis tries: a quarter, or all."""
    return whole if IS_THOROUGH else max(5, whole // 4)


def some(cases: Iterable[T], every: int = 5) -> list[T]:
    """Cases that a test asks one after the other: every fifth, or all."""
    return list(cases)[:: 1 if IS_THOROUGH else every]
