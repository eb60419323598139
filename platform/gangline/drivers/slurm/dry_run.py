"""Asks Slurm whether it would take the job of an attempt; submits nothing."""

from collections.abc import Mapping
from typing import Any

from gangline.drivers.base import AttemptRef, DryRunResult
from gangline.spec import batch
from gangline.spec.problems import Problem, Role

from . import effects, script
from .commands import NoAnswer, Programs, here

ASKED = ("the batch script", "the job")
_DOUBT = ("Unable to contact", "timed out")


BAD_SCRIPT = 67


def _own(native: Mapping[str, Any]) -> str:
    """Reads a person's own script as bash would, where bash is what runs it."""
    own = str(native.get("script") or "")
    words = batch.interpreter(own) if own else []
    if not any(word.rpartition("/")[2] in ("bash", "sh") for word in words):
        return ""
    return f"{here(own, script.OWN)}bash -n {script.OWN} || exit {BAD_SCRIPT}\n"


def dry_run(programs: Programs, ref: AttemptRef) -> DryRunResult:
    native = ref.rendered or {}
    try:
        text = script.script(native)
    except script.CannotWrite as problem:
        return DryRunResult((Problem.of(Role.WORKLOAD, "", "cluster:mount", reason=str(problem)),))
    program = (
        "".join(f"{line}\n" for line in effects.are_there(native))
        + 'place=$(mktemp -d) && cd "$place" || exit 74\n'
        "trap 'rm -rf \"$place\"' EXIT\n"
        f"{here(text, 'job.sh')}"
        "bash -n job.sh || exit 65\n"
        f"{_own(ref.rendered or {})}"
        "sbatch --test-only --export=NIL job.sh 2>&1\n"
    )
    try:
        answer = programs.run(program)
    except NoAnswer as why:
        return DryRunResult(doubts=(str(why),))
    if answer.code == BAD_SCRIPT:
        said = answer.words.replace(f"{script.OWN}: ", "", 1)
        wrong = Problem.of(Role.WORKER, batch.SCRIPT, "script:syntax", said=said, label="Script")
        return DryRunResult((wrong,))
    said = answer.out.strip() and answer.words
    word, _, rest = said.partition(" ") if said else ("", "", "")
    if word == "missing":
        return DryRunResult(effects.missing(rest, native).problems)
    if answer.code == 0:
        return DryRunResult(asked=ASKED)
    if answer.code in (65, 73, 74) or any(words in answer.out for words in _DOUBT):
        return DryRunResult(doubts=(f"Slurm could not be reached: {answer.words or answer.code}.",))
    return DryRunResult((Problem.of(Role.WORKLOAD, "", "cluster:slurm", said=said),))
