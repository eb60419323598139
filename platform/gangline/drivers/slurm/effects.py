"""What is done to a job: made and held, released, asked to end, taken away.

`sbatch` is not idempotent and its answer can be lost: so a job is made held, found again by its
comment, and only the one that was recorded is ever released (R §8.3).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gangline.drivers.base import (
    AttemptRef,
    Busy,
    Done,
    NotYet,
    Refused,
    Result,
    Unknown,
)
from gangline.spec.frameworks import role_of
from gangline.spec.problems import Problem

from . import data, looks, rendering, script, sealed
from .commands import Answer, NoAnswer, Programs, here, plain, quoted
from .observation import Attempt

_BUSY = "temporarily unable to accept job"
_DOUBT = ("Unable to contact", "timed out", "Transport endpoint", "Zero Bytes were transmitted")
"""What sbatch says when the controller may have taken the job all the same, or was not reached."""
_FULL = ("No space left on device", "Disk quota exceeded")
FULL = (
    "The file system of the run folders is full, or the account's quota on it is: nothing was "
    "submitted. It continues once there is room."
)
PAUSE = 30.0
FORGET_AFTER = 10
"""Minutes after which no call can be on its way any more that the mark would stop."""
_FORGET = (
    f"find ../.. -mindepth 3 -maxdepth 3 -name deleted -mmin +{FORGET_AFTER} -print"
    ' | while read -r mark; do run=${mark%/deleted}; rm -f "$mark";'
    ' rmdir "$run" "${run%/*}"; done > /dev/null 2>&1'
)
"""Removes what is left of attempts that were deleted long ago."""

Look = Callable[[AttemptRef], Attempt]


class Effects:
    """The changes of one cluster. Each begins with what is there."""

    def __init__(self, programs: Programs, base: str, look: Look) -> None:
        self.programs, self.base, self.look = programs, base, look

    def create(self, ref: AttemptRef) -> Result:
        native = ref.rendered
        if native is None:
            return Refused("The attempt has no rendered form.")
        try:
            text = script.script(native)
            secrets = list(sealed.files(native, ref.secrets))
        except script.CannotWrite as problem:
            return Refused(str(problem))
        answer = self.programs.run(self._creation(ref, native, text, secrets))
        return self._submitted(answer, native)

    def _creation(
        self, ref: AttemptRef, native: Mapping[str, Any], text: str, secrets: Sequence[str]
    ) -> str:
        mark = looks.comment(ref)
        plan = {
            "replicas": list(rendering.replicas(native)),
            "launcher": rendering.launcher(native),
        }
        options = [
            "--parsable", "--hold", "--no-requeue", "--export=NIL", "--open-mode=append",
            f"--job-name={looks.job_name(ref)}", f"--comment={mark}",
        ]  # fmt: skip
        lines = [
            self._enter(ref),
            "[ ! -e deleted ] || { echo deleted; exit 0; }",
            "jobs=$(squeue -h -r -t all --me -o '|%k' 2>&1)"
            " || { printf 'away %s\\n' \"$jobs\" | head -n 1; exit 0; }",
            f"if printf '%s\\n' \"$jobs\" | grep -qxF {quoted(f'|{mark}')};"
            " then echo there; exit 0; fi",
            *are_there(native),
            "mkdir -p logs state secrets || { echo nofolder; exit 0; }",
            here(json.dumps(plan), "plan.json"),
            here(text, "job.sh"),
            *secrets,
            f'job=$(sbatch {" ".join(map(quoted, options))} --output="$(pwd)/job.log"'
            " < job.sh 2> sbatch.err)"
            " || { printf 'refused %s\\n' \"$(tr '\\n' ' ' < sbatch.err)\"; exit 0; }",
            'printf \'{"job":%s,"time":%s}\\n\' "${job%%;*}" "$(date +%s)" > submitted; echo made',
        ]
        return "\n".join(lines)

    def _submitted(self, answer: Answer, native: Mapping[str, Any]) -> Result:
        word, _, rest = answer.out.strip().rpartition("\n")[2].partition(" ")
        said = plain(rest)
        match word:
            case "made" | "there":
                return NotYet()
            case "deleted":
                return Refused("The attempt was deleted before it started.")
            case "away":
                return Unknown(f"Slurm does not answer: {said}.")
            case "missing":
                return missing(rest, native)
            case "refused" if _BUSY in said:
                return Busy(PAUSE, "Slurm does not accept jobs right now")
            case "refused" if any(words in said for words in _DOUBT):
                return Unknown(f"Slurm did not confirm the job: {said}.")
            case "refused":
                return Refused(f"Slurm refused the job: {said}.")
        if any(words in answer.words for words in _FULL):
            return Unknown(FULL)
        return Unknown(f"The run folder could not be written: {answer.words or answer.code}.")

    def commit(self, ref: AttemptRef) -> Result:
        now = self.look(ref)
        if now.job is None or now.stop is not None or now.is_deleted or not now.is_live:
            return Done()
        number = now.job.number
        spare = " ".join(str(job.number) for job in now.spare)
        lines = [
            self._enter(ref),
            "if [ -e stop ] || [ -e deleted ]; then exit 0; fi",
            f"scancel --quiet --state=PENDING {spare}" if spare else "",
            # One that can never start is released with a word of warning.
            f"said=$(scontrol release {number} 2>&1) || case"
            f" $(squeue -h -t all -j {number} -o %r) in JobHeld* | '')"
            ' printf %s "$said" >&2; exit 1 ;; esac',
            # From here on a hold is another's.
            f"printf '%s\\n' {number} > released.new && mv -f released.new released",
        ]
        answer = self.programs.run("\n".join(lines))
        if answer.code == 0:
            return NotYet()
        says = f"Slurm did not release the job: {answer.words}."
        is_doubt = not answer.words or any(words in answer.words for words in _DOUBT)
        return Unknown(says) if is_doubt else Refused(says)

    def suspend(self, ref: AttemptRef) -> Result:
        now = self.look(ref)
        if not now.is_live:
            return Done()
        self.programs.run(f"{self._enter(ref)}\n{_end(now, ref.grace_seconds)}")
        return NotYet()

    def delete(self, ref: AttemptRef) -> Result:
        """What is left of it is the mark that keeps a late `create` from making anything."""
        now = self.look(ref)
        mark = f"{self._enter(ref)}\necho deleted > deleted\n"
        if now.is_live or now.spare:
            self.programs.run(f"{mark}{_end(now, ref.grace_seconds)}")
            return NotYet()
        emptied = f"find . -mindepth 1 ! -name deleted -delete && echo gone\n{_FORGET}"
        answer = self.programs.run(mark + emptied)
        if "gone" in answer.out.split():
            return Done()
        return Unknown(f"The run folder could not be removed: {answer.words}.")

    def cancel(self, now: Attempt) -> None:
        """By force: it did not end by itself."""
        if now.job is not None:
            self.programs.run(f"scancel --quiet {now.job.number}")

    def requeued(self, now: Attempt) -> None:
        """Others had Slurm begin the job again: its try is over, and no second one follows."""
        if now.job is not None:
            number = now.job.number
            self.programs.run(
                f"{self._enter(now.ref)}\necho {number} > requeued\nscancel --quiet {number}"
            )

    def _enter(self, ref: AttemptRef) -> str:
        place = looks.folder(self.base, ref.install, (ref.workload, ref.attempt))
        return f"mkdir -p {place} && cd {place} || {{ echo nofolder; exit 0; }}"


def answered(act: Callable[[AttemptRef], Result], ref: AttemptRef) -> Result:
    """Outages are answers, not exceptions."""
    try:
        return act(ref)
    except NoAnswer as why:
        return Unknown(str(why))


def _end(now: Attempt, grace: int) -> str:
    """Asks a job that runs to end itself, which its script then sees to; one that waits is gone."""
    lines = [
        f'[ -e stop ] || {{ printf \'{{"grace":{int(grace)},"time":%s}}\\n\' "$(date +%s)"'
        " > stop.new && mv -f stop.new stop; }"
    ]
    numbers = [job.number for job in (now.job, *now.spare) if job is not None]
    lines += [f"scancel --quiet --state=PENDING {number}" for number in numbers]
    if now.job is not None and now.is_live:
        number = now.job.number
        lines.append(f"scancel --quiet --batch --signal=USR2 {number}")
        if now.is_stubborn:
            lines.append(f"scancel --quiet {number}")
    return "\n".join(lines)


def are_there(native: Mapping[str, Any]) -> Iterator[str]:
    """Lines that say ``missing``, and the number, of the first host path that is not there."""
    for number, (_, _, path) in enumerate(data.host_paths(native)):
        yield f"[ -r {quoted(path)} ] || {{ echo missing {number}; exit 0; }}"


def missing(number: str, native: Mapping[str, Any]) -> Refused:
    role, index, path = list(data.host_paths(native))[int(number)]
    half = role_of(native["framework"], role).half
    at = f"storage.hostPath.{index}.path"
    accepted = "a folder that the login node can read"
    problem = Problem.of(half, at, "cluster:no_folder", value=path, accepted=accepted)
    return Refused(f"The login node cannot read {path}.", (problem,))
