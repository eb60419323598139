"""What schedules pods on a cluster, each behind one interface."""

from .base import Gang, Room, SchedulerAdapter, Waiting
from .choosing import ADAPTERS, PLAIN, adapter, best, found

__all__ = [
    "ADAPTERS",
    "PLAIN",
    "Gang",
    "Room",
    "SchedulerAdapter",
    "Waiting",
    "adapter",
    "best",
    "found",
]
