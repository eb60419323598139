"""Rows of workloads: intent, attempts, replicas, events, drafts."""

from .attempt import Attempt, CreateState, Outcome, Replica, Rest
from .draft import Draft
from .event import Event, IdempotencyKey, ScopeSeq
from .workload import Desired, Workload

__all__ = [
    "Attempt",
    "CreateState",
    "Desired",
    "Draft",
    "Event",
    "IdempotencyKey",
    "Outcome",
    "Replica",
    "Rest",
    "ScopeSeq",
    "Workload",
]
