"""Commands beside the container of a running pod, and connections to ports, by the API server."""

import contextlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from gangline.drivers.base import AttemptRef, Busy, Refused, Unknown
from gangline.drivers.shells import (
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
from .exec_line import CLOSE, RESIZE, STATUS, V4, Line, NotOpened, opened
from .objects import Objects
from .pod_stream import Talk, pieces
from .pods import Pod
from .ports import KubernetesConnection
from .resources import PODS
from .wording import cleaned

T = TypeVar("T")
NO_SHELL = "There is no /bin/sh in the pod's image, which is needed to enter it."
BROKEN = "The connection to the cluster was lost."
NOT_RUN = "The cluster reported for the command: {}."
NOT_RUNNING = "The pod is not running yet."
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
        visit = secrets.token_hex(8)
        term = "xterm-256color" if request.tty else ""
        words = ("/bin/sh", "-c", ENTER, "sh", visit, term, *request.command)

        def started(pod: Pod, has_ended: Callable[[], bool]) -> KubernetesShell:
            line = self._line(pod, words, tty=request.tty, stdin=True)
            shell = KubernetesShell(line, request.tty, has_ended, lambda: self._leave(pod, visit))
            shell.resize(request.size)
            return shell

        return self._inside(ref, replica, started)

    def connect(
        self, ref: AttemptRef, replica: str, port: int
    ) -> KubernetesConnection | Refused | Unknown | Busy:
        """Connect to a port of a replica. Whether anything listens there is told afterwards."""

        def connected(pod: Pod, has_ended: Callable[[], bool]) -> KubernetesConnection:
            path = PODS.path(pod.namespace, pod.name, "portforward")
            line = opened(self.client, path, [("ports", str(port))], speaks=(V4,))
            return KubernetesConnection(line, port, has_ended)

        return self._inside(ref, replica, connected)

    def _inside(
        self, ref: AttemptRef, replica: str, start: Callable[[Pod, Callable[[], bool]], T]
    ) -> T | Refused | Unknown | Busy:
        """What ``start`` makes of the running pod, and of what tells whether that has ended."""
        try:
            with understood(f"the pods of {ref.name}"):
                pod = self._pod(ref, replica)
            if pod is None or pod.is_over or pod.deleting_at is not None:
                return Refused(REPLICA_ENDED)
            if not pod.is_running:
                return Refused(pod.waiting or NOT_RUNNING)
            return start(pod, partial(self._has_ended, ref, pod.uid))
        except NotOpened as refusal:
            if refusal.answer.status == 404:
                return Refused(REPLICA_ENDED)
            result = errors.result(refusal.answer)
            return result if isinstance(result, Refused | Busy | Unknown) else Unknown(BROKEN)
        except Doubt as why:
            if why.retry_after is not None:
                return Busy(why.retry_after, str(why), is_for_all=True)
            return Unknown(str(why))

    def _pod(self, ref: AttemptRef, replica: str) -> Pod | None:
        its = [pod for pod in self.objects.pods(ref) if pod.replica == replica]
        return max(its, key=lambda pod: (pod.is_running, not pod.is_over), default=None)

    def _line(self, pod: Pod, words: tuple[str, ...], *, tty: bool, stdin: bool) -> Line:
        query = [("container", pod.container)] if pod.container else []
        query += [("stdin", _word(stdin)), ("stdout", "true"), ("stderr", _word(not tty))]
        query += [("tty", _word(tty)), *(("command", word) for word in words)]
        return opened(self.client, PODS.path(pod.namespace, pod.name, "exec"), query)

    @deadlines.in_time
    def _has_ended(self, ref: AttemptRef, uid: str) -> bool:
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


class KubernetesShell(Talk):
    """See `gangline.drivers.shells.Shell`.

    ``has_ended`` tells whether the pod has; ``leave`` ends what a closed line leaves behind.
    """

    def __init__(
        self, line: Line, tty: bool, has_ended: Callable[[], bool], leave: Callable[[], None]
    ) -> None:
        super().__init__(line)
        self._tty = tty
        self._has_ended, self._leave = has_ended, leave

    def _take(self, channel: int, data: bytes) -> Iterable[Output]:
        if channel in (STDOUT, STDERR):
            return pieces(STDOUT if self._tty else channel, data)
        if channel == STATUS:
            self._told = parsed(data)
        return ()

    def _depart(self) -> None:
        threading.Thread(target=self._ended_there, name="leave", daemon=True).start()

    def _ended_there(self) -> None:
        """Only then the line: some clusters kill the command with it, and leave its children."""
        self._leave()
        self._hang_up()

    def _judged(self) -> Ended:
        """https://pkg.go.dev/k8s.io/apimachinery/pkg/util/remotecommand#pkg-constants"""
        status = self._told if isinstance(self._told, dict) else {}
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

    def end_input(self) -> None:
        if self._tty:
            self.write(b"\x04")
            return
        with self._writing, self._guard:
            self._input_ended = True
            if self._line.closes_input and not self._over:
                self._send(CLOSE, bytes([STDIN]))

    def resize(self, size: Size) -> None:
        if self._tty and size.is_possible:
            wanted = json.dumps({"Width": size.columns, "Height": size.rows}).encode()
            with self._guard:
                if not self._over:
                    self._send(RESIZE, wanted)


def _exit_code(status: dict[str, Any]) -> int | None:
    causes = (status.get("details") or {}).get("causes") or ()
    for cause in causes:
        if isinstance(cause, dict) and cause.get("reason") == "ExitCode":
            with contextlib.suppress(ValueError):
                return int(str(cause.get("message")))
    return None
