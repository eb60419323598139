"""Jobs of a scheduler that Gangline has not made, as a driver of such clusters tells of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from .base import Result, Unknown


@dataclass(frozen=True, slots=True)
class OthersJob:
    """A job of the cluster's scheduler that Gangline has not made."""

    number: str
    """As the scheduler writes it, ``120_3`` for a part of an array."""
    name: str
    owner: str
    state: str
    """In the scheduler's own word."""
    reason: str
    """Why it waits, as a sentence; else empty."""
    pool: str
    nodes: int
    priority: int = 0
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    """Of one that waits: when the scheduler expects it to start."""
    time_limit: str = ""

    @property
    def waits(self) -> bool:
        return bool(self.reason)


@runtime_checkable
class ListsJobs(Protocol):
    """A driver whose scheduler lists all jobs of the cluster, whoever made them."""

    def others_jobs(self, install: str) -> Sequence[OthersJob] | Unknown:
        """Those that wait or run, and are not of this installation, by one call."""

    def job_text(self, number: str) -> str | Unknown:
        """All that the scheduler tells of one, with its script where Gangline may read it."""

    def cancel_job(self, install: str, number: str) -> Result:
        """Refused where Gangline's account may not, or it belongs to a workload of its own."""
