"""What this machine refuses, by value and in words, before anything is submitted."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gangline.drivers.base import Submission
from gangline.drivers.facts import Facts
from gangline.spec.frameworks import FRAMEWORKS, Framework, configuration_problem
from gangline.spec.launching import LAUNCH_EXAMPLE, launch_problem
from gangline.spec.problems import Problem, Role

from .guidance import OWN_TMP, folders
from .rendering import SCHEME
from .sandbox import PRIVATE


def check(
    submission: Submission,
    facts: Facts,
    *,
    roots: Sequence[Path],
    data_dir: Path,
    sandboxed: bool = False,
) -> list[Problem]:
    """All refusals. ``roots`` are the folders below which a working directory may lie."""
    return list(_problems(submission, facts, roots, data_dir, sandboxed))


def _problems(
    submission: Submission, facts: Facts, roots: Sequence[Path], data_dir: Path, sandboxed: bool
) -> Iterator[Problem]:
    framework = FRAMEWORKS.get(submission.framework)
    if framework is None or configuration_problem(framework.name, submission.configuration):
        return  # the spec itself refuses these
    halves = {Role.WORKER: submission.worker}
    if submission.master is not None:
        halves[Role.MASTER] = submission.master
    for role, values in halves.items():
        # Under MPI only the launcher runs a command; the workers are its children.
        if framework.master_trains or role is Role.MASTER or submission.master is None:
            yield from _command(role, values, framework)
        yield from _image(role, values, framework, facts)
        yield from _working_directory(role, values, roots, data_dir, sandboxed)


def _command(role: Role, values: Mapping[str, Any], framework: Framework) -> Iterator[Problem]:
    said = str(values.get("command") or "")
    launches = not framework.master_trains
    example = LAUNCH_EXAMPLE if launches else "python train.py"
    if not said.strip():
        accepted = f"a program and its arguments, such as {example}"
        yield _problem(role, "command", "required", "is required", accepted=accepted)
        return
    args = str(values.get("args") or "")
    if launches and (problem := launch_problem(role, framework, said, args)):
        yield problem


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
    role: Role,
    values: Mapping[str, Any],
    roots: Sequence[Path],
    data_dir: Path,
    sandboxed: bool,
) -> Iterator[Problem]:
    said = values.get("workingDir")
    if not said or "\0" in said:  # the spec itself refuses the latter
        return
    folder = Path(said).resolve()
    accepted = folders(roots)
    if folder.is_relative_to(data_dir.resolve()):
        message = "must not lie in the data folder of the dashboard"
    elif not any(folder.is_relative_to(root.resolve()) for root in roots):
        message = "must lie in a folder that workloads may use"
        if sandboxed and folder.is_relative_to(PRIVATE):
            message += f"; {OWN_TMP.rstrip('.')}"
    elif not folder.is_dir():
        message, accepted = "must be a folder that exists", "an existing folder"
    else:
        return
    yield _problem(role, "workingDir", "allowed", message, value=said, accepted=accepted)


def _problem(role: Role, path: str, rule: str, message: str, **more: Any) -> Problem:
    return Problem(role=role, path=path, rule=rule, message=message, **more)
