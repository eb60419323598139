"""What is wrong with volumes on this cluster, and what is allowed and may disappoint. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from gangline.drivers.base import Submission
from gangline.drivers.facts import Choice, Facts
from gangline.spec.problems import Advice, Problem, Role
from gangline.spec.storage import ClaimInfo, Volume, without_slash
from gangline.spec.typed import value_at
from gangline.spec.types import quantity_bytes
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
                message = "stands for another claim already, which is described differently"
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
                    f"Volume {name}: the cluster has no default storage class, so it waits until "
                    "somebody makes a fitting volume by hand."
                )
                yield Advice(role, path, sentence)


def choices(facts: Facts) -> Mapping[str, tuple[Choice, ...]]:
    """The storage classes of the cluster; nothing before a probe has listed them."""
    found = _classes(facts)
    if found is None:
        return {}
    default = next((name for name, is_default in found.items() if is_default), "")
    first = Choice("", f"Cluster’s default ({default or 'there is none'})")
    open_ = [name for name in found if _rules(facts, name).get("forWorkloads", True)]
    return {"claimInfo.storageClass": (first, *map(Choice, open_))}


class _Told:
    """Where problems with one volume are told."""

    def __init__(self, role: Role, index: int, volume: Volume) -> None:
        self.role, self.index, self.volume = role, index, volume

    def problem(
        self, attribute: str, rule: str, message: str, accepted: str, source: str = ""
    ) -> Problem:
        name, declared = self.volume.name, volumes.field().attribute(attribute)
        return Problem.of(
            self.role,
            f"{PATH}.{self.index}.{attribute}",
            rule,
            message,
            value_at(self.volume, attribute),
            accepted,
            source,
            key=name,
            label=f"{declared.label if declared else attribute} of volume {name}",
        )


def _storage_class(told: _Told, facts: Facts) -> Iterator[Problem]:
    wanted, found = volumes.storage_class(told.volume), _classes(facts)
    if not wanted or found is None or wanted in found:
        return
    accepted = ", ".join(found) or "no class: the cluster has none"
    message = f"is not on the cluster, which has {accepted}" if found else "is not on the cluster"
    yield told.problem("claimInfo.storageClass", "cluster", message, accepted)


def _rules(facts: Facts, name: str) -> Mapping[str, Any]:
    """What an administrator said of the class."""
    found: Mapping[str, Any] = facts.detail.get("storageRules", {}).get(name, {})
    return found


def _configured(told: _Told, facts: Facts) -> Iterator[Problem]:
    """What a new claim asks of its class although an administrator does not allow it (V18)."""
    volume, claim = told.volume, told.volume.claim_info
    default = next((n for n, is_default in (_classes(facts) or {}).items() if is_default), "")
    name = volumes.storage_class(volume) or default
    rules = _rules(facts, name)
    if not rules or volume.existing_pvc or claim is None:
        return
    source = f"storage class {name}"
    if not rules.get("forWorkloads", True):
        message = "cannot be used by volumes of workloads"
        yield told.problem("claimInfo.storageClass", "options", message, "another class", source)
        return
    kind = "ephemeral" if volume.ephemeral else "persistent"
    if not rules.get(kind, True):
        message = f"cannot be {kind}"
        accepted = "false" if volume.ephemeral else "true"
        yield told.problem("ephemeral", "options", message, accepted, source)
    for mode, is_wanted in _modes(claim).items():
        if is_wanted and not rules.get(mode, True):
            at = f"claimInfo.accessModes.{mode}"
            yield told.problem(at, "options", "is not offered", "another access mode", source)
    volume_mode = claim.volume_mode or "Filesystem"
    if not rules.get(volume_mode, True):
        other = "Block" if volume_mode == "Filesystem" else "Filesystem"
        yield told.problem("claimInfo.volumeMode", "options", f"must be {other}", other, source)
    yield from _sized(told, claim.size, rules, source)


def _modes(claim: ClaimInfo) -> Mapping[str, bool]:
    modes = claim.access_modes
    if modes is None:
        return {"readWriteOnce": True}
    return {
        "readWriteOnce": modes.read_write_once is not False,
        "readOnlyMany": bool(modes.read_only_many),
        "readWriteMany": bool(modes.read_write_many),
    }


def _sized(
    told: _Told, size: str | None, rules: Mapping[str, Any], source: str
) -> Iterator[Problem]:
    if size is None:
        return
    low, high, step = (rules.get(name) for name in ("min", "max", "step"))
    wanted = quantity_bytes(size)
    span = f"between {low} and {high}" if low and high else f"at least {low}" if low else ""
    span = span or f"at most {high}"
    if low and wanted < quantity_bytes(low):
        yield told.problem("claimInfo.size", "min", f"must be {span}", span, source)
    elif high and wanted > quantity_bytes(high):
        yield told.problem("claimInfo.size", "max", f"must be {span}", span, source)
    elif step and (wanted - (quantity_bytes(low) if low else 0)) % quantity_bytes(step):
        steps = f"in steps of {step}" + (f" from {low}" if low else "")
        yield told.problem("claimInfo.size", "step", f"must be {steps}", steps, source)


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
            message = f"must not be in {place}: that is where {what} is"
            yield told.problem("path", "reserved", message, "another path, such as /data")


def _classes(facts: Facts) -> dict[str, bool] | None:
    """Names of the storage classes, and whether each is the default; None while unknown."""
    listed = facts.detail.get("storageClasses")
    if listed is None:
        return None
    return {str(one["name"]): bool(one["default"]) for one in listed}


def _has_no_default(facts: Facts) -> bool:
    found = _classes(facts)
    return found is not None and not any(found.values())
