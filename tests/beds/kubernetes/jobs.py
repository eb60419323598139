"""Small jobs of the operators' kinds, as a person would write them: what tests start with."""

from collections.abc import Mapping
from typing import Any

from gangline.drivers.kubernetes.kinds import KINDS

from .bed import Bed, rules

IMAGE = "registry.example/training:1"


def job(
    framework: str,
    name: str,
    roles: Mapping[str, int],
    *,
    gpus: int = 0,
    behaviour: Mapping[str, Mapping[str, object]] | None = None,
    container: str = "",
) -> dict[str, Any]:
    """An object with this many replicas of each role; ``behaviour`` holds ``rules`` by role."""
    kind = KINDS[framework]
    replicas = {}
    for role, number in roles.items():
        values = (behaviour or {}).get(role, {})
        limits = {"cpu": "1", "memory": "1Gi"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
        main = {
            "name": container or kind.container,
            "image": IMAGE,
            "command": ["train"],
            "resources": {"limits": limits},
        }
        replicas[role] = {
            "replicas": number,
            "restartPolicy": "Never",
            "template": {
                "metadata": {"annotations": rules(**values)},
                "spec": {"containers": [main]},
            },
        }
    policy = {"cleanPodPolicy": "Running", "backoffLimit": 0}
    return {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": {"name": name},
        "spec": {kind.replicas: replicas, "runPolicy": policy},
    }


def conditions(bed: Bed, framework: str, namespace: str, name: str) -> set[str]:
    """Types of the conditions of a job that are true now."""
    answer = bed.client.get(KINDS[framework].resource, namespace, name)
    found = answer.body.get("status", {}).get("conditions", []) if answer.ok else []
    return {one["type"] for one in found if one["status"] == "True"}
