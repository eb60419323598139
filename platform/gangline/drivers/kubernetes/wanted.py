"""Whose logs somebody reads just now: told by whoever reads, asked by the process that fetches.

A file for each attempt in the folder of data, because both may be processes of their own.
"""

import contextlib
import os
import time
from pathlib import Path

FRESH = 30.0
"""Seconds for which one reading counts: a page that follows a log reads every few."""

Key = tuple[str, int]


def tell(data_dir: Path, workload: str, attempt: int) -> None:
    """Somebody reads a log of this attempt."""
    place = _folder(data_dir) / f"{workload}.{attempt}"
    # Only haste is lost where this fails.
    with contextlib.suppress(OSError):
        try:
            os.utime(place)
        except FileNotFoundError:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.touch(mode=0o600)


def told(data_dir: Path) -> set[Key]:
    """Workload and number of the attempts that are read just now; the others are forgotten."""
    found: set[Key] = set()
    with contextlib.suppress(OSError), os.scandir(_folder(data_dir)) as marks:
        for mark in marks:
            workload, _, attempt = mark.name.rpartition(".")
            with contextlib.suppress(OSError):
                if time.time() - mark.stat().st_mtime > FRESH:
                    Path(mark).unlink()
                elif attempt.isdecimal():
                    found.add((workload, int(attempt)))
    return found


def _folder(data_dir: Path) -> Path:
    return data_dir / "logs-wanted"
