"""Files of a run folder, written so that a reader or a crash never sees half of one.

``ctl/`` holds ``plan.json``, ``claims/``, ``started/``, ``exits/``, ``cancelled`` and ``end``; only
``<replica>/work/`` is shown to the command.
"""

import _socket
import errno
import json
import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

from . import words

T = TypeVar("T")

PLAN = "plan.json"
PLAN_VERSION = 1
CANCELLED = "cancelled"
END = "end"
LAUNCHED = "launched"
FULL_PAUSE = 2.0
LATE = 75
"""Exit code of a shim that came second or after the end (EX_TEMPFAIL)."""


class UnusablePlan(ValueError):
    """A plan that nobody here can follow, in words why."""


def read_plan(ctl: str) -> dict[str, Any] | None:
    """The plan of the attempt; None when there is none yet. Raises UnusablePlan."""
    try:
        plan = _parsed(f"{ctl}/{PLAN}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not isinstance(plan, dict):
        raise UnusablePlan(words.PLAN_DAMAGED)
    if plan.get("version") != PLAN_VERSION:
        raise UnusablePlan(words.other_plan(plan.get("version"), PLAN_VERSION))
    return plan


def read_json(path: str) -> dict[str, Any] | None:
    """Content of ``path``; None when it is missing or not whole."""
    try:
        value = _parsed(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return value if isinstance(value, dict) else None


def _parsed(path: str) -> object:
    with open(path, encoding="utf-8") as file:
        try:
            return json.load(file)
        except ValueError:
            return None


def write_once(path: str, value: dict[str, Any]) -> bool:
    """Write ``path`` unless it exists: whole, and on disk when it returns. False: it exists."""
    draft = _draft(path, value)
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(draft)
    sync_folder(os.path.dirname(path))
    return True


def write_over(path: str, value: dict[str, Any], *, sync: bool = True) -> None:
    """Replace ``path`` in one step."""
    os.rename(_draft(path, value, sync=sync), path)
    if sync:
        sync_folder(os.path.dirname(path))


def sync_folder(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _draft(path: str, value: dict[str, Any], *, sync: bool = True) -> str:
    draft = f"{path}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(json.dumps(value).encode())
        while view:  # a disk that is nearly full takes a part
            view = view[os.write(fd, view) :]
        if sync:
            os.fsync(fd)
    except OSError:
        os.unlink(draft)
        raise
    finally:
        os.close(fd)
    return draft


def is_full(problem: OSError) -> bool:
    """Whether there was no room on the disk."""
    return problem.errno in (errno.ENOSPC, errno.EDQUOT)


def once_there_is_room(write: Callable[[], T]) -> T:
    """``write()``, again and again while the disk is full: for what must not be lost."""
    while True:
        try:
            return write()
        except OSError as problem:
            if not is_full(problem):
                raise
        time.sleep(FULL_PAUSE)


def boot_id() -> str:
    """Identity of this boot of the machine: pids of an earlier boot mean nothing."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def ring(runs: str, message: str) -> None:
    """Tell whoever listens at ``runs/bell``. Nobody listening, or a full queue, is no error."""
    try:
        folder = os.open(runs, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    bell = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM | _socket.SOCK_NONBLOCK)
    try:
        # A socket address holds 107 bytes; the way over the folder's descriptor is always short.
        bell.sendto(message.encode(), f"/proc/self/fd/{folder}/bell")
    except OSError as problem:
        if problem.errno not in _NOBODY:
            raise
    finally:
        bell.close()
        os.close(folder)


_NOBODY = (errno.ENOENT, errno.ECONNREFUSED, errno.EAGAIN, errno.ENOBUFS, errno.ENOTSOCK)
