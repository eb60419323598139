"""What every driver must do that lets people into running replicas, beside all the rest."""

import re
import secrets
import threading
from collections.abc import Callable
from pathlib import Path

from gangline.drivers.base import AttemptRef, Driver, Refused
from gangline.drivers.ports import Connection
from gangline.drivers.shells import (
    CLOSED,
    REPLICA_ENDED,
    STDERR,
    STDOUT,
    Ended,
    Output,
    Shell,
    ShellOpener,
    ShellRequest,
    Size,
)
from tests.drivers.conformance import DriverConformance, Script
from tests.support.waiting import wait_for


def entered(
    driver: Driver, ref: AttemptRef, *command: str, tty: bool = False, replica: str = "worker-0"
) -> Shell:
    """A command that has been started."""
    assert isinstance(driver, ShellOpener)
    told = driver.open_shell(ref, replica, ShellRequest(command, tty, Size(91, 33)))
    assert isinstance(told, Shell), told
    return told


def said(
    shell: Shell | Connection, until: Callable[[bytes], bool] | None = None
) -> tuple[dict[int, bytes], Ended | None]:
    """What it printed until the end, or until its output is as wanted."""
    found: dict[int, bytes] = {STDOUT: b"", STDERR: b""}
    while True:
        piece = shell.read()
        if isinstance(piece, Ended):
            return found, piece
        assert isinstance(piece, Output)
        found[piece.stream] += piece.data
        if until and until(found[STDOUT]):
            return found, None


