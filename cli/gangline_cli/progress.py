"""What a terminal shows while a workload starts."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .session import note


@contextmanager
def progress() -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A line that moves on a terminal, and stays with what it said last; elsewhere one line per
    change, on standard error."""
    if sys.stderr.isatty():
        from rich.console import Console

        console = Console(stderr=True)
        with console.status("Submitted") as status:
            yield lambda row: status.update(sentence(row))
        note(str(status.status))
        return
    last = ""

    def tell(row: Mapping[str, Any]) -> None:
        nonlocal last
        if (now := sentence(row)) != last:
            last = now
            note(now)

    yield tell


def sentence(row: Mapping[str, Any]) -> str:
    """``Pending, 0 of 3 pods run: waits for 2 GPUs``."""
    number = (row.get("requestedPods") or {}).get("number", 0)
    text = f"{row['status']}, {row.get('runningPods', 0)} of {number} pods run"
    return f"{text}: {row['phaseMessage']}" if row.get("phaseMessage") else text
