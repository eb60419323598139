"""The life of one replica: claim, start, watch, end, record. One process per replica runs this."""

import os
import resource
import select
import signal
import time
from typing import Any

from gangline.drivers.logs.output import LogWriter
from gangline.drivers.logs.segments import Limits

from . import command, files, gang_end, tree, words
from .gang import Gang
from .memory import Memory
from .sampler import Sampler
from .visitors import Door

KILL_PAUSE = 0.02
KILL_PATIENCE = 10.0
RING_EVERY = 1.0
NOT_FETCHED = 126
"""Exit code of a replica that did not get what its command needs."""


def run(folder: str, plan: dict[str, Any], name: str) -> int:
    """Run replica ``name`` to its end. Returns the exit code of the shim."""
    replica = next(r for r in plan["replicas"] if r["name"] == name)
    life = _Life(folder, plan, replica)
    if not life.claim():
        return files.LATE
    if life.is_late():
        life.record(state="Stopped", reason=gang_end.never_started_because(life.end))
        return files.LATE
    try:
        return life.live()
    except BaseException as problem:
        life.give_up(problem)
        raise


class _Life:
    def __init__(self, folder: str, plan: dict[str, Any], replica: dict[str, Any]) -> None:
        self.plan, self.replica, self.name = plan, replica, str(replica["name"])
        self.ctl = f"{folder}/ctl"
        self.runs = str(plan["runs"])
        self.address = f"{plan['workload']}/{plan['attempt']}/{self.name}"
        self.began = time.time()
        self.gang = Gang(self.ctl, plan, self.name)
        self.end: dict[str, Any] | None = None
        self.told_at: float | None = None
        """When the command was first asked to end (monotonic); None: never."""
        self.own_stop = ""
        """Why this shim ends its command by itself (memory, workers done)."""
        self.own_failure = False
        self.asked_to_end = False
        self.termed: set[tree.Process] = set()

    def claim(self) -> bool:
        started = tree.start_time(os.getpid())
        claim = {
            "pid": os.getpid(),
            "start_time": started,
            "boot_id": files.boot_id(),
            "time": self.began,
        }
        if not files.write_once(f"{self.ctl}/claims/{self.name}", claim):
            return False
        files.ring(self.runs, f"{self.address} claim")
        return True

    def is_late(self) -> bool:
        """Read only after the claim is on disk, so that the one who ends sees it or is seen."""
        return os.path.exists(f"{self.ctl}/{files.CANCELLED}") or self._look_for_end()

    def live(self) -> int:
        command.become_reaper()
        self._listen()
        self.memory = Memory(self.replica, self.plan)
        segment, *_, cap = self.plan["log"]  # plans of 0.2 have a third figure between
        self.log = LogWriter(self.replica["log"], Limits(segment, cap))
        self.sampler = Sampler(self.replica, os.path.dirname(self.replica["log"]))
        if self.replica["scratch"]:
            os.makedirs(self.replica["scratch"], mode=0o700, exist_ok=True)
        started = self._fetched() or command.start(self.replica)
        if isinstance(started, command.Refusal):
            self.gang.fail_for_good(started.reason)
            self.log.notice(started.reason)
            self.log.close()
            if self.end is not None and started.code == NOT_FETCHED:
                self.record(state="Stopped", reason=gang_end.stopped_because(self.end))
                return 0
            self.record(state="Failed", reason=started.reason, code=started.code)
            return 0
        self.pid = started.pid
        self.sampler.begin()
        self.pipes = {started.stdout: b"stdout", started.stderr: b"stderr"}
        self._tell_started(self.name, tree.Process(started.pid, tree.start_time(started.pid) or 0))
        self.door = Door(self.ctl, self.name)
        status = self._watch()
        self.door.close()
        self._end_leftovers()
        self.sampler.end()
        self._drain()
        files.once_there_is_room(self.log.tell_lost)
        self.log.close()
        if self.replica["scratch"]:
            import shutil  # 30 ms that the start of a gang need not wait for

            shutil.rmtree(self.replica["scratch"], ignore_errors=True)
        self._finish(status)
        return 0

    def _fetched(self) -> command.Refusal | None:
        """None once everything is there that must be before the command."""
        steps = self.replica.get("fetches")
        if not steps:
            return None
        from . import arrival

        reason = arrival.fetch(steps, self.log, self._is_told_to_end)
        return None if reason is None else command.Refusal(NOT_FETCHED, reason)

    def _is_told_to_end(self) -> bool:
        if self.asked_to_end:
            self.asked_to_end = False
            gang_end.request(
                self.ctl, cause=gang_end.SIGNAL, grace=self.plan["grace"], replica=self.name
            )
        return self._look_for_end()

    def record(self, *, state: str, reason: str, **facts: Any) -> None:
        """Write the exit record, whole, and ring."""
        value = {"state": state, "reason": reason, "began": self.began, "ended": time.time()}
        value |= {"code": None, "signal": None, "by": ""} | facts
        # Without this record the result would be lost.
        files.once_there_is_room(lambda: files.write_over(f"{self.ctl}/exits/{self.name}", value))
        files.ring(self.runs, f"{self.address} exit")

    def give_up(self, problem: BaseException) -> None:
        """A fault of ours: end everything below and say so rather than leave it unwatched."""
        self._kill_all()
        reason = f"The supervisor of the process failed: {type(problem).__name__}: {problem}."
        self.gang.fail(reason)
        self.record(state="Failed", reason=reason)

    def _listen(self) -> None:
        self.bell = gang_end.EndBell(self.ctl)
        self.wake, wake_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.signal(signal.SIGTERM, self._on_term)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        self.poll = select.poll()
        for fd in (self.wake, self.bell.fd):
            if fd >= 0:
                self.poll.register(fd, select.POLLIN)

    def _on_term(self, number: int, frame: object) -> None:
        self.asked_to_end = True

    def _watch(self) -> int:
        """Until the command itself has ended. Returns its wait status."""
        for fd in (*self.pipes, self.door.fd):
            if fd >= 0:
                self.poll.register(fd, select.POLLIN)
        next_tick = time.monotonic()
        while True:
            ready = {fd for fd, _ in self.poll.poll(self._patience(next_tick) * 1000)}
            if self.wake in ready:
                os.read(self.wake, 4096)
            if self.bell.fd in ready:
                self.bell.clear()
            for fd in ready & self.pipes.keys():
                self._read(fd)
            if self.door.fd in ready:
                self.door.answer(self.replica, self.pid)
            status = self._reap()
            if status is not None:
                return status
            self._end_when_told()
            if time.monotonic() >= next_tick:
                next_tick = time.monotonic() + self._tick()

    def _patience(self, next_tick: float) -> float:
        until = [next_tick - time.monotonic(), self.bell.interval]
        if self.told_at is not None:
            until.append(self.told_at + self._grace() - time.monotonic())
            # Until somebody could be asked to end, and once it is time to kill, look often.
            until = [max(min(until), 0.02)] if self.termed else [0.05]
        return max(0.001, min(until))

    def _tick(self) -> float:
        """What is looked at now and then. Returns seconds to the next look."""
        self.log.flush_idle()
        pause = self.memory.look(self.pid)
        if self.memory.excess and not self.own_stop:
            self.own_stop, self.own_failure = self.memory.excess, True
            self.gang.fail(self.own_stop)
        if self.replica.get("serves") and not self.own_stop and self.gang.is_served():
            self.own_stop = words.NO_LONGER_NEEDED
        for rank, process in self.gang.new_ranks(self.memory.processes):
            self._tell_started(rank, process)
            self.sampler.add_rank(rank, process)
        if self.sampler.is_due(time.time()):
            self.sampler.sample(self.memory.processes)
        if self.told_at is None:
            self.gang.look_after_others(self.began)
        return min(pause, RING_EVERY, self.gang.pause)

    def _look_for_end(self) -> bool:
        if self.end is None:
            self.end = gang_end.read(self.ctl)
        return self.end is not None

    def _end_when_told(self) -> None:
        if not self._is_told_to_end() and not self.own_stop:
            return
        now = time.monotonic()
        if self.told_at is None:
            self.told_at = now
        if now >= self.told_at + self._grace():
            self._kill_all()
        elif not self.termed:
            # A sandbox passes no signal on, and ends at once itself: ask the command inside. Its
            # children hear of it from the command, which may need them to save its work.
            depth = 3 if self.replica["sandbox"] else 1
            below, visits = tree.descendants(os.getpid()), self.door.inside()
            self.termed = {p for p in below if p.depth == depth and p.pid not in visits}
            for process in self.termed:
                tree.send(process, signal.SIGTERM)

    def _grace(self) -> float:
        return float(self.end["grace"]) if self.end else self.gang.failure_grace

    def _kill_all(self) -> None:
        for process in tree.descendants(os.getpid()):
            tree.send(process, signal.SIGKILL)

    def _reap(self) -> int | None:
        """Collect whatever ended below; the status of the command once it is among it."""
        found = None
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return found
            if pid == 0:
                return found
            if pid == self.pid:
                found = status
            self.door.ended(pid)

    def _end_leftovers(self) -> None:
        """Nothing of a replica outlives its command."""
        until = time.monotonic() + KILL_PATIENCE
        while tree.descendants(os.getpid()) and time.monotonic() < until:
            self._kill_all()
            time.sleep(KILL_PAUSE)
            self._reap()

    def _read(self, fd: int) -> bool:
        """Move what waits in the pipe to the log; False when the pipe has ended or is empty."""
        try:
            data = os.read(fd, 2**20)
        except BlockingIOError:
            return False
        if not data:
            self.poll.unregister(fd)
            del self.pipes[fd]
            os.close(fd)
            return False
        self.log.write(self.pipes[fd], data)
        return True

    def _drain(self) -> None:
        for fd in list(self.pipes):
            while self._read(fd):
                pass

    def _tell_started(self, name: str, process: tree.Process) -> None:
        value = {"pid": process.pid, "start_time": process.start_time, "time": time.time()}
        files.write_over(f"{self.ctl}/started/{name}", value, sync=False)
        files.ring(self.runs, f"{self.address} start")

    def _finish(self, status: int) -> None:
        code, number = _code_and_signal(status)
        self._look_for_end()
        state, reason, by = self._verdict(code, number)
        if state == "Failed" and self.end is None:
            self.gang.fail_for_good(reason)  # the first failure counts, and this may be it
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.record(
            state=state,
            reason=reason,
            code=code,
            signal=number,
            by=by,
            peak_memory=self.memory.peak,
            cpu_seconds=round(used.ru_utime + used.ru_stime, 3),
            limit=self.memory.limit,
        )

    def _verdict(self, code: int | None, number: int | None) -> tuple[str, str, str]:
        """State, reason, and who ended the command."""
        if self.own_stop:
            state = "Failed" if self.own_failure else "Stopped"
            return state, self.own_stop, "memory" if self.own_failure else "gang"
        if self.end is not None and self.told_at is not None:
            return "Stopped", gang_end.stopped_because(self.end), str(self.end["cause"])
        if code == 0:
            return "Succeeded", "", ""
        killed = self.memory.killed_by_kernel()
        if killed and (number == signal.SIGKILL or code == words.AFTER_SIGNAL + signal.SIGKILL):
            return "Failed", killed, "kernel"
        reason = words.signalled(number) if number else words.exited(code or 0)
        return "Failed", f"{reason} {killed}".strip(), ""


def _code_and_signal(status: int) -> tuple[int | None, int | None]:
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    return os.WEXITSTATUS(status), None
