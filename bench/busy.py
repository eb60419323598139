"""How busy processes are within a block."""

import contextlib
import time

import psutil


class Busy:
    """Shares of one core that processes and their children use within a block, in percent."""

    def __init__(self, pids: dict[str, int]) -> None:
        self.pids = pids
        self.share: dict[str, float] = {}
        self.machine = 0.0
        """Of all its cores."""
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._began, self._before = time.monotonic(), self._used()
        psutil.cpu_percent()

    def __exit__(self, *_: object) -> None:
        self.seconds = time.monotonic() - self._began
        self.machine = psutil.cpu_percent()
        used = self._used()
        self.share = {n: 100 * (used[n] - self._before[n]) / self.seconds for n in used}

    def told(self, *but: str) -> str:
        """The others in words, busiest first."""
        others = sorted(((s, n) for n, s in self.share.items() if n not in but), reverse=True)
        found = [f"{name} {share:.0f} %" for share, name in others if share >= 1]
        return ", ".join([*found, f"the machine {self.machine:.0f} %"])

    def _used(self) -> dict[str, float]:
        return {name: self._of(pid) for name, pid in self.pids.items()}

    def _of(self, pid: int) -> float:
        root, total = psutil.Process(pid), 0.0
        for process in (root, *root.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += sum(process.cpu_times()[:2])
        return total
