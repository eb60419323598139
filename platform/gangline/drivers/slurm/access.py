"""A login node, and how Gangline signs in there."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

LOCAL, SSH = "local", "ssh"


@dataclass(frozen=True, slots=True)
class ClusterCredentials:
    """``key`` is a private key in OpenSSH's own form; ``public`` the line for authorized_keys."""

    way: str = LOCAL
    host: str = ""
    port: int = 22
    user: str = ""
    key: str = field(default="", repr=False)
    public: str = ""
    host_key: str = ""
    """The one that is pinned, as a line of ``type base64``."""

    def as_json(self) -> Mapping[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "ClusterCredentials":
        return cls(**stored)
