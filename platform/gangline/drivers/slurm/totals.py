"""What Slurm's own accounting says that a job has used, kept beside its logs once it is over.

It counts steps, not nodes: processor time of all together, and the memory of the largest task.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from gangline.drivers.logs.store import LogStore
from gangline.drivers.metrics.accounted import Accounted, keep, kept

from .accounts import key_of
from .commands import Programs
from .looks import job_name
from .observation import Attempt

FORMAT = "JobID,JobName,End,TotalCPU,MaxRSS,MaxRSSNode"
_OLDEST = "now-30days"
_TIME = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)")
_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


class Totals:
    """Of one cluster. Asked once of each attempt, and never again where there is no accounting."""

    def __init__(self, programs: Programs, store: LogStore) -> None:
        self.programs, self.store = programs, store
        self._has_none = False

    def take(self, over: Sequence[Attempt]) -> None:
        """Raises NoAnswer and OSError."""
        wanted = {
            here.job.number: here
            for here in over
            if here.job is not None and kept(self._place(here)) is None
        }
        if self._has_none or not wanted:
            return
        numbers = ",".join(map(str, wanted))
        answer = self.programs.run(f"sacct -n -P -S {_OLDEST} -j {numbers} -o {FORMAT}")
        if answer.code:
            self._has_none = "is disabled" in answer.err or "not found" in answer.err
            return
        for number, here in wanted.items():
            found = read(answer.out.splitlines(), number, job_name(here.ref))
            if found is not None:
                keep(self._place(here), found)

    def _place(self, here: Attempt) -> Path:
        return self.store.attempt_folder(*key_of(here.ref))


def read(rows: Sequence[str], number: int, name: str) -> Accounted | None:
    """Of the job ``number``; None while accounting has not seen its end, or of another's."""
    seconds, largest, node = 0.0, 0, ""
    is_known = False
    for row in rows:
        parts = row.split("|")
        whole, _, step = parts[0].partition(".")
        if len(parts) != 6 or whole.partition("+")[0] != str(number):
            continue
        _, called, end, spent, memory, where = parts
        if not step:
            if called != name or end in ("", "Unknown"):
                return None
            is_known = True
            seconds += _seconds(spent)
        elif (size := _bytes(memory)) > largest:
            largest, node = size, where
    return Accounted(seconds, largest, node) if is_known else None


def _seconds(text: str) -> float:
    """``1-02:03:04`` and ``03:04.567``."""
    match = _TIME.fullmatch(text)
    if match is None:
        return 0.0
    days, hours, minutes, seconds = match.groups()
    return int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds)


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    return int(float(match[1]) * (1 << _SHIFTS[match[2]])) if match else 0
