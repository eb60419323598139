"""Commands beside the container of a running pod, through the API server."""

import contextlib
import json
import os
import secrets
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from gangline.drivers.base import AttemptRef, Busy, Refused, Unknown
from gangline.drivers.shells import (
    CLOSED,
    PIECE,
    REPLICA_ENDED,
    STDERR,
    STDIN,
    STDOUT,
    Ended,
    Output,
    ShellRequest,
    Size,
)

from . import deadlines, errors
from .client import Client, Doubt, parsed, understood
from .exec_line import CLOSE, RESIZE, STATUS, Line, NotOpened, opened
from .objects import Objects
from .pods import Pod
from .resources import PODS
from .wording import cleaned

NO_SHELL = "There is no /bin/sh in the pod's image, which is needed to enter it."
BROKEN = "The connection to the cluster broke."
NOT_RUN = "The cluster says of the command: {}."
NOT_RUNNING = "The pod does not run yet."
MOST_WAITING = 1 << 18
"""Bytes that may wait for the network."""
ALIVE_EVERY, ALIVE_COUNT = 20.0, 2
"""Seconds of silence after which the other side is asked whether it is there, and how often."""
LAST_WORDS = 2.0
"""Seconds that an end which was told may take to close the line."""
SETTLE_SECONDS = 3.0
"""In which an end of the pod, that took the command along, is known."""
TAKEN_ALONG = frozenset({129, 137, 143})
"""How programs end that somebody ends; the pod may have."""
GRACE = 2
MARK = "GANGLINE_VISIT"
ENTER = (
    f'{MARK}=$1.$$; export {MARK}; [ -z "$2" ] || export TERM="$2"; shift 2\n'
    'if [ $# -gt 0 ]; then command -v "$1" > /dev/null && exec "$@"\n'
    """echo "There is no program '$1' in the pod." >&2; exit 127; fi\n"""
    "command -v bash > /dev/null && exec bash; exec /bin/sh"
)
"""Marks whatever it starts, so that this can be found again."""
LEAVE = f"""\
found() {{
  for place in $(grep -ls "{MARK}=$1\\." /proc/[0-9]*/environ); do
    own=$(tr '\\0' '\\n' < $place | sed -n "s/^{MARK}=$1\\.//p")
    place=${{place#/proc/}} place=${{place%/environ}}
    read -r line < /proc/$place/stat || continue
    set -- "$1" ${{line##*)}}
    # What a program has left behind on purpose belongs to the first process of the pod.
    [ "$3" = 1 ] && [ "$own" != "$place" ] || echo "$place"
  done
}}
exec 2> /dev/null
all=$(found "$1"); [ -z "$all" ] || kill -HUP $all; kill -CONT $all
for each in {" ".join(["."] * GRACE)}; do sleep 1; all=$(found "$1"); [ -n "$all" ] || exit 0; done
kill -KILL $all
"""
"""Ends what a terminal that is closed leaves: container runtimes let it run on for ever."""


