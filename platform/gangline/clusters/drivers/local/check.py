"""What this machine refuses, by value and in words, before anything is submitted."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gangline.clusters.drivers.base import Facts, Submission
from gangline.spec.frameworks import FRAMEWORKS, Framework, configuration_problem
from gangline.spec.problems import Problem, Role

from .rendering import SCHEME


def check(
    submission: Submission, facts: Facts, *, roots: Sequence[Path], data_dir: Path
) -> list[Problem]:
    """All refusals. ``roots`` are the folders below which a working directory may lie."""
    return list(_problems(submission, facts, roots, data_dir))


def _problems(
    submission: Submission, facts: Facts, roots: Sequence[Path], data_dir: Path
) -> Iterator[Problem]:
    framework = FRAMEWORKS.get(submission.framework)
    if framework is None or configuration_problem(framework.name, submission.configuration):
        return  # the spec itself refuses these
    halves = {Role.WORKER: submission.worker}
    if submission.master is not None:
        halves[Role.MASTER] = submission.master
    for role, values in halves.items():
        # Under MPI only the launcher runs a command; the workers are its children.
        runs = framework.master_trains or role is Role.MASTER or submission.master is None
        if runs and not str(values.get("command") or "").strip():
            yield _problem(
                role,
                "command",
                "required",
                "is required on this machine",
                accepted="a program and its arguments, such as python train.py",
            )
        yield from _image(role, values, framework, facts)
        yield from _working_directory(role, values, roots, data_dir)


def _image(
    role: Role, values: Mapping[str, Any], framework: Framework, facts: Facts
) -> Iterator[Problem]:
    image = values.get("image")
    fit = [r.reference for r in facts.runtimes if r.available and framework.name in r.frameworks]
    accepted = " or ".join(fit) or "nothing yet: no runtime of this machine has the framework"
    if not image:
        message = "is required: choose a runtime of this machine"
        yield _problem(role, "image", "required", message, accepted=accepted)
        return
    if not image.startswith(SCHEME):
        message = "must be a runtime of this machine, which runs processes and no containers"
        yield _problem(role, "image", "runtime", message, value=image, accepted=accepted)
        return
    runtime = next((r for r in facts.runtimes if r.reference == image), None)
    if not facts.version:
        return  # nothing was looked at yet, as right after a first start: the launch will tell
    if runtime is None:
        message = "must be a runtime that this machine has"
    elif not runtime.available:
        message = f"cannot be used: {runtime.reason.rstrip('.') or 'the runtime does not start'}"
    elif framework.name not in runtime.frameworks:
        message = f"must be a runtime with {framework.label}"
    else:
        return
    yield _problem(role, "image", "runtime", message, value=image, accepted=accepted)


def _working_directory(
    role: Role, values: Mapping[str, Any], roots: Sequence[Path], data_dir: Path
) -> Iterator[Problem]:
    said = values.get("workingDir")
    if not said:
        return
    folder = Path(said).resolve()
    accepted = "a folder below " + " or ".join(map(str, roots))
    if folder.is_relative_to(data_dir.resolve()):
        message = "must not lie in the data folder of the dashboard"
    elif not any(folder.is_relative_to(root.resolve()) for root in roots):
        message = "must lie in a folder that workloads may use"
    elif not folder.is_dir():
        message, accepted = "must be a folder that exists", "an existing folder"
    else:
        return
    yield _problem(role, "workingDir", "allowed", message, value=said, accepted=accepted)


def _problem(role: Role, path: str, rule: str, message: str, **more: Any) -> Problem:
    return Problem(role=role, path=path, rule=rule, message=message, **more)
