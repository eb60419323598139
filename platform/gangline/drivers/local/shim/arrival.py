"""What must arrive before a command starts, such as a repository: each step is a program."""

import os
import signal
import time
from collections.abc import Callable
from typing import Any

from gangline.drivers.logs.output import LogWriter

LOOK_EVERY = 0.1
KILL_AFTER = 2.0
_LONGEST = 300


def fetch(steps: list[dict[str, Any]], log: LogWriter, is_over: Callable[[], bool]) -> str | None:
    """Why something did not arrive; None when all is there. Ends early once ``is_over``."""
    for step in steps:
        if (reason := _fetch(step, log, is_over)) is not None:
            return reason
    return None


def _fetch(step: dict[str, Any], log: LogWriter, is_over: Callable[[], bool]) -> str | None:
    import subprocess  # 30 ms that only those wait for who need it

    what, until = str(step["what"]), time.monotonic() + float(step["seconds"])
    process = subprocess.Popen(
        step["line"],
        env=step["env"],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101  asked for above
    os.set_blocking(process.stdout.fileno(), False)
    told = b""
    while True:
        code = process.poll()
        told = _read(process.stdout.fileno(), log, told)
        if code is not None:
            break
        if is_over():
            _end(process)
            return f"{what} was not fetched: the workload was stopped."
        if time.monotonic() > until:
            _end(process)
            return f"{what} did not arrive within {step['seconds'] // 60} minutes."
        time.sleep(LOOK_EVERY)
    if code == 0:
        return None
    lines = [one for one in told.decode(errors="replace").splitlines() if one.strip()]
    why = next((one for one in reversed(lines) if "fatal:" in one or "error:" in one), "")
    why = (why or (lines[-1] if lines else f"code {code}")).strip()[:_LONGEST]
    return f"{what} could not be fetched: {why.rstrip('.')}."


def _read(pipe: int, log: LogWriter, told: bytes) -> bytes:
    """Move what waits to the log; returns the end of all that was told."""
    while True:
        try:
            data = os.read(pipe, 65536)
        except BlockingIOError:
            return told
        if not data:
            return told
        log.write(b"stderr", data)
        told = (told + data)[-8192:]


def _end(process: Any) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        until = time.monotonic() + KILL_AFTER
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
    process.wait()
