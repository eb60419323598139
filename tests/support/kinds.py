"""Engines of tests, declared as those of the product are."""

from collections.abc import Callable
from typing import Any

from gangline.drivers.kind import ClusterKind, NoSettings, Settings
from gangline.drivers.registry import DRIVERS


class OwnKind(ClusterKind):
    """A kind of cluster whose driver a test makes from the connection."""

    label = "Test"

    def __init__(
        self, key: str, make: Callable[[Any], Any], connection: type[Settings] = NoSettings
    ) -> None:
        self.key, self.make, self.connection = key, make, connection  # type: ignore[misc]

    def open(self, connection: Any, access: Any, **known: Any) -> Any:
        return self.make(connection)


def declare(key: str, make: Callable[[Any], Any], connection: type[Settings] = NoSettings) -> None:
    """Make a kind known to this process; what was connected before is forgotten."""
    from gangline.clusters import connections

    DRIVERS[key] = OwnKind(key, make, connection)
    connections.forget_all()
