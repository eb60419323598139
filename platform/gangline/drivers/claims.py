"""Claims on storage as manifests, for workloads and for data sources. Pure.

https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/persistent-volume-claim-v1/
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from gangline.drivers.base import Unknown
from gangline.spec.shapes import split_pairs
from gangline.spec.storage import AccessModes, ClaimInfo, Volume


@runtime_checkable
class ListsClaims(Protocol):
    """A driver whose cluster tells which claims there are."""

    def claims_there(self, namespace: str) -> Sequence[str] | Unknown:
        """Names of those in the namespace that Gangline has not made, by one call."""


CLAIM, CONFIG_MAP, SECRET = "PersistentVolumeClaim", "ConfigMap", "Secret"
Object = dict[str, Any]


def access_modes(volume: Volume) -> list[str]:
    """In Kubernetes' words."""
    modes = (volume.claim_info or ClaimInfo()).access_modes or AccessModes()
    known = {
        "ReadWriteOnce": modes.read_write_once,
        "ReadOnlyMany": modes.read_only_many,
        "ReadWriteMany": modes.read_write_many,
    }
    return [mode for mode, is_chosen in known.items() if is_chosen]


def storage_class(volume: Volume) -> str:
    """Empty: the default one of the cluster."""
    return (volume.claim_info and volume.claim_info.storage_class) or ""


def is_block(volume: Volume) -> bool:
    return volume.claim_info is not None and volume.claim_info.volume_mode == "Block"


def claim_spec(volume: Volume) -> Object:
    """What a claim for ``volume`` asks of the cluster.

    https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/persistent-volume-claim-v1/
    """
    spec: Object = {
        "accessModes": access_modes(volume),
        "volumeMode": "Block" if is_block(volume) else "Filesystem",
        "resources": {"requests": {"storage": volume.claim_info and volume.claim_info.size}},
    }
    if name := storage_class(volume):  # left out, the cluster takes its default
        spec["storageClassName"] = name
    return spec


def parameters(volume: Volume) -> dict[str, str]:
    """Annotations of the claim, which the provisioner of its class reads."""
    given = volume.claim_info.added_attr_values if volume.claim_info else None
    return dict(split_pairs(given or ""))


def manifest(kind: str, namespace: str, name: str) -> Object:
    """An object that others make: it is only looked for."""
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"namespace": namespace, "name": name},
    }


def claim(namespace: str, name: str, volume: Volume, marks: Mapping[str, str]) -> Object:
    """A claim of Gangline's own, with these labels."""
    found = manifest(CLAIM, namespace, name)
    found["metadata"]["labels"] = dict(marks)
    if given := parameters(volume):
        found["metadata"]["annotations"] = given
    return {**found, "spec": claim_spec(volume)}
