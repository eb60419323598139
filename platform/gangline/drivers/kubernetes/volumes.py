"""Volumes of a workload: the claims that are made with it, and how its pods mount them. Pure.

A claim that several pods can share is an object of its own. One that only one node may write to and
that need not last is made by the cluster for each pod instead.
https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/#generic-ephemeral-volumes
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from gangline.drivers.base import Submission
from gangline.drivers.claims import (
    access_modes,
    claim_spec,
    is_block,
    parameters,
    storage_class,
)
from gangline.spec.catalogue import SpecField, catalogue
from gangline.spec.storage import Volume
from gangline.spec.storage_classes import PARAMETERS
from gangline.spec.workload import ReplicaSpec

PATH = "storage.pvc"
PERSISTENCY, PERSISTENT, EPHEMERAL = "gangline.dev/persistency", "persistent", "ephemeral"
"""Label of a claim: what Gangline empties at a stop, and what it keeps for the next attempt."""
VOLUME = "gangline.dev/volume"
ONE_NODE = ["ReadWriteOnce"]
_LATER = frozenset({PARAMETERS})
"""What claims did not have at first: without it, the names of those that are there stay."""
_DIGITS = 6

Object = dict[str, Any]
__all__ = ["access_modes", "claim_spec", "is_block", "storage_class"]


def field() -> SpecField:
    """The list as the spec declares it."""
    return catalogue(ReplicaSpec)[PATH]


def of(spec: ReplicaSpec) -> Sequence[Volume]:
    """The volumes of one role."""
    return spec.storage.pvc or ()


def claim_name(submission: Submission, volume: Volume) -> str:
    """The same on every call, and for every role that describes the claim alike."""
    if volume.claim_name:
        return volume.claim_name
    workload = submission.identifiers.get("GANGLINE_WORKLOAD_ID") or submission.name
    told = json.dumps([workload, volume.name, definition(volume)], sort_keys=True)
    digest = hashlib.sha256(told.encode()).hexdigest()[:_DIGITS]
    return f"{submission.name}-{volume.name}-{digest}"


def mounted(name: str) -> str:
    """What the spec of a pod calls a volume."""
    return f"volume-{name}"


def definition(volume: Volume) -> Object:
    """What makes two claims of one name the same one; where they are mounted does not matter."""
    shapes = ("claimInfo.", "existingPvc", "ephemeral")
    described = field().complete(volume.model_dump(by_alias=True))
    return {
        path: value
        for path, value in described.items()
        if path.startswith(shapes) and (value is not None or path not in _LATER)
    }


def pods(submission: Submission, volume: Volume) -> int:
    """How many pods mount the claim."""
    name = claim_name(submission, volume)
    return sum(
        count
        for _, count, spec in submission.parts
        if any(claim_name(submission, other) == name for other in of(spec))
    )


def is_of_each_pod(submission: Submission, volume: Volume) -> bool:
    """Whether every pod gets a volume of its own, as no two of them could share one."""
    alone = access_modes(volume) == ONE_NODE and not volume.existing_pvc
    return bool(alone and volume.ephemeral) and pods(submission, volume) > 1


def claims(submission: Submission) -> list[Object]:
    """The claims that must exist before the pods do, without namespace and owner."""
    made: dict[str, Object] = {}
    for _, _, spec in submission.parts:
        for volume in of(spec):
            if volume.existing_pvc or is_of_each_pod(submission, volume):
                continue
            name = claim_name(submission, volume)
            persistency = EPHEMERAL if volume.ephemeral else PERSISTENT
            made[name] = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {
                    "name": name,
                    "labels": {VOLUME: volume.name, PERSISTENCY: persistency},
                    **_annotated(volume),
                },
                "spec": claim_spec(volume),
            }
    return list(made.values())


def mount(submission: Submission, volumes: Sequence[Volume], spec: Object) -> None:
    """Add ``volumes`` to the spec of a pod, and to its first container."""
    container = spec["containers"][0]
    for volume in volumes:
        name = mounted(volume.name)
        spec.setdefault("volumes", []).append({"name": name, **_source(submission, volume)})
        if is_block(volume):
            device = {"name": name, "devicePath": volume.path}
            container.setdefault("volumeDevices", []).append(device)
        else:
            place = {"name": name, "mountPath": volume.path, **_read_only(volume)}
            container.setdefault("volumeMounts", []).append(place)


def mark(spec: Object, marks: Mapping[str, str]) -> None:
    """Label what the cluster makes for each pod as everything else of the attempt."""
    for volume in spec.get("volumes", ()):
        if template := volume.get("ephemeral", {}).get("volumeClaimTemplate"):
            template["metadata"]["labels"] = template["metadata"]["labels"] | marks


def _source(submission: Submission, volume: Volume) -> Object:
    if is_of_each_pod(submission, volume):
        marks = {VOLUME: volume.name}
        about = {"labels": marks, **_annotated(volume)}
        template = {"metadata": about, "spec": claim_spec(volume)}
        return {"ephemeral": {"volumeClaimTemplate": template}}
    claim = {"claimName": claim_name(submission, volume), **_read_only(volume)}
    return {"persistentVolumeClaim": claim}


def _annotated(volume: Volume) -> Object:
    given = parameters(volume)
    return {"annotations": given} if given else {}


def _read_only(volume: Volume) -> Object:
    return {"readOnly": True} if volume.read_only else {}
