"""What schedules pods on a cluster, each behind one interface."""

from . import insufficient_resources
from .base import Change, Gang, SchedulerAdapter, Waiting
from .room import Room
from .selection import ADAPTERS, PLAIN, adapter, best, found

__all__ = [
    "ADAPTERS",
    "PLAIN",
    "Change",
    "Gang",
    "Room",
    "SchedulerAdapter",
    "Waiting",
    "adapter",
    "best",
    "found",
    "insufficient_resources",
]
