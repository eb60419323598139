"""What a Slurm cluster refuses, by value and in words, before anything is submitted."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gangline.drivers.base import Submission
from gangline.drivers.facts import Facts
from gangline.lib.sizes import bytes_in_words
from gangline.spec import lengths
from gangline.spec.frameworks import FRAMEWORKS, Framework, configuration_problem
from gangline.spec.launcher_commands import (
    LAUNCH_EXAMPLE,
    PROGRAM_EXAMPLE,
    choice_problems,
    launch_problem,
    runs,
    unfit,
)
from gangline.spec.problems import Problem, Role
from gangline.spec.slurm import TOKEN
from gangline.spec.types import quantity_bytes
from gangline.spec.workload import ReplicaSpec

from . import containers, data_checks
from .field_hints import no_launcher
from .rendering import NO_DEFAULTS, PARTITION, Defaults


def problems(
    submission: Submission, facts: Facts, defaults: Defaults = NO_DEFAULTS
) -> Iterator[Problem]:
    framework = FRAMEWORKS.get(submission.framework)
    if framework is None or configuration_problem(framework.name, submission.configuration):
        return  # the spec itself refuses these
    yield from _of_the_job(submission, facts, defaults)
    launcher = framework.launches
    yield from choice_problems(submission.worker, submission.master)
    yield from unfit(submission.worker.launcher, lambda one: no_launcher(one, facts))
    for role, spec in submission.halves:
        if framework.runs_script:
            yield from _tasks(submission)
        elif runs(
            framework.name,
            role,
            has_own_master=submission.master is not None,
            launcher=submission.worker.launcher,
        ):
            yield from _command(role, spec, framework, submission.worker.launcher)
        yield from containers.problems(role, spec, framework)
        yield from data_checks.problems(role, spec, facts)
        yield from _pools(role, spec, submission, facts)
        yield from _feature(role, spec, facts)
        if not (launcher and role is Role.MASTER):
            yield from _size(role, spec, submission, facts)


def _command(
    role: Role, spec: ReplicaSpec, framework: Framework, launcher: str | None
) -> Iterator[Problem]:
    said = spec.command or ""
    if not said.strip():
        example = LAUNCH_EXAMPLE if framework.launches and not launcher else PROGRAM_EXAMPLE
        accepted = f"a program and its arguments, such as {example}"
        yield Problem.of(role, "command", "required", accepted=accepted)
    elif framework.launches and (
        problem := launch_problem(role, framework, said, spec.args or "", launcher)
    ):
        yield problem


def _pools(
    role: Role, spec: ReplicaSpec, submission: Submission, facts: Facts
) -> Iterator[Problem]:
    partitions: Mapping[str, Any] | None = facts.detail.get("partitions")
    for index, pool in enumerate(spec.node_pools or ()):
        path = f"nodePools.{index}.name"
        known = submission.node_pools.get(pool.name)
        if known is None and (called := _pool_of(pool.name, submission)):
            code, accepted = "cluster:partition_pool", called
        elif known is None:
            code = "cluster:node_pool"
            accepted = ", ".join(sorted(submission.node_pools)) or "no value"
        elif not known[1]:
            continue  # the default one: Slurm’s own default partition
        elif known[0] != PARTITION or not TOKEN.fullmatch(known[1]):
            code = "cluster:no_partition"
            accepted = f"a node pool with the label {PARTITION} and a partition’s name"
        elif partitions is not None and known[1] not in partitions:
            code = "cluster:partition_gone"
            accepted = ", ".join(sorted(partitions)) or "no value"
        else:
            continue
        key, name = known or ("", "")
        yield Problem.of(
            role, path, code, value=pool.name, key=pool.name, accepted=accepted,
            partition=name, by=f"{key}={name}",
        )  # fmt: skip


def _tasks(submission: Submission) -> Iterator[Problem]:
    """A core for each at the least: Slurm would give more than was asked for."""
    tasks, cores = submission.worker.slurm.tasks_per_node, submission.worker.compute
    if tasks and math.ceil(cores.cpu_core_request or 0) < tasks:
        yield Problem.of(
            Role.WORKER, "compute.cpuCoreRequest", "cluster:tasks",
            value=cores.cpu_core_request, tasks=tasks, accepted=f"{tasks} or more",
        )  # fmt: skip


def _of_the_job(submission: Submission, facts: Facts, defaults: Defaults) -> Iterator[Problem]:
    asked = submission.worker.slurm
    named = (
        ("slurm.account", asked.account, "accounts"),
        ("slurm.qos", asked.qos, "qos"),
        ("slurm.reservation", asked.reservation, "reservations"),
        ("slurm.gpuType", asked.gpu_type, "gpuTypes"),
    )
    for path, value, kind in named:
        known = facts.detail.get(kind)
        if value and known and value not in known:
            accepted = ", ".join(known)
            yield Problem.of(Role.WORKER, path, f"cluster:{kind}", value=value, accepted=accepted)
    yield from _limits(submission, facts, asked.time_limit or lengths.seconds(defaults.time))


def _limits(submission: Submission, facts: Facts, length: int | None) -> Iterator[Problem]:
    """A job that none of its partitions can ever take."""
    known: Mapping[str, Any] = facts.detail.get("limits") or {}
    asked = _partitions(submission, facts)
    if not asked or any(name not in known for name in asked):
        return
    names = ", ".join(asked)
    longest = _most(known[name]["time"] for name in asked)
    if length and longest is not None and length > longest:
        most = lengths.in_words(longest)
        yield Problem.of(
            Role.WORKER, "slurm.timeLimit", "cluster:time_limit", value=length,
            most=most, partition=names, accepted=f"up to {most}",
        )  # fmt: skip
    largest = _most(known[name]["nodes"] for name in asked)
    nodes = sum(part.pods for part in submission.parts if not part.role.launches)
    if largest is not None and nodes > largest and not submission.worker.slurm.pack_replicas:
        yield Problem.of(
            Role.WORKER, "numWorkers", "cluster:partition_nodes", value=submission.num_workers,
            pods=nodes, nodes=largest, partition=names, accepted=f"at most {largest} replicas",
        )  # fmt: skip


def _partitions(submission: Submission, facts: Facts) -> list[str]:
    """Those that the workers' job may run in; empty: not known."""
    pools = (submission.node_pools.get(one.name) for one in submission.worker.node_pools or ())
    named = [known[1] for known in pools if known and known[1]]
    default = str(facts.detail.get("defaultPartition") or "")
    return named or ([default] if default else [])


