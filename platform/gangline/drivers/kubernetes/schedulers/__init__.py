"""What schedules pods on a cluster, each behind one interface."""

from . import lacking
from .base import Change, Gang, SchedulerAdapter, Waiting
from .choosing import ADAPTERS, PLAIN, adapter, best, found
from .room import Room

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
    "lacking",
]