class Visiting:
    """Lets people into the pods of one cluster."""

    def __init__(self, client: Client, objects: Objects) -> None:
        self.client, self.objects = client, objects

    def visit(
        self, ref: AttemptRef, replica: str, request: ShellRequest
    ) -> "KubernetesShell | Refused | Unknown | Busy":
        """Start a command in a replica."""
        try:
            with understood(f"the pods of {ref.name}"):
                pod = self._pod(ref, replica)
            if pod is None or pod.is_over or pod.deleting_at is not None:
                return Refused(REPLICA_ENDED)
            if not pod.is_running:
                return Refused(pod.waiting or NOT_RUNNING)
            visit = secrets.token_hex(8)
            term = "xterm-256color" if request.tty else ""
            words = ("/bin/sh", "-c", ENTER, "sh", visit, term, *request.command)
            line = self._line(pod, words, tty=request.tty, stdin=True)
        except NotOpened as refusal:
            if refusal.answer.status == 404:
                return Refused(REPLICA_ENDED)
            result = errors.result(refusal.answer)
            return result if isinstance(result, Refused | Busy | Unknown) else Unknown(BROKEN)
        except Doubt as why:
            if why.retry_after is not None:
                return Busy(why.retry_after, str(why), is_for_all=True)
            return Unknown(str(why))

        def has_ended() -> bool:
            return self._has_ended(ref, replica, pod.uid)

        shell = KubernetesShell(line, request.tty, has_ended, lambda: self._leave(pod, visit))
        shell.resize(request.size)
        return shell

    def _pod(self, ref: AttemptRef, replica: str) -> Pod | None:
        its = [pod for pod in self.objects.pods(ref) if pod.replica == replica]
        return max(its, key=lambda pod: (pod.is_running, not pod.is_over), default=None)

    def _line(self, pod: Pod, words: tuple[str, ...], *, tty: bool, stdin: bool) -> Line:
        query = [("container", pod.container)] if pod.container else []
        query += [("stdin", _word(stdin)), ("stdout", "true"), ("stderr", _word(not tty))]
        query += [("tty", _word(tty)), *(("command", word) for word in words)]
        return opened(self.client, PODS.path(pod.namespace, pod.name, "exec"), query)

    @deadlines.in_time
    def _has_ended(self, ref: AttemptRef, replica: str, uid: str) -> bool:
        try:
            with understood(f"the pods of {ref.name}"):
                its = [pod for pod in self.objects.pods(ref) if pod.uid == uid]
        except Doubt:
            return False
        return all(pod.is_over or pod.deleting_at is not None for pod in its)

    def _leave(self, pod: Pod, visit: str) -> None:
        """End in the pod what was started there."""
        try:
            words = ("/bin/sh", "-c", LEAVE, "sh", visit)
            line = deadlines.in_time(self._line)(pod, words, tty=False, stdin=False)
        except (NotOpened, Doubt):
            return  # the pod is gone, or its cluster
        shell = KubernetesShell(line, False, lambda: False, lambda: None)
        threading.Timer(GRACE * 5, shell.close).start()
        while not isinstance(shell.read(), Ended):
            pass


def _word(yes: bool) -> str:
    return "true" if yes else "false"


