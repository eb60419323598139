"""Process trees from /proc. A process is its pid and its start time, never a bare pid."""

import os
import signal
from typing import NamedTuple

PAGE = os.sysconf("SC_PAGE_SIZE")


class Process(NamedTuple):
    pid: int
    start_time: int
    """Clock ticks since boot (`/proc/<pid>/stat`, field 22)."""
    depth: int = 0


def start_time(pid: int) -> int | None:
    """Start time of a process that lives; None for one that is gone, a zombie or dead."""
    state_and_start = _stat(pid)
    if state_and_start is None or state_and_start[0] in "ZX":
        return None
    return state_and_start[1]


def is_alive(pid: int, started: int) -> bool:
    return start_time(pid) == started


def descendants(pid: int) -> list[Process]:
    """Everything below ``pid``, parents first; zombies are left out, their children are not."""
    found: list[Process] = []
    level, depth = [pid], 0
    while level:
        depth += 1
        level = [child for parent in level for child in _children(parent)]
        for child in level:
            started = start_time(child)
            if started is not None:
                found.append(Process(child, started, depth))
    return found


def send(process: Process, number: int) -> bool:
    """Signal ``process`` unless its pid belongs to another one by now."""
    try:
        fd = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        if start_time(process.pid) != process.start_time:
            return False
        signal.pidfd_send_signal(fd, number)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def resident(processes: list[Process]) -> int:
    """Bytes of memory the processes use; shared pages count once per process."""
    total = 0
    for process in processes:
        try:
            with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:
                total += int(file.read().split()[1]) * PAGE
        except (OSError, IndexError, ValueError):
            continue
    return total


def proportional(processes: list[Process]) -> int:
    """As ``resident``, with shared pages divided among those who share them. Slower."""
    total = 0
    for process in processes:
        try:
            with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as file:
                lines = [line for line in file if line.startswith("Pss:")]
            total += int(lines[0].split()[1]) * 1024
        except (OSError, IndexError, ValueError):
            continue
    return total


def marked(mark: bytes) -> list[Process]:
    """Processes that were started with ``mark`` (``NAME=value``) in their environment."""
    found: list[Process] = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        started = start_time(int(name))
        if started is not None and mark in environment(int(name)):
            found.append(Process(int(name), started))
    return found


def kill_marked(mark: str) -> int:
    """Kill what a vanished shim left behind, found by its ``GANGLINE_RUN``. Returns how many."""
    found = marked(f"GANGLINE_RUN={mark}".encode())
    return sum(send(process, signal.SIGKILL) for process in found)


def environment(pid: int) -> list[bytes]:
    """``NAME=value`` as the process was started; empty when it may not be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    children: list[int] = []
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                children += map(int, file.read().split())
        except OSError:
            continue
    return children


def _stat(pid: int) -> tuple[str, int] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The command's name may hold spaces and brackets: count from the last bracket.
    fields = text[text.rfind(b")") + 2 :].split()
    return (fields[0].decode(), int(fields[19])) if len(fields) > 19 else None
