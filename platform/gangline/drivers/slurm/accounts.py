"""What Slurm's accounting says of a job that nothing else tells of any more.

`squeue` forgets a job some minutes after its end, and its run folder may be gone. Accounting is
asked last: it is late, a site may have none, and it keeps exit codes modulo 128. Numbers of jobs
begin anew some day, so a row counts only where the job has the attempt's own name.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from gangline.drivers.base import AttemptRef

from . import states
from .commands import Programs
from .looks import MISSED, Job, Key, Run, Seen, folder, job_name, joined, time_of

FORMAT = "JobID,JobName,State,ExitCode,Submit,Start,End"
SLACK = timedelta(days=1)
"""By which the clocks of login node and controller may differ."""
_NONE = "is disabled"
"""What sacct says where a site has no accounting."""


def asked(
    programs: Programs, base: str, install: str, refs: Sequence[AttemptRef], seen: Seen
) -> Seen:
    """The same, with what accounting knows of those that Slurm shows no longer. Raises NoAnswer."""
    lost = [ref for ref in refs if _is_lost(ref, seen)]
    back = [ref for ref in refs if key_of(ref) in seen.jobs and MISSED in _run(ref, seen).files]
    if not lost and not back:
        return seen
    answer = programs.run(_program(base, install, lost, back, seen))
    by_number = {_number(ref, seen): ref for ref in lost}
    found: dict[Key, list[Job]] = {}
    in_doubt: set[Key] = set()
    missed: dict[Key, str] = {}
    for line in answer.out.splitlines():
        word, _, rest = line.partition(" ")
        if word == "job":
            _add(rest, by_number, found)
        elif word == "away":
            in_doubt = {key_of(ref) for ref in lost}
        elif word == MISSED:
            place, _, text = rest.partition(" ")
            workload, _, attempt = place.partition("/")
            missed[workload, int(attempt)] = text
    runs = dict(seen.runs)
    for key, text in missed.items():
        runs[key] = Run({**(seen.runs.get(key) or Run()).files, MISSED: text})
    accounted = {key: joined(jobs) for key, jobs in found.items()}
    return replace(seen, runs=runs, accounted=accounted, in_doubt=frozenset(in_doubt))


def key_of(ref: AttemptRef) -> Key:
    return ref.workload, ref.attempt


def _is_lost(ref: AttemptRef, seen: Seen) -> bool:
    """Slurm had it, does not show it, and it has not told of its end."""
    files = _run(ref, seen).files
    is_told = "exit.json" in files or "deleted" in files or "stop" in files
    return key_of(ref) not in seen.jobs and not is_told and bool(_number(ref, seen))


def _run(ref: AttemptRef, seen: Seen) -> Run:
    return seen.runs.get(key_of(ref)) or Run()


def _number(ref: AttemptRef, seen: Seen) -> int:
    """0 where none was recorded."""
    recorded = ref.ext_uid.partition("@")[0]
    told = (_run(ref, seen).record("submitted") or {}).get("job")
    return int(recorded) if recorded.isdigit() else told if isinstance(told, int) else 0


def _program(
    base: str, install: str, lost: Sequence[AttemptRef], back: Sequence[AttemptRef], seen: Seen
) -> str:
    lines = [f"cd {folder(base, install)} || exit 0"]
    lines += [f"rm -f {ref.workload}/{ref.attempt}/{MISSED}" for ref in back]
    lines += [
        'miss() { [ -d "$1" ] || return; [ -s "$1/missed" ]'
        ' || printf \'{"time":%s}\\n\' "$(date +%s)" > "$1/missed";'
        ' echo "missed $1 $(cat "$1/missed")"; }',
        *(f"miss {ref.workload}/{ref.attempt}" for ref in lost),
    ]
    if lost:
        numbers = ",".join(str(_number(ref, seen)) for ref in lost)
        since = min(_submitted(ref, seen) for ref in lost) - SLACK
        lines += [
            f"rows=$(sacct -n -P -X -S {since:%Y-%m-%dT%H:%M:%S} -j {numbers} -o {FORMAT} 2>&1)"
            f' || case "$rows" in *"{_NONE}"*|*"not found"*) rows= ;; *) echo away; exit 0 ;; esac',
            "printf '%s\\n' \"$rows\" | sed 's/^/job /'",
        ]
    return "\n".join(lines)


def _submitted(ref: AttemptRef, seen: Seen) -> datetime:
    told = (_run(ref, seen).record("submitted") or {}).get("time")
    if isinstance(told, int | float):
        return datetime.fromtimestamp(told, UTC)
    recorded = time_of(ref.ext_uid.partition("@")[2])
    return recorded or datetime.fromtimestamp(seen.now, UTC)


def _add(row: str, by_number: dict[int, AttemptRef], found: dict[Key, list[Job]]) -> None:
    parts = row.split("|")
    number = parts[0].partition("+")[0]
    if len(parts) != 7 or not number.isdigit():
        return
    _, name, state, code, submitted, start, end = parts
    ref = by_number.get(int(number))
    word = state.partition(" ")[0]
    if ref is None or name != job_name(ref) or word in states.LIVE:
        return
    found.setdefault(key_of(ref), []).append(
        Job(int(number), word, "None", 0, submitted, time_of(start), time_of(end), ref, code)
    )
