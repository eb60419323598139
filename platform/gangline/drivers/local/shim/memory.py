"""Watches the memory of one replica's process tree."""

import os
import resource
from typing import Any

from . import tree, words

FREE, CALM, NEAR = 1.0, 0.25, 0.1
"""Seconds between two looks: without a limit, far below it, and above half of it."""


class Memory:
    """``limit`` is in bytes, None for none; ``excess`` says in words that it was passed."""

    def __init__(self, replica: dict[str, Any], plan: dict[str, Any]) -> None:
        self.limit: int | None = replica["memory_limit"]
        self.excess = ""
        self.processes: list[tree.Process] = []
        self._peak = 0
        self._kills = _kernel_kills()

    @property
    def peak(self) -> int:
        """Bytes: the larger of what was seen and what the kernel counted for one process."""
        return max(self._peak, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)

    def look(self, pid: int) -> float:
        """Measure; returns seconds to the next look."""
        self.processes = tree.descendants(os.getpid())
        used = tree.resident(self.processes)
        if self.limit is not None and used > self.limit and len(self.processes) > 1:
            used = min(used, tree.proportional(self.processes) or used)
        self._peak = max(self._peak, used)
        if self.limit is None:
            return FREE
        if used > self.limit:
            self.excess = words.over_memory(used, self.limit)
        return NEAR if used > self.limit / 2 else CALM

    def killed_by_kernel(self) -> str:
        """A sentence when the kernel killed for lack of memory while the command ran."""
        return words.OUT_OF_MEMORY if _kernel_kills() > self._kills else ""


def _kernel_kills() -> int:
    try:
        with open("/proc/vmstat", encoding="ascii") as file:
            return next((int(li.split()[1]) for li in file if li.startswith("oom_kill ")), 0)
    except OSError:
        return 0