def _most(limits: Iterable[int | None]) -> int | None:
    """The largest; None, which is no limit, is larger than any."""
    found = list(limits)
    return None if None in found else max(one for one in found if one is not None)


def _pool_of(partition: str, submission: Submission) -> str:
    """The node pool that a partition is, as a script names it."""
    pools = submission.node_pools.items()
    return next((name for name, said in pools if said == (PARTITION, partition)), "")


def _feature(role: Role, spec: ReplicaSpec, facts: Facts) -> Iterator[Problem]:
    given, known = spec.node_type, facts.detail.get("features")
    if not given:
        return
    accepted = ", ".join(known or ()) or "no value"
    if not TOKEN.fullmatch(given) or (known is not None and given not in known):
        yield Problem.of(role, "nodeType", "cluster:feature", value=given, accepted=accepted)


def _size(role: Role, spec: ReplicaSpec, submission: Submission, facts: Facts) -> Iterator[Problem]:
    """Only what can never be: each replica has a node of its own, and no node is larger."""
    detail = facts.detail
    largest: Mapping[str, Any] = detail.get("largest") or {}
    nodes = detail.get("nodes")
    pods = sum(part.pods for part in submission.parts if not part.role.launches)
    shares = submission.worker.slurm.pack_replicas
    if nodes is not None and pods > nodes and role is Role.WORKER and not shares:
        most = max(1, nodes - pods + submission.num_workers)
        yield Problem.of(
            role, "numWorkers", "cluster:nodes", value=submission.num_workers,
            pods=pods, nodes=nodes, accepted=f"1 to {most}",
        )  # fmt: skip
    gpus, cpus = spec.compute.gpu_devices_request, spec.compute.cpu_core_request
    if gpus and (most := largest.get("gpus")) is not None and gpus > most:
        yield Problem.of(
            role, "compute.gpuDevicesRequest", "cluster:gpus", value=gpus,
            most=most, accepted=f"0 to {most}",
        )  # fmt: skip
    if cpus and (most := largest.get("cpus")) is not None and cpus > most:
        yield Problem.of(
            role, "compute.cpuCoreRequest", "cluster:cores", value=cpus,
            most=most, accepted=f"up to {most}",
        )  # fmt: skip
    memory = spec.compute.cpu_memory_request or "0"
    if (most := largest.get("memory")) is not None and quantity_bytes(memory) > most:
        yield Problem.of(
            role, "compute.cpuMemoryRequest", "cluster:node_memory", value=memory,
            most=bytes_in_words(most), accepted=f"up to {most // 10**6}M",
        )  # fmt: skip
