"""What a Kubernetes cluster refuses, by value and in words, before anything is submitted.

Whether it has the framework's operator is judged from the facts for every kind of cluster alike.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gangline.drivers.base import Submission
from gangline.drivers.facts import Facts
from gangline.lib.sizes import bytes_in_words
from gangline.spec.frameworks import FRAMEWORKS, Framework, configuration_problem, has_gpus
from gangline.spec.launcher_commands import (
    PROGRAM_EXAMPLE,
    choice_problems,
    launch_problem,
    runs,
    unfit,
)
from gangline.spec.problems import Problem, Role
from gangline.spec.types import quantity_bytes
from gangline.spec.workload import ReplicaSpec

from . import environment, names, priorities, volume_checks
from .field_hints import no_launcher
from .kinds import kind_of

LOCAL_SCHEME = "local://"


def check(submission: Submission, facts: Facts) -> list[Problem]:
    """All refusals that need no look at the cluster."""
    return list(_problems(submission, facts))


def _problems(submission: Submission, facts: Facts) -> Iterator[Problem]:
    framework = FRAMEWORKS.get(submission.framework)
    if framework is None or configuration_problem(framework.name, submission.configuration):
        return  # the spec itself refuses these
    launcher = submission.worker.launcher
    kind = kind_of(framework.name, launcher)
    pods = {part.role.name: part.pods for part in submission.parts}
    if problem := names.problem(kind, submission.name, pods):
        yield problem
    yield from priorities.check(submission, facts)
    yield from choice_problems(submission.worker, submission.master)
    yield from unfit(launcher, lambda one: no_launcher(one, facts))
    for role, spec in submission.halves:
        if spec.restart_policy == "Always" and not kind.keeps_running:
            yield Problem.of(
                role, "restartPolicy", "cluster:restarts", value="Always",
                kind=kind.resource.kind, accepted="Never or OnFailure",
            )  # fmt: skip
        yield from _node_pools(role, spec, submission)
        yield from _image(role, spec)
        if runs(
            framework.name,
            role,
            has_own_master=submission.master is not None,
            launcher=launcher,
        ):
            yield from _command(role, spec, framework, launcher)
        yield from _variables(role, spec, framework)
        yield from _size(role, spec, facts, with_gpus=has_gpus(framework.name, role))
    yield from volume_checks.check(submission, facts)


def _node_pools(role: Role, spec: ReplicaSpec, submission: Submission) -> Iterator[Problem]:
    for index, pool in enumerate(spec.node_pools or ()):
        if pool.name not in submission.node_pools:
            yield Problem.of(
                role, f"nodePools.{index}.name", "cluster:node_pool", value=pool.name,
                key=pool.name, accepted=", ".join(sorted(submission.node_pools)) or "no value",
            )  # fmt: skip


def _image(role: Role, spec: ReplicaSpec) -> Iterator[Problem]:
    image = spec.image or ""
    accepted = "a container image that the nodes can pull, such as registry.local/ddp:1.4"
    if not image:
        yield Problem.of(role, "image", "required", accepted=accepted)
    elif image.startswith(LOCAL_SCHEME):
        yield Problem.of(role, "image", "container", value=image, accepted=accepted)


def _command(
    role: Role, spec: ReplicaSpec, framework: Framework, launcher: str | None
) -> Iterator[Problem]:
    """Without one the image's own runs, which then starts the ranks."""
    command = spec.command or ""
    if not framework.launches:
        return
    if not command.strip():
        if launcher:
            accepted = f"the program that {launcher} starts, such as {PROGRAM_EXAMPLE}"
            yield Problem.of(role, "command", "required", accepted=accepted)
        return
    if problem := launch_problem(role, framework, command, spec.args or "", launcher):
        yield problem


def _variables(role: Role, spec: ReplicaSpec, framework: Framework) -> Iterator[Problem]:
    for name in [item.name for item in spec.environment_variables or ()]:
        if reason := environment.reserved(framework.name, name):
            yield Problem.of(
                role, "environmentVariables", "reserved", key=name, reason=reason,
                accepted="other names",
            )  # fmt: skip


def _size(role: Role, spec: ReplicaSpec, facts: Facts, *, with_gpus: bool) -> Iterator[Problem]:
    """Only what can never be: one pod that no node of the cluster could hold, were it empty.

    What a probe has not counted is taken on trust.
    """
    largest: Mapping[str, Any] = (facts.detail.get("nodes") or {}).get("largest") or {}
    gpus, cpus = spec.compute.gpu_devices_request, spec.compute.cpu_core_request
    if with_gpus and (most := largest.get("gpus")) is not None and gpus and gpus > most:
        yield Problem.of(
            role,
            "compute.gpuDevicesRequest",
            "cluster:gpus" if most else "cluster:no_gpus",
            most=most,
            value=gpus,
            accepted=f"0 to {most}",
        )
    if (most := largest.get("cpus")) is not None and cpus and cpus > most:
        yield Problem.of(
            role,
            "compute.cpuCoreRequest",
            "cluster:cpus",
            most=f"{most:g}",
            value=cpus,
            accepted=f"up to {most:g}",
        )
    memory = spec.compute.cpu_memory_request or "0"
    if (most := largest.get("memory")) is not None and quantity_bytes(memory) > most:
        yield Problem.of(
            role,
            "compute.cpuMemoryRequest",
            "cluster:memory",
            most=bytes_in_words(most),
            value=memory,
            accepted=f"up to {most // 10**6}M",
        )
