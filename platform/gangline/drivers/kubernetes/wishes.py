"""What a role asks of the scheduler: it says in its own way what becomes of it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from gangline.drivers.base import Submission
from gangline.drivers.mapping import apply
from gangline.spec.frameworks import FRAMEWORKS

from . import mapping, placement, sharing
from .environment import MASTER, WORKER


@dataclass(frozen=True, slots=True)
class Wishes:
    """Of one role. ``share`` are annotations, empty for whole GPUs."""

    topology: tuple[str, str] | None = None
    share: Mapping[str, str] = field(default_factory=dict)


def of_roles(submission: Submission, unsupported: Collection[str]) -> dict[str, Wishes]:
    """By role. What the scheduler does not know counts as not said: a policy may hold elsewhere."""
    halves = {WORKER: submission.worker, MASTER: submission.master}
    return {
        role: _of(submission, role, {p: v for p, v in values.items() if p not in unsupported})
        for role, values in halves.items()
        if values is not None
    }


def _of(submission: Submission, role: str, values: Mapping[str, Any]) -> Wishes:
    native = apply(mapping.ROLE, values, {})
    # A launcher trains nothing.
    trains = role == WORKER or FRAMEWORKS[submission.framework].master_trains
    share = sharing.annotations(native) if trains else {}
    return Wishes(placement.topology_of(native), share)
