"""One adapter by its name, and which one to use on a cluster."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from .base import SchedulerAdapter
from .kai import Kai
from .kueue import Kueue
from .native import Native
from .plain import Plain
from .volcano import Volcano

PLAIN = Plain.name
_IN_ORDER: tuple[SchedulerAdapter, ...] = (Volcano(), Native(), Kai(), Kueue(), Plain())
ADAPTERS: Mapping[str, SchedulerAdapter] = MappingProxyType({one.name: one for one in _IN_ORDER})
"""By name; those that do most come first."""


def adapter(name: str) -> SchedulerAdapter:
    """The adapter of this name. Raises KeyError for one that this version does not know."""
    return ADAPTERS[name]


def found(versions: Collection[str]) -> tuple[str, ...]:
    """Names of the schedulers that a cluster has, from the group versions that it serves."""
    return tuple(one.name for one in _IN_ORDER if not one.api or one.api in versions)


def best(names: Collection[str]) -> str:
    """The scheduler to use where nobody chose one; never one that was not proven live."""
    return next((n for n, one in ADAPTERS.items() if one.is_proven and n in names), PLAIN)
