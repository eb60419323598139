"""Parts of the API that a key or token can be limited to, by the beginnings of their addresses."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Area:
    label: str
    begins: tuple[str, ...]
    """Addresses without ``/api/v1/``: each with everything below it."""


AREAS: Mapping[str, Area] = MappingProxyType(
    {
        "workloads": Area(
            "Workloads",
            ("views", "workloads", "workload-categories", "workload-priorities", "workload-types"),
        ),
        "assets": Area(
            "Assets",
            (
                "asset", "datavolumes", "storage-class-configuration", "storage-classes",
                "user-credentials", "workload-templates",
            ),
        ),
        "organization": Area(
            "Clusters, departments and projects",
            ("clusters", "k8s/clusters", "network-topologies", "node-pools", "nodes", "org-unit"),
        ),
        "policies": Area("Policies", ("policy",)),
        "people": Area("Users, groups and access rules", ("authorization", "groups", "users")),
        "settings": Area("Settings and audit log", ("audit", "idps", "k8s/setting", "security")),
    }
)  # fmt: skip
MAKES_KEYS = (
    "access-keys", "administration", "apps", "me/password", "service-accounts",
    "user-applications",
)  # fmt: skip
"""In no area: who may come here would make a key without limits."""
OPEN = ("device", "docs", "me", "openapi.json", "openapi.yaml", "token")
"""For every key: it may know whose it is, and what there is."""
SEPARATOR = ","


def area_of(path: str) -> str | None:
    """The area of an address, ``""`` for one that every key opens, None for one in no area."""
    steps = [step for step in path.split("/") if step]
    if steps[:1] == ["api"]:
        steps = steps[1:]
    below = "/".join(steps[1:])
    if _is_below(below, MAKES_KEYS):
        return None
    if _is_below(below, OPEN):
        return ""
    return next((key for key, area in AREAS.items() if _is_below(below, area.begins)), None)


def _is_below(path: str, begins: Iterable[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in begins)


def labels(areas: str) -> str:
    """``Workloads, Policies`` of what is stored."""
    return ", ".join(AREAS[key].label for key in areas.split(SEPARATOR) if key in AREAS)
