"""What it takes to talk to one API server. Secrets never show in a representation."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Access:
    """One API server and one identity: a token, or a client certificate with its key.

    ``server`` is an https address. Certificates and the key are PEM texts.
    """

    server: str
    certificate_authority: str = ""
    """Empty: those that the operating system trusts."""
    tls_server_name: str = ""
    token: str = field(default="", repr=False)
    token_file: str = ""
    """In-cluster only: the service account's token, which the kubelet replaces now and then."""
    client_certificate: str = ""
    client_key: str = field(default="", repr=False)

    def as_json(self) -> dict[str, Any]:
        """All of it, secrets included: to be sealed before it is stored."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Access":
        return cls(**stored)
