"""Jobs on the cluster that Gangline has not made: listed by one ``squeue``, shown, cancelled."""

import re
import secrets
from collections.abc import Iterator

from gangline.drivers.base import Done, Refused, Result, Unknown
from gangline.drivers.jobs import OthersJob

from . import looks, states
from .commands import Programs, plain, quoted

NUMBER = re.compile(r"[0-9]{1,10}(?:_[0-9]{1,7})?")
MOST = 2000
_FORMAT = "%i|%u|%T|%P|%D|%Q|%V|%S|%l|%r|%k|%j"
"""Comment and name last: people write them."""
LONGEST_SCRIPT = 200_000


def others(programs: Programs, install: str) -> list[OthersJob]:
    """Raises NoAnswer."""
    # A name may hold a new line: only rows with this call's own mark are squeue's.
    mark = secrets.token_hex(8)
    program = (
        f"jobs=$(squeue -h -r -o '{mark}|{_FORMAT}' 2>&1)"
        " || { printf 'away %s\\n' \"$jobs\" | head -n 1; exit 0; }\n"
        f"printf '%s\\n' \"$jobs\" | grep '^{mark}|' | head -n {MOST + 1}\necho end"
    )
    answer = programs.run(program)
    lines = answer.out.splitlines()
    if not lines or lines[-1] != "end":
        said = plain(answer.out.partition("away ")[2]) or answer.words
        raise looks.Unreachable(f"Slurm does not answer: {said}.")
    return list(_read(lines[:-1], install))


def _read(rows: list[str], install: str) -> Iterator[OthersJob]:
    for row in rows:
        parts = row.split("|", 11)
        if len(parts) != 12 or parts[11].startswith(f"{looks.MARK}:{install}:"):
            continue
        _, number, owner, state, pool, nodes, priority, sent, start, limit, reason, rest = parts
        yield OthersJob(
            number=number.partition("+")[0],
            name=rest.rpartition("|")[2][:200],
            owner=owner,
            state=state,
            reason=states.waits_for(reason) if state in states.WAITS else "",
            pool=pool,
            nodes=int(nodes) if nodes.isdigit() else 0,
            priority=int(priority) if priority.isdigit() else 0,
            submitted_at=looks.time_of(sent),
            started_at=looks.time_of(start),
            time_limit=limit,
        )


def text(programs: Programs, number: str) -> str | Unknown:
    """Raises NoAnswer."""
    if not NUMBER.fullmatch(number):
        return Unknown(f"“{number[:40]}” is not a job number.")
    program = (
        f"scontrol show job {quoted(number)} || exit 66\n"
        f"scontrol write batch_script {quoted(number)} - 2> /dev/null | head -c {LONGEST_SCRIPT}"
    )
    answer = programs.run(program)
    if answer.code == 66:
        return Unknown(f"Slurm reported: {answer.words}.")
    return answer.out


def cancel(programs: Programs, install: str, number: str) -> Result:
    """Raises NoAnswer."""
    if not NUMBER.fullmatch(number):
        return Refused(f"“{number[:40]}” is not a job number.")
    one = quoted(number)
    program = (
        f'told=$(squeue -h -r -j {one} -o %k 2>&1) || {{ printf %s "$told" >&2; exit 66; }}\n'
        f"case $told in {quoted(f'{looks.MARK}:{install}:')}*) exit 67 ;; esac\n"
        f"scancel {one}"
    )
    answer = programs.run(program)
    if answer.code == 67:
        return Refused("It belongs to a workload. Stop or delete the workload.")
    if answer.code or "error" in answer.err:
        return Refused(f"Slurm reported: {answer.words}.")
    return Done()
