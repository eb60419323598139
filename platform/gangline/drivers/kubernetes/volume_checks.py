"""What is wrong with volumes on this cluster, and what is allowed and may disappoint. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from gangline.drivers.base import Submission
from gangline.drivers.facts import Facts
from gangline.spec.problems import Advice, Problem, Role
from gangline.spec.storage import Volume, without_slash
from gangline.spec.storage_classes import classes_of
from gangline.spec.typed import value_at
from gangline.spec.workload import ReplicaSpec

from . import volumes
from .volumes import ONE_NODE, PATH

SHARED_MEMORY = "/dev/shm"  # noqa: S108
MPI_PLACES = {"/etc/mpi": "the list of hosts", "/root/.ssh": "the keys of its SSH server"}


def check(submission: Submission, facts: Facts) -> Iterator[Problem]:
    """Refusals, at the attribute that is to be changed."""
    seen: dict[str, Mapping[str, Any]] = {}
    for role, spec in submission.halves:
        for index, volume in enumerate(volumes.of(spec)):
            told = _Told(role, index, volume)
            yield from _storage_class(told, facts)
            yield from _configured(told, facts)
            yield from _place(told, submission.framework, spec)
            name = volumes.claim_name(submission, volume)
            if seen.setdefault(name, volumes.definition(volume)) != volumes.definition(volume):
                message = "is already used for another claim with a different description"
                yield told.problem("claimName", "unique", message, "another name, or none")


def advise(submission: Submission, facts: Facts) -> Iterator[Advice]:
    """Whole sentences about volumes that can be had and may not do what is hoped for."""
    for role, spec in submission.halves:
        for index, volume in enumerate(volumes.of(spec)):
            if volume.existing_pvc:
                continue
            path, name = f"{PATH}.{index}", volume.name
            count = volumes.pods(submission, volume)
            if volumes.is_of_each_pod(submission, volume):
                sentence = f"Volume {name}: each of the {count} pods gets one of its own."
                yield Advice(role, path, sentence)
            elif volumes.access_modes(volume) == ONE_NODE and count > 1:
                sentence = (
                    f"Volume {name}: only one node may mount it, and {count} pods use it. Those on "
                    "a second node hang. Choose read-write by many nodes, or make it ephemeral, so "
                    "that each pod gets one of its own."
                )
                yield Advice(role, path, sentence)
            if not volumes.storage_class(volume) and _has_no_default(facts):
                sentence = (
                    f"Volume {name}: the cluster has no default storage class, so it waits until a "
                    f"matching volume is created by hand."
                )
                yield Advice(role, path, sentence)


class _Told:
    """Where problems with one volume are told."""

    def __init__(self, role: Role, index: int, volume: Volume) -> None:
        self.role, self.index, self.volume = role, index, volume

    def problem(
        self,
        attribute: str,
        code: str,
        accepted: str,
        source: str = "",
        label: str = "",
        **params: Any,
    ) -> Problem:
        name, declared = self.volume.name, volumes.field().attribute(attribute)
        return Problem.of(
            self.role,
            f"{PATH}.{self.index}.{attribute}",
            code,
            value=value_at(self.volume, attribute),
            accepted=accepted,
            source=source,
            key=name,
            label=f"{label or (declared.label if declared else attribute)} of volume {name}",
            **params,
        )


def _storage_class(told: _Told, facts: Facts) -> Iterator[Problem]:
    wanted, found = volumes.storage_class(told.volume), _classes(facts)
    if not wanted or found is None or wanted in found:
        return
    accepted = ", ".join(found) or "no class: the cluster has none"
    code = "cluster:no_class_of" if found else "cluster:no_class"
    yield told.problem("claimInfo.storageClass", code, accepted)


def _configured(told: _Told, facts: Facts) -> Iterator[Problem]:
    """What a new claim asks of its class although an administrator does not allow it (V18)."""
    volume, classes = told.volume, classes_of(facts.detail)
    rules = classes.of(volumes.storage_class(volume))
    if volume.existing_pvc or _classes(facts) is None:
        return
    source = f"storage class {rules.name}" if rules.name else "the cluster"
    for one in rules.breaches(volume):
        yield told.problem(one.path, one.code, source=source, **one.params)


def _place(told: _Told, framework: str, spec: ReplicaSpec) -> Iterator[Problem]:
    """Places where something else is mounted already."""
    taken: dict[str, str] = {}
    if spec.compute.large_shm_request:
        taken[SHARED_MEMORY] = "the large shared memory"
    if framework == "MPI":
        taken |= MPI_PLACES
    path = without_slash(told.volume.path)
    for place, what in taken.items():
        if path == place or path.startswith(f"{place}/"):
            accepted = "another path, such as /data"
            yield told.problem("path", "reserved:place", accepted, place=place, what=what)


def _classes(facts: Facts) -> dict[str, bool] | None:
    """Names of the storage classes, and whether each is the default; None while unknown."""
    listed = facts.detail.get("storageClasses")
    if listed is None:
        return None
    return {str(one["name"]): bool(one["default"]) for one in listed}


def _has_no_default(facts: Facts) -> bool:
    found = _classes(facts)
    return found is not None and not any(found.values())
