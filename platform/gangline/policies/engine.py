"""Resolve what was said and a policy into effective values with origins, and judge them (R21–R24).

Value = fixed by policy → said (by a person, a template, a copy) → for a master that differs, what
the workers have → closest policy default → built-in default. A master's own policy default comes
before what the workers got without anybody saying it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gangline.spec.frameworks import (
    CONFIGURATIONS,
    FRAMEWORKS,
    WORKERS_AND_MASTER,
    WORKERS_ONLY,
    configuration_problem,
)
from gangline.spec.problems import Problem, Role, shown
from gangline.spec.values import field_path
from gangline.spec.words import did_you_mean, one_of

from .document import fields_of
from .effective import EffectivePolicy
from .half import DEFAULT, FRAMEWORK, WORKERS, YOU, Effective, Entry, Half, Notice
from .lists import ItemOrigin

Said = Mapping[str, Mapping[str, Any]]
"""Qualified path → ``{"value": …, "from": "you" | "template:<id>" | "copy:<uuid>"}``."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for. ``master``: none | same | differences | own (R24).

    ``framework`` counts when ``said`` has no ``worker.distributedFramework``. ``problems`` were
    found while the values were read; they come back with the rest, in order, once per field.
    """

    framework: str = ""
    configuration: str = WORKERS_AND_MASTER
    master: str = "same"
    said: Said = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """The effective spec, every reason why it cannot be submitted, and what was left out.

    ``master_forced``: rules for the master which the values inherited from the workers break.
    """

    effective: Mapping[str, Effective]
    problems: list[Problem]
    notices: list[Notice]
    master_forced: list[Problem]

    def values(self, role: Role | str) -> dict[str, Any]:
        """Effective values of one half by path."""
        start = f"{Role(role)}."
        return {
            path.removeprefix(start): entry.value
            for path, entry in self.effective.items()
            if path.startswith(start)
        }


def resolve(request: Request, policy: EffectivePolicy) -> Resolution:
    """Effective values, problems in a stable order, and notices. Never raises for JSON values."""
    worker = Half(Role.WORKER, policy)
    worker.fill(_said(request, Role.WORKER))
    halves, forced = [worker], []
    if request.master != "none" and request.configuration != WORKERS_ONLY:
        master = Half(Role.MASTER, policy, worker.framework)
        halves.append(master)
        if request.master == "same":
            forced = master.inherit(worker)
        else:
            followed = worker if request.master == "differences" else None
            master.fill(_said(request, Role.MASTER), followed)
    problems = [*_setup_problems(request, worker.framework), *_strange(request, halves)]
    effective: dict[str, Effective] = {}
    for half in halves:
        problems += half.problems
        effective |= {f"{half.role}.{path}": value for path, value in half.values.items()}
    notices = [notice for half in halves for notice in half.notices]
    return Resolution(effective, _ordered(request, problems, policy), notices, forced)


def _said(request: Request, role: Role) -> dict[str, Entry]:
    """What was said for one half, by path; null is the same as nothing."""
    start = f"{role}."
    said = {
        path.removeprefix(start): Entry(entry.get("value"), str(entry.get("from", YOU)))
        for path, entry in request.said.items()
        if path.startswith(start) and entry.get("value") is not None
    }
    if role is Role.WORKER and request.framework:
        said.setdefault(FRAMEWORK, Entry(request.framework, YOU))
    return said


def _setup_problems(request: Request, framework: Any) -> Iterator[Problem]:
    message = configuration_problem(framework, request.configuration)
    if message is not None:
        known = FRAMEWORKS.get(framework) if isinstance(framework, str) else None
        yield Problem(
            Role.WORKLOAD,
            "configuration",
            "framework",
            message,
            request.configuration,
            one_of(known.configurations if known else CONFIGURATIONS),
            label="Configuration",
        )


def _strange(request: Request, halves: list[Half]) -> Iterator[Problem]:
    """What was said about fields that do not exist; halves that do not exist are passed over."""
    known = {str(half.role): half.every_field for half in halves}
    for qualified, entry in request.said.items():
        role, _, path = qualified.partition(".")
        if role in known and path not in known[role]:
            meant = did_you_mean(path, known[role])
            hint = f"; did you mean {meant}?" if meant else ""
            name = shown(path)
            message, value = f"is not a known field{hint}", entry.get("value")
            accepted = meant or ", ".join(known[role])
            yield Problem(Role(role), name, "unknown", message, value, accepted, label=name)


def _ordered(request: Request, problems: list[Problem], policy: EffectivePolicy) -> list[Problem]:
    """Set-up, workers, master; in each the order of the form; in lists the order sent."""
    before = {(problem.role, problem.path) for problem in request.problems}
    fresh = (problem for problem in problems if (problem.role, problem.path) not in before)
    roles = list(Role)
    places = {
        role: {path: place for place, path in enumerate(fields_of(policy.models, role))}
        for role in roles
    }

    def place(problem: Problem) -> tuple[int, int, int]:
        fields = fields_of(policy.models, problem.role)
        path = field_path(problem.path, fields)
        index = problem.path[len(path) + 1 :].split(".")[0] if path else ""
        known = places[problem.role].get(path, len(fields))
        return roles.index(problem.role), known, int(index) if _is_index(index) else -1

    return sorted([*request.problems, *fresh], key=place)


def _is_index(part: str) -> bool:
    return part.isascii() and part.isdigit()


__all__ = [
    "DEFAULT",
    "WORKERS",
    "YOU",
    "Effective",
    "Entry",
    "ItemOrigin",
    "Notice",
    "Request",
    "Resolution",
    "Said",
    "resolve",
]
