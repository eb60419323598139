"""The steps of the form and which problem belongs to which of them."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from gangline.spec.frameworks import framework_of
from gangline.spec.problems import Problem, Role
from workloads.wizard.state import SETUP_FIELDS


class Step(StrEnum):
    """One page of the form; the value is the last part of its address."""

    SETUP = "setup"
    WORKERS = "workers"
    MASTER = "master"
    REVIEW = "review"


_WORDS = {Step.SETUP: "Set-up", Step.WORKERS: "Workers", Step.REVIEW: "Review"}
_HALVES = {
    Role.WORKLOAD: Step.SETUP,
    Role.WORKER: Step.WORKERS,
    Role.MASTER: Step.MASTER,
}


def word(step: Step, framework: str) -> str:
    """What a step is called where the workload has this framework."""
    return _WORDS.get(step) or framework_of(framework).leader.title


def steps_for(*, has_master: bool) -> tuple[Step, ...]:
    """The steps of a draft, in order."""
    return tuple(s for s in Step if s is not Step.MASTER or has_master)


def after(step: Step, line: Sequence[Step]) -> Step:
    place = line.index(step) + 1 if step in line else len(line) - 1
    return line[min(place, len(line) - 1)]


def before(step: Step, line: Sequence[Step]) -> Step | None:
    earlier = [s for s in line if list(Step).index(s) < list(Step).index(step)]
    return earlier[-1] if earlier else None


def step_of(problem: Problem) -> Step:
    """The step that shows the field of ``problem``; what is about no field is told in Review."""
    if not problem.path:
        return Step.REVIEW
    if problem.path.split(".")[0] in SETUP_FIELDS:
        return Step.SETUP
    return Step.MASTER if problem.role is Role.MASTER else Step.WORKERS


def problems_of(step: Step, problems: Iterable[Problem]) -> list[Problem]:
    """What stands in the way of leaving ``step``."""
    if step is Step.REVIEW:
        return list(problems)
    return [p for p in problems if step_of(p) is step]


def by_half(said: Sequence[tuple[Role, str]], framework: str) -> list[str]:
    """The sentences, with the half in front of what is said of both in the same words."""
    halves: dict[str, set[Role]] = {}
    for role, sentence in said:
        halves.setdefault(sentence, set()).add(role)
    return [
        f"{word(_HALVES[role], framework)}: {sentence}" if len(halves[sentence]) > 1 else sentence
        for role, sentence in said
    ]
