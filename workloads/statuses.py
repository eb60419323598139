"""The words people read for a workload's state, one table for pages, API and counts (R33)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Tone = Literal["good", "warn", "bad", "info", "neutral"]
Pill = Literal["running", "waiting", "attention", "completed", "stopped"]

STOP, RESUME, RERUN, COPY, DELETE = "stop", "resume", "rerun", "copy", "delete"
TEMPLATE = "template"


@dataclass(frozen=True, slots=True)
class Status:
    """How one status looks and what a person can do in it."""

    word: str
    tone: Tone
    shape: str
    """Symbol of the sprite without its `s-`; no two statuses of one tone share a shape."""
    pill: Pill
    meaning: str
    actions: tuple[str, ...]


_LIVE = (STOP, COPY, TEMPLATE, DELETE)
_ENDED = (RERUN, COPY, TEMPLATE, DELETE)

STATUSES: Mapping[str, Status] = MappingProxyType(
    {
        status.word: status
        for status in (
            Status("Creating", "info", "creating", "waiting",
                   "Being created on the cluster.", _LIVE),
            Status("Pending", "warn", "pending", "waiting",
                   "Waiting for resources or for the next attempt.", _LIVE),
            Status("Cannot start", "bad", "cannot", "attention",
                   "Asks for more than the cluster or queue has in total.", _LIVE),
            Status("Preempted", "warn", "preempted", "waiting",
                   "The cluster stopped the workload for one of a higher priority.", _LIVE),
            Status("Initializing", "info", "initializing", "waiting",
                   "Placed; the pods are starting.", _LIVE),
            Status("Running", "good", "running", "running", "All pods are running.", _LIVE),
            Status("Degraded", "warn", "degraded", "running", "Some pods have failed.", _LIVE),
            Status("Stopping", "neutral", "stopping", "stopped",
                   "The pods are stopping.", (COPY, TEMPLATE, DELETE)),
            Status("Stopped", "neutral", "suspended", "stopped",
                   "Stopped; holds no resources and can run again.",
                   (RESUME, COPY, TEMPLATE, DELETE)),
            Status("Resuming", "info", "resuming", "waiting", "Starting again.", _LIVE),
            Status("Deleting", "neutral", "deleting", "stopped",
                   "Being removed from the cluster.", (COPY, TEMPLATE)),
            Status("Failed", "bad", "failed", "attention", "Ended with an error.", _ENDED),
            Status("Completed", "neutral", "completed", "completed",
                   "All pods ended without an error.", _ENDED),
            Status("Unknown", "neutral", "unknown", "waiting",
                   "The cluster has not answered yet.", _LIVE),
        )
    }
)  # fmt: skip

PILLS: Mapping[Pill, str] = MappingProxyType(
    {
        "running": "Running",
        "waiting": "Waiting",
        "attention": "Needs attention",
        "completed": "Completed",
        "stopped": "Stopped",
    }
)

OF_DELETED = (COPY, TEMPLATE)
"""What a person can do with a workload that was deleted and is still kept."""

ENDED = frozenset({"Stopped", "Failed", "Completed"})
"""Statuses in which nothing runs and nothing will by itself."""


def statuses_with(action: str) -> tuple[str, ...]:
    """The words of those that offer ``action``."""
    return tuple(word for word, status in STATUSES.items() if action in status.actions)


def statuses_of(pill: str) -> tuple[str, ...]:
    """The words behind one pill; empty for a pill that does not exist."""
    return tuple(word for word, status in STATUSES.items() if status.pill == pill)


def status_of(phase: str, *, cannot_start: bool) -> str:
    """The word for a phase and its facts."""
    if cannot_start and phase in ("Pending", "Creating", "Resuming"):
        return "Cannot start"
    return _WORDS_OF_PHASES.get(phase, phase)


# `Updating` and `Terminating` are phases that other clients know; people read their own word.
_WORDS_OF_PHASES = {"Updating": "Initializing", "Terminating": "Stopping"}
