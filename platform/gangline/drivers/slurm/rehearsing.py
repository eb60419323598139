"""Asks Slurm whether it would take the job of an attempt; submits nothing."""

from gangline.drivers.base import AttemptRef, Rehearsal
from gangline.spec.problems import Problem, Role

from . import effects, script
from .commands import NoAnswer, Programs, here

ASKED = ("the batch script", "the job")
_DOUBT = ("Unable to contact", "timed out")


def rehearse(programs: Programs, ref: AttemptRef) -> Rehearsal:
    native = ref.rendered or {}
    try:
        text = script.script(native)
    except script.CannotWrite as problem:
        return Rehearsal((Problem.of(Role.WORKLOAD, "", "cluster:mount", reason=str(problem)),))
    program = (
        "".join(f"{line}\n" for line in effects.are_there(native))
        + 'place=$(mktemp -d) && cd "$place" || exit 74\n'
        "trap 'rm -rf \"$place\"' EXIT\n"
        f"{here(text, 'job.sh')}"
        "bash -n job.sh || exit 65\n"
        "sbatch --test-only --export=NIL job.sh 2>&1\n"
    )
    try:
        answer = programs.run(program)
    except NoAnswer as why:
        return Rehearsal(doubts=(str(why),))
    said = answer.out.strip() and answer.words
    word, _, rest = said.partition(" ") if said else ("", "", "")
    if word == "missing":
        return Rehearsal(effects.missing(rest, native).problems)
    if answer.code == 0:
        return Rehearsal(asked=ASKED)
    if answer.code in (65, 73, 74) or any(words in answer.out for words in _DOUBT):
        return Rehearsal(doubts=(f"Slurm could not be asked: {answer.words or answer.code}.",))
    return Rehearsal((Problem.of(Role.WORKLOAD, "", "cluster:slurm", said=said),))
