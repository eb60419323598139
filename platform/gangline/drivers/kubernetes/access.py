"""What it takes to talk to one API server, and how a connection to it is trusted."""

import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .placement import NODE_TYPE
from .quantities import GPU
from .tool_services import Entrance


@dataclass(frozen=True, slots=True)
class ClusterCredentials:
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
    def from_json(cls, stored: Mapping[str, Any]) -> "ClusterCredentials":
        return cls(**stored)


@dataclass(frozen=True, slots=True)
class Options:
    """How the driver behaves on a cluster; nothing of it is secret."""

    namespace_prefix: str = "gangline"
    """A project's namespace is called ``<prefix>-<project>`` unless its policy names one."""
    scheduler: str = ""
    """Scheduler asked for by the admin; empty: the best of those that the cluster has."""
    log_cap: int = 2**30
    """Most bytes of log that are kept of one replica."""
    gpu: str = GPU
    """What the cluster's nodes call a GPU."""
    node_type: str = NODE_TYPE
    """The label in which nodes have their type."""
    priorities: frozenset[str] = frozenset()
    """The classes of priority that the cluster is known to have."""
    entrance: Entrance = field(default_factory=Entrance)
    """The way to tools."""
    data_dir: Path | None = None
    """Where logs are archived before their pods go."""


def trusting(access: ClusterCredentials) -> ssl.SSLContext:
    """Trusts the authority that the access names, or the system's; shows no certificate itself."""
    made = ssl.create_default_context(cadata=access.certificate_authority or None)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    # Python 3.13 sets it, and the authorities of many clusters are not made that strictly.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return made


def tls_context(access: ClusterCredentials) -> ssl.SSLContext:
    """… and shows the certificate of the access, where it has one."""
    made = trusting(access)
    if access.client_certificate:
        # The ssl module reads files only; these two live in memory and have no name.
        with _in_memory(access.client_certificate) as chain, _in_memory(access.client_key) as key:
            # Without a password given, OpenSSL would ask the terminal for that of a sealed key.
            made.load_cert_chain(chain, key, password="")
    return made


@contextmanager
def _in_memory(text: str) -> Iterator[str]:
    handle = os.memfd_create("gangline")
    try:
        os.write(handle, text.encode())
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)
