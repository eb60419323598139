"""Certificates, keys and kubeconfigs made for tests, valid, expired or wrong on purpose."""

import base64
import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as PEM."""

    certificate: str
    key: str


@cache
def pair(
    name: str = "gangline", *, begins: int = -1, ends: int = 365, server: bool = False
) -> Pair:
    """A self-signed one that holds from so many days on until so many days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins * DAY)
        .not_valid_after(now + ends * DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    if server:
        here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        builder = builder.add_extension(x509.SubjectAlternativeName([here]), critical=False)
    made = builder.sign(key, hashes.SHA256())
    return Pair(
        made.public_bytes(Encoding.PEM).decode(),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
    )


def data(pem: str) -> str:
    """As a ``…-data`` field holds it."""
    return base64.b64encode(pem.encode()).decode()


def jwt(**claims: Any) -> str:
    """A token that says ``claims`` and is signed by nobody."""
    head, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "none"}, claims)
    )
    return f"{head}.{body}.c2lnbmVk"


def kubeconfig(
    cluster: Mapping[str, Any] | None = None,
    user: Mapping[str, Any] | None = None,
    **top: Any,
) -> dict[str, Any]:
    """One that is accepted; what is given replaces fields, and None takes them away."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "lab",
                "cluster": _merged(
                    {
                        "server": "https://192.0.2.7:6443",
                        "certificate-authority-data": data(pair("authority").certificate),
                    },
                    cluster,
                ),
            }
        ],
        "users": [{"name": "me", "user": _merged({"token": "s3cr3t-t0ken"}, user)}],
        "contexts": [{"name": "work", "context": {"cluster": "lab", "user": "me"}}],
        "current-context": "work",
        **top,
    }


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any] | None) -> dict[str, Any]:
    return {k: v for k, v in {**base, **(changes or {})}.items() if v is not None}
