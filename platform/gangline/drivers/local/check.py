"""What this machine refuses, by value and in words, before anything is submitted."""

import socket
from collections.abc import Iterator
from typing import Any

from gangline.drivers import tools
from gangline.drivers.base import Submission
from gangline.drivers.facts import Facts
from gangline.lib.sizes import bytes_in_words
from gangline.spec.frameworks import FRAMEWORKS, Framework, configuration_problem, framework_of
from gangline.spec.gpus import MEMORY, PORTION
from gangline.spec.launcher_commands import (
    LAUNCH_EXAMPLE,
    LAUNCHER_CHOICES,
    PROGRAM_EXAMPLE,
    choice_problems,
    launch_problem,
    runs,
)
from gangline.spec.placement import PRIORITIES
from gangline.spec.problems import Problem, Role
from gangline.spec.types import quantity_bytes
from gangline.spec.words import one_of
from gangline.spec.workload import ReplicaSpec

from . import mounts, roots
from .rendering import SCHEME
from .runtimes import LAUNCHER_OF, no_launcher
from .sandbox import Places


def check(submission: Submission, facts: Facts, places: Places) -> list[Problem]:
    """All refusals."""
    return list(_problems(submission, facts, places))


def _problems(submission: Submission, facts: Facts, places: Places) -> Iterator[Problem]:
    framework = FRAMEWORKS.get(submission.framework)
    if framework is None or configuration_problem(framework.name, submission.configuration):
        return  # the spec itself refuses these
    if (name := submission.worker.priority_class) and name not in PRIORITIES:
        accepted = one_of(PRIORITIES)
        code = "cluster:machine_priority"
        yield Problem.of(Role.WORKER, "priorityClass", code, value=name, accepted=accepted)
    yield from _interface(submission)
    yield from choice_problems(submission.worker, submission.master)
    yield from _launcher(submission, facts)
    launcher = submission.worker.launcher
    for role, spec in submission.halves:
        if runs(
            framework.name,
            role,
            has_own_master=submission.master is not None,
            launcher=launcher,
        ):
            yield from _command(role, spec, framework, launcher)
        yield from _image(role, spec, framework, facts)
        if not mounts.holds(spec, spec.working_dir or ""):
            yield from _working_directory(role, spec, places)
        yield from mounts.problems(role, spec, places, submission)
        yield from _gpu_memory(role, spec, facts)


def _interface(submission: Submission) -> Iterator[Problem]:
    """MXNet's scheduler waits for ever where there is none of the name."""
    name, known = submission.worker.network_interface, [one for _, one in socket.if_nameindex()]
    if name and name not in known:
        code, accepted = "cluster:interface", one_of(known)
        yield Problem.of(Role.WORKER, "networkInterface", code, value=name, accepted=accepted)


def _launcher(submission: Submission, facts: Facts) -> Iterator[Problem]:
    """The launcher must be in the runtime of whoever runs it."""
    launcher = submission.worker.launcher
    if not launcher or not facts.version:
        return
    offered = [one for one in LAUNCHER_CHOICES if not no_launcher(one, facts.runtimes)]
    why = no_launcher(launcher, facts.runtimes)
    images = {spec.image for _, spec in submission.halves}
    unfit = [r for r in facts.runtimes if r.reference in images and launcher not in r.launchers]
    if not why and unfit:
        fit = one_of(r.reference for r in facts.runtimes if launcher in r.launchers)
        why, offered = f"{unfit[0].reference} has no {LAUNCHER_OF[launcher]}; {fit} has", []
    if why:
        accepted = one_of(offered) if offered else "no value, or another runtime"
        yield Problem.of(
            Role.WORKER, "launcher", "launcher:unfit", value=launcher, accepted=accepted,
            why=why.rstrip("."),
        )  # fmt: skip


def _command(
    role: Role, spec: ReplicaSpec, framework: Framework, launcher: str | None
) -> Iterator[Problem]:
    said, args = spec.command or "", spec.args or ""
    if not said.strip():
        said, args = args, ""  # a runtime starts nothing by itself: here they are the command
    launches = framework.launches
    example = LAUNCH_EXAMPLE if launches and not launcher else PROGRAM_EXAMPLE
    if not said.strip():
        accepted = f"a program and its arguments, such as {example}"
        yield Problem.of(role, "command", "required", accepted=accepted)
        return
    if launches and (problem := launch_problem(role, framework, said, args, launcher)):
        yield problem


def _image(role: Role, spec: ReplicaSpec, framework: Framework, facts: Facts) -> Iterator[Problem]:
    image = spec.image
    fit = [r.reference for r in facts.runtimes if r.available and framework.name in r.frameworks]
    accepted = " or ".join(fit) or "nothing yet: no runtime of this machine has the framework"
    if not image:
        yield Problem.of(role, "image", "required:runtime", accepted=accepted)
        return
    if not image.startswith(SCHEME):
        yield Problem.of(role, "image", "runtime", value=image, accepted=accepted)
        return
    runtime = next((r for r in facts.runtimes if r.reference == image), None)
    if not facts.version:
        return  # nothing was looked at yet, as right after a first start: the launch will tell
    if runtime is None:
        code = "runtime:unknown"
    elif not runtime.available:
        code = "runtime:broken"
    elif framework.name not in runtime.frameworks:
        code = "runtime:framework"
    else:
        return
    why = runtime.reason if runtime else ""
    yield Problem.of(
        role, "image", code, value=image, accepted=accepted, framework=framework.label,
        why=why or "the runtime does not start",
    )  # fmt: skip


def _gpu_memory(role: Role, spec: ReplicaSpec, facts: Facts) -> Iterator[Problem]:
    """A part by memory can be counted only of devices whose memory is known."""
    wanted = spec.compute.gpu_memory_request
    if spec.compute.gpu_request_type != MEMORY or wanted is None:
        return
    device = facts.detail.get("gpuMemory")
    if device and quantity_bytes(wanted) > device:
        yield Problem.of(
            role, "compute.gpuMemoryRequest", "cluster:gpu_memory", value=wanted,
            most=bytes_in_words(device), accepted=f"up to {device // 10**6}M",
        )  # fmt: skip
    elif device == 0:
        code = "cluster:gpu_unknown"
        yield Problem.of(role, "compute.gpuRequestType", code, value=MEMORY, accepted=PORTION)


def _working_directory(role: Role, spec: ReplicaSpec, places: Places) -> Iterator[Problem]:
    given = spec.working_dir
    if not given:
        return
    try:
        roots.folder(given, places)
    except roots.UnfitFolder as unfit:
        yield unfit.problem.at(role=role, path="workingDir", value=given)


def tool_problems(submission: Submission, tools_url: str) -> Iterator[Problem]:
    """Tools are opened through Gangline alone, each at an address that it makes."""
    launches = framework_of(submission.framework).launches
    for gang_role, place, tool in tools.urls(submission):
        role = gang_role.half
        path = f"exposedUrls.{place}"
        said: dict[str, Any] = {"key": tool.name, "label": f"Tool {tool.name}"}
        if not tools_url:
            yield Problem.of(role, path, "cluster:tools_closed", accepted="no tools", **said)
        elif launches and role is Role.WORKER and submission.master is not None:
            code = "cluster:tools_launcher"
            yield Problem.of(role, path, code, accepted="no tools of workers", **said)
        elif tool.url:
            said["label"] = f"Address of tool {tool.name}"
            code, path = "cluster:tools_address", f"{path}.url"
            yield Problem.of(role, path, code, value=tool.url, accepted="no value", **said)
