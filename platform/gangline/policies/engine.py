"""Resolve given values and a policy into effective values with sources, and judge them (R21–R24).

Value = fixed by policy → given (by a person, a template, a copy) → for a master that differs, what
the workers have → closest policy default → built-in default. A master's own policy default comes
before what the workers have without anybody having given it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gangline.spec.catalogue import catalogue
from gangline.spec.frameworks import (
    FRAMEWORKS,
    WORKERS_AND_MASTER,
    WORKERS_ONLY,
    configuration_problem,
    framework_of,
)
from gangline.spec.problems import Problem, Role, shown
from gangline.spec.shares import DEVICES
from gangline.spec.sources import Value, Values
from gangline.spec.values import field_path, half_of
from gangline.spec.words import did_you_mean
from gangline.spec.workload import SPEC

from . import gpu_caps
from .document import HALVES, fields_of
from .effective import EffectivePolicy
from .lists import overlaid
from .role_resolver import FRAMEWORK, Notice, RoleResolver

MASTER_MODES = ("none", "same", "differences", "own")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The given values. ``master`` is one of `MASTER_MODES` (R24).

    Without a master by configuration there is none, whatever ``master`` is.

    ``framework`` counts when ``given`` has no ``worker.distributedFramework``; where it and
    ``configuration`` are empty, the policy's default and "Workers & master" hold, as far as they
    can. ``problems`` were found while the values were read; they come back with the rest, in
    order, once per field. ``assets`` are the values of chosen assets, upon which ``given`` lies.
    """

    framework: str = ""
    configuration: str = ""
    master: str = "same"
    given: Values = field(default_factory=dict)
    assets: Values = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def everything(self) -> Values:
        """``given`` upon ``assets``: what has to be given again for the same values."""
        known = {Role.WORKER: catalogue(SPEC.worker), Role.MASTER: catalogue(SPEC.master)}
        found = dict(self.given)
        for qualified, value in self.assets.items():
            role, _, path = qualified.partition(".")
            whole = overlaid(known[Role(role)][path], value, self.given.get(qualified))
            found[qualified] = whole or value
        return found


@dataclass(frozen=True)
class Resolution:
    """The effective values, every reason why they cannot be submitted, and what was left out.

    ``master``: one of `MASTER_MODES`. ``master_forced``: rules for the master which the values
    inherited from the workers break.
    """

    framework: str
    configuration: str
    master: str
    effective: Values
    problems: list[Problem]
    notices: list[Notice]
    master_forced: list[Problem]

    @cached_property
    def plain(self) -> Mapping[str, Any]:
        """The effective values by qualified path, without their sources."""
        return {path: value.value for path, value in self.effective.items()}

    def values(self, role: Role | str) -> dict[str, Any]:
        """Effective values of one half by path."""
        return half_of(self.plain, Role(role))


def resolve(request: Request, policy: EffectivePolicy) -> Resolution:
    """Effective values, problems in a stable order, and notices. Never raises for JSON values."""
    worker = _worker(request, policy)
    worker.judge()
    configuration = request.configuration or _configuration(worker.framework)
    mode = request.master if request.master in MASTER_MODES[1:] else "same"
    mode = "none" if configuration == WORKERS_ONLY else mode
    halves, forced = [worker], []
    if mode != "none":
        master = RoleResolver(Role.MASTER, policy, worker.framework)
        halves.append(master)
        if mode == "same":
            forced = master.inherit(worker)
        else:
            followed = worker if mode == "differences" else None
            given, under = _given(request, Role.MASTER), _of(request.assets, Role.MASTER)
            master.fill(given, followed, under)
            master.wait_for_people(worker.values)
            master.judge()
    problems = [*_setup_problems(configuration, worker.framework), *_missing(policy),
                *_unknown(request, halves)]  # fmt: skip
    gang = framework_of(worker.framework).gang(configuration)
    plain = {half.role: {p: v.value for p, v in half.values.items()} for half in halves}
    rules = [policy.rule(role, DEVICES) for role in HALVES]
    problems += gpu_caps.in_all(gang, plain, worker.every_field[DEVICES], rules)
    effective: dict[str, Value] = {}
    for half in halves:
        problems += half.told()
        effective |= {f"{half.role}.{path}": value for path, value in half.values.items()}
    return Resolution(
        framework=str(worker.framework or ""),
        configuration=configuration,
        master=mode,
        effective=effective,
        problems=_ordered(request, problems, policy),
        notices=[notice for half in halves for notice in half.notices],
        master_forced=forced,
    )


def inherited_values(request: Request, role: Role, policy: EffectivePolicy) -> Values:
    """By path of its half, what ``role`` has where nothing is given for it; not judged."""
    worker, under = _worker(request, policy), _of(request.assets, role)
    if role is Role.WORKER:
        bare = RoleResolver(Role.WORKER, policy)
        framework = {FRAMEWORK: Value(request.framework)} if request.framework else {}
        bare.fill(framework, under=under, script=worker.script)
        return worker.without_given(bare)
    master, bare = (RoleResolver(role, policy, worker.framework) for _ in range(2))
    master.fill(_given(request, role), worker, under)
    bare.fill({}, worker, under)
    bare.wait_for_people(worker.values)
    return master.without_given(bare)


def _worker(request: Request, policy: EffectivePolicy) -> RoleResolver:
    worker = RoleResolver(Role.WORKER, policy)
    worker.fill(_given(request, Role.WORKER), under=_of(request.assets, Role.WORKER))
    worker.wait_for_people(worker.values)
    return worker


def _given(request: Request, role: Role) -> dict[str, Value]:
    """The given values of one half, by path; null is the same as nothing."""
    given = _of(request.given, role)
    if role is Role.WORKER and request.framework:
        given.setdefault(FRAMEWORK, Value(request.framework))
    return given


def _of(values: Values, role: Role) -> dict[str, Value]:
    start = f"{role}."
    return {
        path.removeprefix(start): value
        for path, value in values.items()
        if path.startswith(start) and value.value is not None
    }


def _configuration(framework: Any) -> str:
    """The default that can work for ``framework``."""
    known = FRAMEWORKS.get(framework) if isinstance(framework, str) else None
    if known and WORKERS_AND_MASTER not in known.configurations:
        return WORKERS_ONLY
    return WORKERS_AND_MASTER


def _setup_problems(configuration: str, framework: Any) -> Iterator[Problem]:
    if problem := configuration_problem(framework, configuration):
        yield problem


def _missing(policy: EffectivePolicy) -> Iterator[Problem]:
    """Imposed data sources that no longer exist."""
    for key, source in policy.missing.items():
        yield Problem.of(Role.WORKLOAD, "imposedAssets", "imposed", value=key, source=source,
                      accepted="a policy without it", label="Data source")  # fmt: skip


def _unknown(request: Request, halves: list[RoleResolver]) -> Iterator[Problem]:
    """Values of fields that do not exist; halves that do not exist are passed over."""
    known = {str(half.role): half.every_field for half in halves}
    for qualified, given in request.given.items():
        role, _, path = qualified.partition(".")
        if role in known and path not in known[role]:
            meant = did_you_mean(path, known[role])
            name = shown(path)
            yield Problem.of(
                Role(role), name, "unknown:meant" if meant else "unknown", value=given.value,
                meant=meant, accepted=meant or ", ".join(known[role]), label=name,
            )  # fmt: skip


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
