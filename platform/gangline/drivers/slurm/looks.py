"""One look at a cluster: every job of Gangline's in one ``squeue``, and the run folders asked for.

What it prints is read here, in one place; a text that ends early is no answer.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from gangline.drivers.base import AttemptRef

from . import states
from .commands import Answer, NoAnswer, Programs, plain, quoted

log = logging.getLogger(__name__)

MARK = "gangline"
MOST_SAMPLES = 4000
"""Lines of what replicas use that one look brings of an attempt."""
FORMAT = "%i|%T|%D|%V|%S|%e|%r|%k"
Key = tuple[str, int]
LONGEST_NAME = 51
MISSED = "missed"
"""The record of when the login node first saw that Slurm shows the job no longer."""


class Unreadable(NoAnswer):
    """The cluster answered, and what it said tells nothing."""


class Unreachable(NoAnswer):
    """Slurm itself does not answer."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job, all components of it together."""

    number: int
    state: str
    reason: str
    nodes: int
    submitted: str
    expected: datetime | None
    """When it started, or when Slurm expects it to."""
    ended: datetime | None
    ref: AttemptRef
    accounted_code: str = ""
    """``3:0``, exit code and signal modulo 128, of one that only accounting still knows."""

    @property
    def uid(self) -> str:
        """Numbers begin anew some day; with the time of submission they do not repeat."""
        return f"{self.number}@{self.submitted}"

    @property
    def is_over(self) -> bool:
        return self.state not in states.LIVE

    @property
    def submitted_at(self) -> datetime | None:
        return time_of(self.submitted)


@dataclass(frozen=True, slots=True)
class Run:
    """The records in the folder of an attempt: texts by file name."""

    files: Mapping[str, str] = field(default_factory=dict)

    def record(self, name: str) -> Mapping[str, Any] | None:
        """The JSON of a record; None where there is none, or one of another's making."""
        try:
            found = json.loads(self.files[name])
        except KeyError:
            return None
        except ValueError:
            log.warning("the record %s cannot be read", name)
            return None
        return found if isinstance(found, dict) else None


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look found."""

    now: float
    """By the clock of the login node."""
    jobs: Mapping[Key, Sequence[Job]]
    runs: Mapping[Key, Run]
    samples: Mapping[Key, Sequence[str]] = field(default_factory=dict)
    """New lines of what replicas use: `worker-0` and the figures, as the sampler writes them."""
    accounted: Mapping[Key, Sequence[Job]] = field(default_factory=dict)
    """Those that only accounting still knows (`accounts`)."""
    in_doubt: frozenset[Key] = frozenset()
    """Slurm shows them no longer, and accounting does not answer."""


def folder(base: str, install: str, key: Key | None = None) -> str:
    """The quoted path of an installation's runs, or of one of them."""
    home, rest = ('"$HOME"/', base[2:]) if base.startswith("~/") else ("", base)
    path = f"{rest}/{install}" + (f"/{key[0]}/{key[1]}" if key else "")
    return home + quoted(path)


def look(
    programs: Programs,
    base: str,
    install: str,
    keys: Iterable[Key],
    since: Callable[[Key], float] | None = None,
) -> Seen:
    """Raises NoAnswer. ``since``: up to when what replicas of an attempt use is known."""
    wanted = list(keys)
    times = [None if since is None else since(key) for key in wanted]
    return read(programs.run(_program(base, install, wanted, times)), install)


def _program(base: str, install: str, keys: Sequence[Key], times: Sequence[float | None]) -> str:
    top = folder(base, install)
    lines = [
        f"mkdir -p {top} && cd {top} || {{ echo nofolder; exit 0; }}",
        f"jobs=$(squeue -h -r -t all --me -o '{FORMAT}' 2>&1)"
        " || { printf 'away %s\\n' \"$jobs\" | head -n 1; exit 0; }",
        "echo now $(date +%s)",
        f"printf '%s\\n' \"$jobs\" | grep -F {quoted(f'|{MARK}:{install}:')} | sed 's/^/job /'",
        'look() { [ -d "$1" ] && cd "$1" && { echo "run $1"; grep -sH \'\' plan.json submitted'
        " released stop deleted missed requeued image start.json exit.json"
        " $(ls state 2>/dev/null | sed 's:^:state/:;/\\.new$/d') /dev/null | sed 's/^/file /';"
        ' [ -z "${2:-}" ] || [ ! -d metrics ] || awk -v s="$2"'
        ' \'$1 > s { print "sample " FILENAME ":" $0 }\' metrics/*.tsv 2> /dev/null'
        f' | tail -n {MOST_SAMPLES}; cd "$TOP"; }}; }}',
        "TOP=$(pwd)",
        *(
            f"look {quoted(f'{workload}/{attempt}')}{f' {time:.3f}' if time is not None else ''}"
            for (workload, attempt), time in zip(keys, times, strict=True)
        ),
        "echo end",
    ]
    return "\n".join(lines)