class KubernetesShell:
    """See `gangline.drivers.shells.Shell`.

    ``has_ended`` tells whether the pod has; ``leave`` ends what a closed line leaves behind.
    """

    def __init__(
        self, line: Line, tty: bool, has_ended: Callable[[], bool], leave: Callable[[], None]
    ) -> None:
        self._line, self._tty = line, tty
        self._has_ended, self._leave = has_ended, leave
        self._wake, self._waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._guard = threading.Lock()
        """Around the line, and the descriptors that ``read`` closes in the end."""
        self._writing = threading.Lock()
        self._found: deque[Output] = deque()
        self._told: Any = None
        """What the API server says of the end."""
        self._asked = 0
        self._input_ended = self._closed = self._over = False
        self._end = Ended(None, REPLICA_ENDED)

    def read(self) -> Output | Ended:
        while not self._over or self._found:
            if self._found:
                return self._found.popleft()
            self._wait()
            with self._guard:
                for channel, data in self._line.receive():
                    self._take(channel, data)
                is_over = self._closed or self._line.is_over
            if is_over and not self._found:
                self._finish()
        return self._end

    def _wait(self) -> None:
        """Until something may have come."""
        with self._guard:
            if self._line.has_more or self._line.is_over:
                return
            poll = select.poll()
            poll.register(self._wake, select.POLLIN)
            wanted = select.POLLIN | (select.POLLOUT if self._line.waiting else 0)
            poll.register(self._line.fileno(), wanted)
        if poll.poll((ALIVE_EVERY if self._told is None else LAST_WORDS) * 1000):
            self._asked = 0
            return
        with self._guard:
            self._asked += 1
            if self._told is not None or self._asked > ALIVE_COUNT:
                self._line.is_over = True
            else:
                self._line.ping()

    def _take(self, channel: int, data: bytes) -> None:
        if channel in (STDOUT, STDERR):
            kind = STDOUT if self._tty else channel
            for at in range(0, len(data), PIECE):
                self._found.append(Output(kind, data[at : at + PIECE]))
        elif channel == STATUS:
            self._told = parsed(data)

    def _finish(self) -> None:
        told = self._told
        is_left = self._closed and told is None
        end = Ended(None, CLOSED) if is_left else self._judged(told)
        with self._guard:
            self._end, self._over = end, True
            for fd in (self._wake, self._waker):
                os.close(fd)
            if not is_left:
                self._line.close()
                return
        threading.Thread(target=self._depart, name="leave", daemon=True).start()

    def _depart(self) -> None:
        """Only then the line: some clusters kill the command with it, and leave its children."""
        self._leave()
        with self._guard:
            self._line.close()

    def _judged(self, told: Any) -> Ended:
        """https://pkg.go.dev/k8s.io/apimachinery/pkg/util/remotecommand#pkg-constants"""
        status = told if isinstance(told, dict) else {}
        if status.get("status") == "Success":
            return Ended(0)
        code = _exit_code(status)
        if code is not None and code not in TAKEN_ALONG:
            return Ended(code)
        message = " ".join(str(status.get("message") or "").split())
        if self._settles(0.0 if message and code is None else SETTLE_SECONDS):
            return Ended(None, REPLICA_ENDED)
        if code is not None:
            return Ended(code)
        if "/bin/sh" in message and ("no such file" in message or "not found" in message):
            return Ended(None, NO_SHELL)
        # What stands before may repeat the command, whose words may hold secrets.
        why = cleaned(message.removesuffix(": unknown").rpartition(": ")[2]).rstrip(".")
        return Ended(None, NOT_RUN.format(why) if why else BROKEN)

    def _settles(self, seconds: float) -> bool:
        """Whether the pod has ended, which may be known a moment later than the command's end."""
        until = time.monotonic() + seconds
        while not self._has_ended():
            if self._closed or time.monotonic() > until:
                return False
            time.sleep(0.3)
        return True

    def write(self, data: bytes) -> None:
        with self._writing:
            for at in range(0, len(data), PIECE):
                with self._guard:
                    if self._input_ended or self._over:
                        return
                    self._line.send(STDIN, data[at : at + PIECE])
                if not self._has_room():
                    return

    def _has_room(self) -> bool:
        """Wait for it; False once nobody reads any more."""
        while True:
            with self._guard:
                self._line.flush()
                if self._over or self._closed or self._line.is_over:
                    return False
                if self._line.waiting < MOST_WAITING:
                    return True
                poll = select.poll()
                poll.register(self._line.fileno(), select.POLLOUT)
            # It may be closed meanwhile: then this wait is over at once, or by its time.
            poll.poll(50)

    def end_input(self) -> None:
        if self._tty:
            self.write(b"\x04")
            return
        with self._writing, self._guard:
            self._input_ended = True
            if self._line.closes_input and not self._over:
                self._line.send(CLOSE, bytes([STDIN]))

    def resize(self, size: Size) -> None:
        if self._tty and size.is_possible:
            wanted = json.dumps({"Width": size.columns, "Height": size.rows}).encode()
            with self._guard:
                if not self._over:
                    self._line.send(RESIZE, wanted)

    def close(self) -> None:
        with self._guard:
            self._closed = True
            if not self._over:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._waker, b".")


def _exit_code(status: dict[str, Any]) -> int | None:
    causes = (status.get("details") or {}).get("causes") or ()
    for cause in causes:
        if isinstance(cause, dict) and cause.get("reason") == "ExitCode":
            with contextlib.suppress(ValueError):
                return int(str(cause.get("message")))
    return None
