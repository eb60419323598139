"""Rows of workloads: intent, attempts, replicas, events, drafts."""

from .attempt import Attempt, CreateState, Outcome, Replica, Rest
from .bulk import BulkAction, BulkItem, ItemState
from .draft import Draft
from .event import Event, IdempotencyKey, ScopeSeq
from .terminal import Terminal
from .tool_address import ToolAddress
from .tool_pass import ToolPass
from .workload import (
    MOST_SEARCHED,
    CredentialUse,
    Desired,
    Workload,
    WorkloadLabel,
    running_since,
    sortable_duration,
)

__all__ = [
    "MOST_SEARCHED",
    "Attempt",
    "BulkAction",
    "BulkItem",
    "CreateState",
    "CredentialUse",
    "Desired",
    "Draft",
    "Event",
    "IdempotencyKey",
    "ItemState",
    "Outcome",
    "Replica",
    "Rest",
    "ScopeSeq",
    "Terminal",
    "ToolAddress",
    "ToolPass",
    "Workload",
    "WorkloadLabel",
    "running_since",
    "sortable_duration",
]
