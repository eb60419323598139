"""Commands beside a replica of a running job: a step of the job, on the replica's node.

The command's words lie in a file that only the account can read, never on a command line. The file
is also the lease: whoever takes it away ends the command.
"""

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from gangline.drivers.base import (
    AttemptRef,
    Observation,
    ObservedState,
    Refused,
    ReplicaObservation,
    ReplicaState,
    Unknown,
)
from gangline.drivers.piped import PipedShell
from gangline.drivers.shells import REPLICA_ENDED, ShellRequest

from . import accounts, looks, rendering
from .commands import NoAnswer, Programs, here, quoted
from .login_terminal import Visit
from .observation import Attempt, observe

NOT_RUNNING = "The pod is not running yet."
SUSPICIOUS = frozenset({1, 9, 15, 129, 137, 143})
"""How srun ends where somebody else ended what it has started; the job may be over."""
GRACE = 2
LEASES = "visits"

VISIT = r"""lease=LEASE name=NAME
pid=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "state/$name.start" 2> /dev/null)
where=$(sed -n 's/.*"node":"\([^"]*\)".*/\1/p' "state/$name.start" 2> /dev/null)
child= over= pairs=() folder=$PWD/$name
[ "$where" != "${SLURMD_NODENAME:-}" ] || read -r child rest < "/proc/$pid/task/$pid/children"
if [ -n "$child" ]; then
  # The replica's own variables and folder, wherever they came from.
  while IFS= read -r -d '' pair; do pairs+=("$pair"); done < "/proc/$child/environ"
  folder=$(readlink "/proc/$child/cwd")
else
  # Where only ranks of a launcher run: what that has, and over it what Slurm says of this node.
  if [ -r secrets/launcher ]; then
    while IFS= read -r -d '' pair; do
      pairs+=("$pair")
      [[ $pair != PWD=* ]] || folder=${pair#PWD=}
    done < secrets/launcher
    pairs+=("GANGLINE_REPLICA=$name" "GANGLINE_ROLE=${name%-*}")
    over='@(SLURM|CUDA_VISIBLE_DEVICES=)'
  fi
  while IFS= read -r -d '' pair; do
    [[ $pair != $over* ]] || pairs+=("$pair")
  done < /proc/self/environ
fi 2> /dev/null
[ -z "$term" ] || pairs+=("TERM=$term")
# Who goes away takes this file along, and the end of the replica counts as much.
( trap '' HUP TERM INT
  while kill -0 $$ && [ -e "$lease" ] && { [ -z "$child" ] || kill -0 "$child"; }; do
    sleep 0.5
  done
  kill -HUP $$ && kill -CONT $$ && sleep GRACE
  rm -f "$lease"
  kill -KILL $$ && kill -KILL -- -$$
) < /dev/null > /dev/null 2>&1 &
cd "$folder" 2> /dev/null || cd /
exec env -i "${pairs[@]}" bash -c '
  if [ $# -gt 0 ]; then
    command -v "$1" > /dev/null && exec "$@"
    printf "There is no program %s in the pod.\n" "$1" >&2; exit 127
  fi
  exec bash' bash "${words[@]}"
"""


class Visiting:
    """Lets people into the jobs of one cluster."""

    def __init__(
        self, programs: Programs, base: str, look: Callable[[AttemptRef], Attempt]
    ) -> None:
        self.programs, self.base, self.look = programs, base, look

    def visit(
        self, ref: AttemptRef, replica: str, request: ShellRequest
    ) -> PipedShell | Refused | Unknown:
        """Start a command in a replica."""
        try:
            here_ = self.look(ref)
            seen = observe(here_)
            if seen.state is ObservedState.UNKNOWN:
                return Unknown(seen.reason)
            one = _of(seen, replica)
            if one is None or here_.job is None:
                return Refused(REPLICA_ENDED)
            if one.state is not ReplicaState.RUNNING or not one.node:
                return Refused(NOT_RUNNING)
            return self._entered(ref, here_.job.number, one, request)
        except NoAnswer as why:
            return Unknown(str(why))

    def _entered(
        self, ref: AttemptRef, job: int, one: ReplicaObservation, request: ShellRequest
    ) -> PipedShell | Refused:
        lease = f"{LEASES}/{secrets.token_hex(8)}"
        run = looks.folder(self.base, ref.install, accounts.key_of(ref))
        prepared = self.programs.run(
            f"cd {run} && mkdir -p {LEASES} || {{ echo gone; exit 0; }}\n"
            + here(_visit(lease, one.name, request), lease)
        )
        if prepared.code or prepared.out.strip() == "gone":
            return Refused(REPLICA_ENDED)

        def has_ended() -> bool:
            try:
                return _of(observe(self.look(ref)), one.name) is None
            except NoAnswer:
                return False

        def code_of(code: int | None) -> int | None:
            """None: not the command has ended, but the job."""
            return None if code is None or (code in SUSPICIOUS and has_ended()) else code

        def left() -> None:
            try:
                self.programs.run(f"cd {run} && rm -f {lease}")
            except NoAnswer:
                return

        text = f"cd {run} && exec {_srun(ref.rendered or {}, job, one, request.tty)} bash {lease}"
        return self.programs.visit(text, Visit(request, has_ended, code_of, left))


def _of(seen: Observation, replica: str) -> ReplicaObservation | None:
    """The replica, unless it is over or about to be."""
    if seen.state not in (ObservedState.RUNNING, ObservedState.STARTING, ObservedState.UNKNOWN):
        return None
    over = (ReplicaState.SUCCEEDED, ReplicaState.FAILED, ReplicaState.STOPPED)
    found = next((one for one in seen.replicas if one.name == replica), None)
    if seen.state is ObservedState.UNKNOWN:
        return ReplicaObservation("", 0, 0, ReplicaState.UNKNOWN)
    return None if found is None or found.state in over else found


def _visit(lease: str, name: str, request: ShellRequest) -> str:
    words = " ".join(map(quoted, request.command))
    term = "xterm-256color" if request.tty else ""
    text = VISIT.replace("LEASE", lease).replace("NAME", name, 1).replace("GRACE", str(GRACE))
    return f"words=({words}) term={term}\n{text}"


def _srun(native: Mapping[str, Any], job: int, one: ReplicaObservation, tty: bool) -> str:
    options = [f"--jobid={job}", "--overlap", "--nodes=1", "--ntasks=1", "--mem=0"]
    options += [f"--nodelist={quoted(one.node)}", "--quiet"]
    components = rendering.components(native)
    if len(components) > 1:
        options.append(f"--het-group={_component(components, one.rank)}")
    options += ["--pty"] if tty else ["--unbuffered"]
    return " ".join(["srun", *options])


def _component(components: Any, rank: int) -> int:
    """Which part of a heterogeneous job a rank is in: they follow one another."""
    for number, (tasks, _) in enumerate(components):
        if rank < tasks:
            return number
        rank -= tasks
    return 0
