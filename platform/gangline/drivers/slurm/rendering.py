"""From a submission to the form that is frozen with an attempt. JSON data only, no side effect."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gangline.drivers.base import Part, Submission
from gangline.drivers.mapping import apply
from gangline.spec.frameworks import FRAMEWORKS, has_gpus
from gangline.spec.problems import Role

from . import mapping

FORM = "gangline.dev/slurm/v1"
PARTITION = "partition"
"""Key of the node pools of such a cluster: the value is the name of a partition."""
TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
"""What may stand in an ``#SBATCH`` line without quotes: names of partitions and features."""


def render(submission: Submission) -> dict[str, Any]:
    """The parts stand in the order of their ranks: the master, where there is one, is rank 0."""
    made: dict[str, Any] = {
        "form": FORM,
        "framework": submission.framework,
        "configuration": submission.configuration,
        "identifiers": dict(submission.identifiers),
        "parts": [_part(submission, part) for part in ranked(submission)],
    }
    return apply(mapping.GANG, submission.worker, made)


def ranked(submission: Submission) -> list[Part]:
    """A master is rank 0, or the launcher."""
    return sorted(submission.parts, key=lambda part: part.role is not Role.MASTER)


def launches(framework: str) -> bool:
    """The master runs once, on the first node, and starts the ranks itself."""
    known = FRAMEWORKS.get(framework)
    return known is not None and not known.master_trains


def _part(submission: Submission, part: Part) -> dict[str, Any]:
    made = apply(mapping.ROLE, part.spec, {"role": str(part.role), "pods": part.pods})
    asks = made.setdefault("asks", {})
    if not has_gpus(submission.framework, part.role):
        asks.pop("gpus", None)
    if names := asks.pop("partitions", None):
        known = submission.node_pools
        asks["partitions"] = [known[name][1] for name in names if known.get(name, ("", ""))[1]]
    if late := mapping.late(part.spec.environment_variables):
        made["late"] = late
    return made


def components(native: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """Tasks and what each of them asks for, in the order of the ranks.

    Neighbours that ask for the same are one component: only different ones need a heterogeneous
    job, for which Slurm searches less often. A launcher shares the first node.
    """
    found: list[tuple[int, Mapping[str, Any]]] = []
    for part in started(native):
        pods, asks = int(part["pods"]), part.get("asks") or {}
        if found and found[-1][1] == asks:
            found[-1] = (found[-1][0] + pods, asks)
        else:
            found.append((pods, asks))
    return found


def started(native: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts that have nodes of their own."""
    parts: list[Mapping[str, Any]] = list(native["parts"])
    if launches(native["framework"]) and len(parts) > 1:
        return [part for part in parts if part["role"] != Role.MASTER]
    return parts


def replicas(native: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Role, index and rank of each; a launcher counts as none of the ranks."""
    launcher = launches(native["framework"])
    rank = 0
    for part in native["parts"]:
        is_launcher = launcher and part["role"] == Role.MASTER
        for index in range(int(part["pods"])):
            yield part["role"], index, 0 if is_launcher else rank
            rank += not is_launcher
