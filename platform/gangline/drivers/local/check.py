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
from gangline.spec.launching import LAUNCH_EXAMPLE, launch_problem
from gangline.spec.placement import PRIORITIES
from gangline.spec.problems import Problem, Role
from gangline.spec.types import quantity_bytes
from gangline.spec.words import one_of
from gangline.spec.workload import ReplicaSpec

from . import mounts, roots
from .rendering import SCHEME
from .sandbox import Places


def check(submission: Submission, facts: Facts, places: Places) -> list[Problem]:
    """All refusals."""
    return list(_problems(submission, facts, places))


def _problems(submission: Submission, facts: Facts, places: Places) -> Iterator[Problem]:
    framework = FRAMEWORKS.get(submission.framework)
    if framework is None or configuration_problem(framework.name, submission.configuration):
        return  # the spec itself refuses these
    if (name := submission.worker.priority_class) and name not in PRIORITIES:
        message = "must be a priority class of this machine"
        accepted = one_of(PRIORITIES)
        yield Problem.of(
            Role.WORKER, "priorityClass", "cluster", message, value=name, accepted=accepted
        )
    yield from _interface(submission)
    for role, spec in submission.halves:
        # Under MPI only the launcher runs a command; the workers are its children.
        if not framework.launches or role is Role.MASTER or submission.master is None:
            yield from _command(role, spec, framework)
        yield from _image(role, spec, framework, facts)
        if not mounts.holds(spec, spec.working_dir or ""):
            yield from _working_directory(role, spec, places)
        yield from mounts.problems(role, spec, places, submission)
        yield from _gpu_memory(role, spec, facts)


def _interface(submission: Submission) -> Iterator[Problem]:
    """MXNet's scheduler waits for ever where there is none of the name."""
    name, known = submission.worker.network_interface, [one for _, one in socket.if_nameindex()]
    if name and name not in known:
        message = "must be a network interface of this machine"
        yield Problem.of(
            Role.WORKER, "networkInterface", "cluster", message, value=name, accepted=one_of(known)
        )


def _command(role: Role, spec: ReplicaSpec, framework: Framework) -> Iterator[Problem]:
    said = spec.command or ""
    launches = framework.launches
    example = LAUNCH_EXAMPLE if launches else "python train.py"
    if not said.strip():
        accepted = f"a program and its arguments, such as {example}"
        yield Problem.of(role, "command", "required", "is required", accepted=accepted)
        return
    args = spec.args or ""
    if launches and (problem := launch_problem(role, framework, said, args)):
        yield problem


def _image(role: Role, spec: ReplicaSpec, framework: Framework, facts: Facts) -> Iterator[Problem]:
    image = spec.image
    fit = [r.reference for r in facts.runtimes if r.available and framework.name in r.frameworks]
    accepted = " or ".join(fit) or "nothing yet: no runtime of this machine has the framework"
    if not image:
        message = "is required: choose a runtime of this machine"
        yield Problem.of(role, "image", "required", message, accepted=accepted)
        return
    if not image.startswith(SCHEME):
        message = "must be a runtime of this machine, which runs processes and no containers"
        yield Problem.of(role, "image", "runtime", message, value=image, accepted=accepted)
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
    yield Problem.of(role, "image", "runtime", message, value=image, accepted=accepted)


def _gpu_memory(role: Role, spec: ReplicaSpec, facts: Facts) -> Iterator[Problem]:
    """A part by memory can be counted only of devices whose memory is known."""
    wanted = spec.compute.gpu_memory_request
    if spec.compute.gpu_request_type != MEMORY or wanted is None:
        return
    device = facts.detail.get("gpuMemory")
    if device and quantity_bytes(wanted) > device:
        words = bytes_in_words(device)
        message = f"must be at most {words}: no GPU of this machine has more memory"
        yield Problem.of(
            role, "compute.gpuMemoryRequest", "cluster", message, value=wanted,
            accepted=f"up to {device // 10**6}M",
        )  # fmt: skip
    elif device == 0:
        message = f"must not be {MEMORY}: the memory of this machine’s GPUs is not known"
        yield Problem.of(
            role, "compute.gpuRequestType", "cluster", message, value=MEMORY, accepted=PORTION
        )


def _working_directory(role: Role, spec: ReplicaSpec, places: Places) -> Iterator[Problem]:
    given = spec.working_dir
    if not given:
        return
    try:
        roots.folder(given, places)
    except roots.UnfitFolder as problem:
        yield Problem.of(
            role, "workingDir", "allowed", problem.message, value=given, accepted=problem.accepted
        )


def tool_problems(submission: Submission, tools_url: str) -> Iterator[Problem]:
    """Tools are opened through Gangline alone, each at an address that it makes."""
    launches = framework_of(submission.framework).launches
    for gang_role, place, tool in tools.urls(submission):
        role = gang_role.half
        path = f"exposedUrls.{place}"
        said: dict[str, Any] = {"key": tool.name, "label": f"Tool {tool.name}"}
        if not tools_url:
            message = "cannot be opened: this installation has no address for tools of this machine"
            yield Problem.of(role, path, "cluster", message, accepted="no tools", **said)
        elif launches and role is Role.WORKER and submission.master is not None:
            message = "must be one of the launcher, which alone runs a command here"
            yield Problem.of(role, path, "cluster", message, accepted="no tools of workers", **said)
        elif tool.url:
            said["label"] = f"Address of tool {tool.name}"
            message = "must be left out: tools of this machine have an address of Gangline’s"
            yield Problem.of(
                role, f"{path}.url", "cluster", message, value=tool.url, accepted="no value", **said
            )
