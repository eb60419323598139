"""Samples what a replica's process tree uses: CPU time, memory, disk, and the GPUs given to it."""

import os
import time
from typing import Any

from gangline.drivers.metrics.recorder import Rates, Recorder

from . import tree

LONGEST = 5.0
"""Seconds between two samples; shorter while the buckets are."""
SHORTEST = 0.25
"""Seconds that the last sample must cover: processor time of the living is told in hundredths."""
_TICKS = os.sysconf("SC_CLK_TCK")
_MEBI = 2**20
_SMI = ("/usr/bin/nvidia-smi", "/usr/local/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi")
_QUERY = "--query-gpu=utilization.gpu,memory.used"


class Sampler:
    """Of one replica, and of the ranks that are its children. A full disk loses samples."""

    def __init__(self, replica: dict[str, Any], logs: str) -> None:
        self._name, self._logs = str(replica["name"]), logs
        self._gpus = _Gpus(replica["env"].get("CUDA_VISIBLE_DEVICES", ""))
        self._ranks: dict[int, str] = {}
        """Names of the ranks by pid."""
        self._own: dict[str, tuple[Recorder, Rates]] = {}
        self._at = 0.0

    def begin(self) -> None:
        """The command starts now: nothing was used yet."""
        self._at = time.time()
        self._of(self._name)[1].of(self._at, {"cpu": _reaped(), "read": 0.0, "written": 0.0})

    def add_rank(self, name: str, process: tree.Process) -> None:
        self._ranks[process.pid] = name

    def is_due(self, now: float) -> bool:
        every = min(float(self._of(self._name)[0].width), LONGEST)
        return now // every > self._at // every or now < self._at

    def sample(self, processes: list[tree.Process]) -> None:
        """One look at the living ``processes``, parents first."""
        self._at = at = time.time()
        owners: dict[int, str] = {}
        used: dict[str, list[float]] = {self._name: [_reaped(), 0.0, 0.0, 0.0]}
        for process in processes:
            found = _stat(process.pid)
            if found is None:
                continue
            parent, seconds, memory = found
            name = self._ranks.get(process.pid) or owners.get(parent, self._name)
            owners[process.pid] = name
            sums = used.setdefault(name, [0.0, 0.0, 0.0, 0.0])
            read, written = _disk(process.pid)
            for place, amount in enumerate((seconds, memory, read, written)):
                sums[place] += amount
        for name, (seconds, memory, read, written) in used.items():
            counters = {"cpu": seconds, "read": read, "written": written}
            values = self._of(name)[1].of(at, counters)
            if memory:
                values["memory"] = memory
            if name == self._name:
                values.update(self._gpus.look())
            self._record(name, at, values)

    def end(self) -> None:
        """Everything has ended: what it used since the last sample."""
        now = time.time()
        if now - self._at >= SHORTEST:
            rates = self._of(self._name)[1].of(now, {"cpu": _reaped()})
            self._record(self._name, now, rates)
        for recorder, _ in self._own.values():
            recorder.close()

    def _of(self, name: str) -> tuple[Recorder, Rates]:
        if name not in self._own:
            self._own[name] = Recorder(f"{self._logs}/{name}"), Rates()
        return self._own[name]

    def _record(self, name: str, at: float, values: dict[str, float]) -> None:
        try:
            self._of(name)[0].add(at, values)
        except OSError:
            return  # nothing that runs depends on it


class _Gpus:
    """Of the devices ``given`` to the replica; nothing where no driver tells of them."""

    def __init__(self, given: str) -> None:
        self._given = given
        self._program = next((path for path in _SMI if os.access(path, os.X_OK)), "")
        self._answer = -1

    def look(self) -> dict[str, float]:
        """What the program found since the last look, which nobody waited for; asks it anew."""
        if not self._given or not self._program:
            return {}
        text = ""
        if self._answer >= 0:
            try:
                text = os.read(self._answer, 65536).decode("ascii", "replace")
            except BlockingIOError:
                return {}
            os.close(self._answer)
        self._ask()
        return parsed(text)

    def _ask(self) -> None:
        self._answer, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            os.posix_spawn(
                self._program,
                [self._program, f"--id={self._given}", _QUERY, "--format=csv,noheader,nounits"],
                {"PATH": os.defpath},
                file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1)],
            )
        except OSError:
            self._program = ""
        finally:
            os.close(writer)


def parsed(text: str) -> dict[str, float]:
    """A line for each device: ``37, 1024``, percent and MiB. A word that is no figure tells of
    none."""
    shares, memory = [], []
    for line in text.splitlines():
        share, _, used = line.partition(",")
        try:
            shares.append(float(share))
            memory.append(float(used) * _MEBI)
        except ValueError:
            continue
    if not shares or len(shares) != len(memory):
        return {}
    return {"gpu": sum(shares) / len(shares), "gpu_memory": sum(memory)}


def _reaped() -> float:
    """Seconds of processor time of what has ended below this process."""
    times = os.times()
    return times.children_user + times.children_system


def _stat(pid: int) -> tuple[int, float, float] | None:
    """Parent, seconds of processor time with ended children, and bytes of memory.

    https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
        fields = text[text.rfind(b")") + 2 :].split()
        seconds = sum(map(int, fields[11:15])) / _TICKS
        return int(fields[1]), seconds, float(int(fields[21]) * tree.PAGE)
    except (OSError, ValueError, IndexError):
        return None


def _disk(pid: int) -> tuple[float, float]:
    """Bytes read from and written to disks."""
    try:
        with open(f"/proc/{pid}/io", "rb") as file:
            lines = file.read().split(b"\n")
        return float(lines[4].split()[1]), float(lines[5].split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0, 0.0