def read(answer: Answer, install: str) -> Seen:
    """Raises NoAnswer."""
    now, jobs, runs = 0.0, dict[Key, list[Job]](), dict[Key, Run]()
    samples: dict[Key, list[str]] = {}
    files: dict[str, str] = {}
    at: Key = ("", 0)
    is_whole = False
    for line in answer.out.split("\n"):
        word, _, rest = line.partition(" ")
        match word:
            case "nofolder" | "away":
                raise _refusal(word, rest, answer)
            case "now":
                now = float(rest)
            case "job":
                _add(rest, install, jobs)
            case "run":
                workload, _, attempt = rest.partition("/")
                files, at = {}, (workload, int(attempt))
                runs[at] = Run(files)
            case "sample":
                path, _, text = rest.partition(":")
                name = path.removeprefix("metrics/").removesuffix(".tsv")
                samples.setdefault(at, []).append(f"{name} {text}")
            case "file":
                name, _, text = rest.partition(":")
                files.setdefault(name, text)
            case "end":
                is_whole = True
    if not is_whole:
        raise Unreadable(f"The login node gave no whole answer: {answer.words or answer.code}.")
    return Seen(now, {key: joined(found) for key, found in jobs.items()}, runs, samples)


def _refusal(word: str, said: str, answer: Answer) -> NoAnswer:
    if word == "away":
        return Unreachable(f"Slurm does not answer: {plain(said)}.")
    return Unreadable(f"The folder for runs cannot be used: {answer.words}.")


def _add(row: str, install: str, jobs: dict[Key, list[Job]]) -> None:
    parts = row.split("|", 7)
    ref = ref_of(parts[-1]) if len(parts) == 8 else None
    if ref is None or ref.install != install:
        return
    number = parts[0].partition("+")[0]
    if not number.isdigit():
        return  # of an array: nothing that Gangline made
    _, state, nodes, submitted, start, end, reason, _ = parts
    count = int(nodes) if nodes.isdigit() else 0
    jobs.setdefault((ref.workload, ref.attempt), []).append(
        Job(int(number), state, reason, count, submitted, time_of(start), time_of(end), ref)
    )


def comment(ref: AttemptRef) -> str:
    """What a job carries to be found by. Its parts hold no colon."""
    return f"{MARK}:{ref.install}:{ref.workload}:{ref.attempt}:{ref.name}"


def job_name(ref: AttemptRef) -> str:
    """What people find it by in `squeue`, and Gangline in accounting."""
    name = "".join(c for c in ref.name if c.isascii() and (c.isalnum() or c in "-."))
    return f"{name[:LONGEST_NAME]}.{ref.workload[:8]}.{ref.attempt}"


def ref_of(text: str) -> AttemptRef | None:
    parts = text.split(":")
    if len(parts) != 5 or parts[0] != MARK or not parts[3].isdigit():
        return None
    return AttemptRef(parts[1], parts[2], int(parts[3]), parts[4])


_ORDER = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")
"""Of a heterogeneous job the component that is furthest back speaks for all."""


def joined(found: Sequence[Job]) -> list[Job]:
    """One for each number: the components of a heterogeneous job are one job."""
    by_number: dict[int, list[Job]] = {}
    for job in found:
        by_number.setdefault(job.number, []).append(job)
    return [_worst(by_number[number]) for number in sorted(by_number)]


def _worst(parts: Sequence[Job]) -> Job:
    for state in _ORDER:
        for job in parts:
            if job.state == state:
                return job
    return next((job for job in parts if job.state != "COMPLETED"), parts[0])


def time_of(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None