def processes(marks: tuple[str, ...]) -> list[str]:
    """Command lines on this machine, where every bed runs, that hold one of the marks."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        found += [line] if any(mark in line for mark in marks) else []
    return found


class ShellConformance(DriverConformance):
    """One gang for all that is asked of a replica that runs on; its end is another's."""

    tells_codes = True
    """With which code a command has ended; else only whether all went well."""
    ends_input = True
    """A command sees the end of what is written to it."""

    chatter = b"$^"
    """Pattern of what the cluster itself says of a failure, among the error output."""
    broken = ""
    """Reason of an end by which the bed, not the driver, may cut a command's output short."""
    terminal: tuple[str, ...] = ()
    """What gives a shell a session of its own; empty: the cluster does that."""

    def ended(self, end: Ended | None, code: int) -> None:
        if self.tells_codes or code == 0:
            assert end == Ended(code)
        else:
            assert end is not None
            assert end.code is None
            assert f"exit status {code}" in end.reason

    def entered_gang(self, driver: Driver) -> AttemptRef:
        ref = self.created(driver, Script.TALK_ON, replicas=2)
        self.running(driver, ref)
        wait_for(lambda: driver.read_log(ref, "worker-0", 0, 1000).data, seconds=self.seconds)
        wait_for(lambda: self._lets_in(driver, ref, "worker-0"), seconds=self.seconds)
        wait_for(lambda: self._lets_in(driver, ref, "worker-1"), seconds=self.seconds)
        return ref

    @staticmethod
    def _lets_in(driver: Driver, ref: AttemptRef, replica: str) -> bool:
        return said(entered(driver, ref, "true", replica=replica))[1] == Ended(0)

    def test_people_are_let_into_replicas(self, driver: Driver) -> None:
        ref = self.entered_gang(driver)
        self._input_outputs_and_exit_code(driver, ref)
        self._terminals_side_by_side(driver, ref)
        self._what_cannot_be_started(driver, ref)
        self._what_is_closed(driver, ref)
        assert driver.observe(ref).replicas[0].exit_code is None

    def _fed(self, driver: Driver, ref: AttemptRef) -> tuple[Shell, dict[int, bytes], Ended | None]:
        """A command that reads much and answers it, over."""
        read = "cat" if self.ends_input else "head -c 300000"
        shell = entered(driver, ref, "sh", "-c", f"{read}; echo good; echo bad >&2; exit 7")

        def feed() -> None:
            shell.write(b"x" * 300_000)
            shell.end_input()

        feeder = threading.Thread(target=feed)
        feeder.start()
        out, end = said(shell)
        feeder.join()
        return shell, out, end

    def _input_outputs_and_exit_code(self, driver: Driver, ref: AttemptRef) -> None:
        tries = (self._fed(driver, ref) for _ in range(5))
        shell, out, end = next(
            one for one in tries if not self.broken or one[2] != Ended(None, self.broken)
        )
        assert out[STDOUT] == b"x" * 300_000 + b"good\n"
        assert re.sub(self.chatter, b"", out[STDERR]) == b"bad\n"
        self.ended(end, 7)
        assert shell.read() == end
        words = ("a b", "$HOME", "'", '"', "\\", "ä", "-n", "*", "")
        out, end = said(entered(driver, ref, "printf", "[%s]", *words))
        assert out[STDOUT].decode() == "".join(f"[{word}]" for word in words)
        assert end == Ended(0)

    def _terminals_side_by_side(self, driver: Driver, ref: AttemptRef) -> None:
        """Each with its own size, which changes."""
        first = entered(driver, ref, tty=True)
        second = entered(driver, ref, tty=True, replica="worker-1")
        first.write(b"tty; stty size; echo $TERM done\r")
        out, _ = said(first, lambda text: b"xterm-256color done" in text)
        assert b"/dev/pts/" in out[STDOUT]
        assert b"33 91" in out[STDOUT]
        first.resize(Size(120, 40))
        first.resize(Size(0, 10**6))
        first.write(b"stty size\r")
        said(first, lambda text: b"40 120" in text)
        second.write(b"stty size\r")
        said(second, lambda text: b"33 91" in text)
        second.write(b"exit 4\r")
        self.ended(said(second)[1], 4)
        first.write(b"exit 3\r")
        self.ended(said(first)[1], 3)

    def _what_cannot_be_started(self, driver: Driver, ref: AttemptRef) -> None:
        """Refused at once or, where only the place itself knows, an end with words."""
        assert isinstance(driver, ShellOpener)
        told = driver.open_shell(ref, "worker-0", ShellRequest(("no-such-program",), tty=False))
        if isinstance(told, Refused):
            assert "no-such-program" in told.reason
        else:
            assert isinstance(told, Shell)
            out, end = said(told)
            self.ended(end, 127)
            assert b"no-such-program" in out[STDERR]
        for name in ("worker-2", "../x", "worker-0/..", "worker-0 ; true", ""):
            assert isinstance(driver.open_shell(ref, name, ShellRequest()), Refused), name

    def _what_is_closed(self, driver: Driver, ref: AttemptRef) -> None:
        """It ends, with what it started, whether or not that wants to."""
        marks = tuple(str(600 + secrets.randbelow(10**9) / 10**9) for _ in range(3))
        trap = f"trap '' HUP TERM; echo up; sleep {marks[1]} & wait"
        shells = [
            entered(driver, ref, *self.terminal, tty=True),
            entered(driver, ref, "sh", "-c", trap),
            entered(driver, ref, "sh", "-c", f": {marks[2]}; while :; do echo yes; done", tty=True),
        ]
        shells[0].write(f"sleep {marks[0]}\r".encode())
        wait_for(lambda: all(processes((mark,)) for mark in marks), seconds=self.seconds)
        for shell in shells:
            shell.close()
            assert said(shell)[1] == Ended(None, CLOSED)
        wait_for(lambda: not processes(marks), seconds=self.seconds)

    def test_the_end_of_a_session_ends_what_runs_beside_its_replicas(self, driver: Driver) -> None:
        """They sleep and wait for people, who work in several at once."""
        ref = self.created(driver, Script.WAIT, replicas=2)
        self.running(driver, ref)
        names = ("worker-0", "worker-1")
        wait_for(lambda: all(self._lets_in(driver, ref, n) for n in names), seconds=self.seconds)
        shells = [entered(driver, ref, tty=True, replica=name) for name in names]
        for shell in shells:
            shell.write(b"echo $((40 + 2))\r")
            said(shell, lambda text: b"42" in text)
        driver.suspend(ref)
        assert [said(shell)[1] for shell in shells] == [Ended(None, REPLICA_ENDED)] * 2
        self.over(driver, ref)
        assert isinstance(driver, ShellOpener)
        refused = driver.open_shell(ref, "worker-0", ShellRequest())
        assert refused == Refused(REPLICA_ENDED)
