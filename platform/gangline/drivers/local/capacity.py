"""What this machine has to give: cores, memory, GPUs and ports."""

import math
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gangline.drivers.facts import Capacity, NodeFact

T = TypeVar("T")
KEPT_BACK = 2**30
"""Bytes left to the system and the dashboard."""
PORTS = (16000, 32000)


def cores() -> float:
    """Cores this process may use: its affinity mask, further limited by a cgroup quota."""
    return float(min([len(os.sched_getaffinity(0)), *_quotas()]))


def memory() -> int:
    """Bytes: all but 1 GiB, or the limit of the own cgroup when that is less."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([max(total - KEPT_BACK, total // 2), *_memory_limits()])


def gpus() -> tuple[str, ...]:
    """UUIDs of the NVIDIA devices, empty without driver or device."""
    import pynvml  # loads the driver's library, so only where GPUs are looked for

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return tuple(str(pynvml.nvmlDeviceGetUUID(handle)) for handle in handles)
    except pynvml.NVMLError:
        return ()
    finally:
        pynvml.nvmlShutdown()


def gpu_memory() -> int:
    """Bytes of the smallest NVIDIA device, 0 without any."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return 0
    try:
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        sizes = [int(pynvml.nvmlDeviceGetMemoryInfo(handle).total) for handle in handles]
    except pynvml.NVMLError:
        return 0
    finally:
        pynvml.nvmlShutdown()
    return min(sizes, default=0)


def node(room: Capacity) -> NodeFact:
    """This machine as the one node of its cluster."""
    labels = {"kubernetes.io/hostname": platform.node(), "kubernetes.io/arch": platform.machine()}
    return NodeFact(
        platform.node() or "this-machine", "Ready", labels,
        cpu=room.cpus, memory=room.memory, gpus=len(room.gpus),
    )  # fmt: skip


def _quotas() -> list[int]:
    found = []
    for path in _cgroup_folders("cpu"):
        quota = _first(path / "cpu.max", lambda text: text.split())
        if quota and quota[0] != "max":
            found.append(max(1, math.floor(int(quota[0]) / int(quota[1]))))
        old = _first(path / "cpu.cfs_quota_us", int)
        period = _first(path / "cpu.cfs_period_us", int)
        if old and period and old > 0:
            found.append(max(1, old // period))
    return found


def _memory_limits() -> list[int]:
    found = []
    for path in _cgroup_folders("memory"):
        limit = _first(path / "memory.max", lambda text: None if text == "max" else int(text))
        old = _first(path / "memory.limit_in_bytes", int)
        found += [value for value in (limit, old) if value is not None]
    return found


def _cgroup_folders(controller: str) -> list[Path]:
    """The own cgroup and all above it, in the unified hierarchy and in the controller's own."""
    root = Path("/sys/fs/cgroup")
    folders: list[Path] = []
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        base = root / controller if controllers else root
        own = Path(path.lstrip("/"))
        folders += [base / part for part in (own, *own.parents)]
    return folders


def _first(path: Path, read: Callable[[str], T]) -> T | None:
    try:
        return read(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        return None
