"""The Python SDK of Gangline: `Client`, and `AsyncClient` for asyncio."""

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
__all__ = [
    "AsyncClient", "Client", "Conflict", "GanglineError", "Invalid", "NotAllowed", "NotFound",
    "NotSignedIn", "ServerFailed", "TooMany", "Unreachable", "connect",
]  # fmt: skip

if TYPE_CHECKING:
    from .clients import AsyncClient, Client, connect
    from .errors import (
        Conflict,
        GanglineError,
        Invalid,
        NotAllowed,
        NotFound,
        NotSignedIn,
        ServerFailed,
        TooMany,
        Unreachable,
    )

_IN_CLIENTS = frozenset({"AsyncClient", "Client", "connect"})


def __getattr__(name: str) -> Any:
    """Load what is used: an HTTP client is not needed to look at errors."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f".{'clients' if name in _IN_CLIENTS else 'errors'}", __name__)
    return getattr(module, name)
