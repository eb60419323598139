"""Certificates, keys and tokens of a cluster: read, judged and dated, never shown.

No message repeats what it judges.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from gangline.drivers.kind import Identity

from .access import ClusterCredentials

MOST_CERTIFICATES = 50
LONGEST_TOKEN = 16_384
_TOKEN = re.compile(r"[\x21-\x7e]+")
_ACCOUNT = re.compile(r"system:serviceaccount:([a-z0-9.-]{1,253}):([a-z0-9.-]{1,253})")
_BEGIN = "-----BEGIN "


class Unfit(ValueError):
    """What is wrong with a certificate, key or token, without any of it."""


def moment(when: datetime) -> str:
    """``3 May 2027, 14:05 UTC``."""
    when = when.astimezone(UTC)
    return f"{when.day} {when:%b %Y, %H:%M} UTC"


def identity_of(access: ClusterCredentials) -> Identity:
    """What may be shown of an identity that was found fit. Raises Unfit for any other."""
    if access.token_file:
        own = "the service account of Gangline’s own pod"
        return Identity("in-cluster", own, server=access.server)
    if access.token:
        name, ends_at = _claims(access.token)
        mark = fingerprint(access.token.encode())
        return Identity("token", name, mark, ends_at, access.server)
    leaf = certificates(access.client_certificate)[0]
    return Identity(
        "certificate",
        _common_name(leaf),
        fingerprint(leaf.public_bytes(Encoding.DER)),
        leaf.not_valid_after_utc,
        access.server,
    )


def fingerprint(secret: bytes) -> str:
    """Enough to tell two secrets apart, and useless for anything else."""
    return hashlib.sha256(b"gangline\0" + secret).hexdigest()[:16]


def certificates(pem: str) -> list[x509.Certificate]:
    """The certificates of a PEM text. Raises Unfit."""
    if _BEGIN not in pem:
        raise Unfit("is not in PEM format: it has no line “-----BEGIN CERTIFICATE-----”")
    if "PRIVATE KEY" in pem:
        raise Unfit("contains a private key where only certificates belong")
    try:
        found = x509.load_pem_x509_certificates(pem.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise Unfit("is not a certificate in PEM form that can be read") from error
    if len(found) > MOST_CERTIFICATES:
        raise Unfit(f"holds {len(found)} certificates; at most {MOST_CERTIFICATES} are accepted")
    return found


def check_dates(found: Iterable[x509.Certificate], now: datetime) -> None:
    """Raises Unfit when every certificate is outside its dates: one that holds is enough."""
    worst = ""
    for one in found:
        if now > one.not_valid_after_utc:
            worst = f"expired on {moment(one.not_valid_after_utc)}; ask for a new one"
        elif now < one.not_valid_before_utc:
            worst = (
                f"is not valid before {moment(one.not_valid_before_utc)}"
                "; compare the clocks of the two machines"
            )
        else:
            return
    raise Unfit(worst or "contains no certificate")


def check_pair(certificate: str, key: str, now: datetime) -> None:
    """A client's certificate with the key that belongs to it. Raises Unfit."""
    leaf = certificates(certificate)[0]
    check_dates([leaf], now)
    if "ENCRYPTED" in key:
        raise Unfit("comes with a key that has a password; use one without")
    try:
        private = load_pem_private_key(key.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise Unfit("comes with a key that is not a private key in PEM form") from error
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if private.public_key().public_bytes(*form) != leaf.public_key().public_bytes(*form):
        raise Unfit("does not belong to the key beside it")


def check_token(token: str, now: datetime) -> None:
    """A bearer token that can stand in a header and has not ended. Raises Unfit."""
    if len(token) > LONGEST_TOKEN:
        raise Unfit(f"has {len(token)} characters; at most {LONGEST_TOKEN} are accepted")
    if not _TOKEN.fullmatch(token):
        raise Unfit("must be one line of plain characters without spaces")
    ends_at = _claims(token)[1]
    if ends_at is not None and ends_at < now:
        raise Unfit(f"expired on {moment(ends_at)}; make a new one")


def decoded(text: str) -> str:
    """The PEM text of a ``…-data`` field. Raises Unfit."""
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("ascii")
    except (binascii.Error, ValueError) as error:
        raise Unfit("is not base64 of a PEM text") from error


def _claims(token: str) -> tuple[str, datetime | None]:
    """Service account and end of a JSON web token, unverified; nothing of any other token."""
    pieces = token.split(".")
    try:
        body = pieces[1] if len(pieces) == 3 else ""
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        end, subject = claims.get("exp"), _ACCOUNT.fullmatch(str(claims.get("sub")))
        until = datetime.fromtimestamp(end, UTC) if isinstance(end, int | float) else None
    except (ValueError, AttributeError, OverflowError, OSError, RecursionError):
        return "", None
    return (f"service account {subject[1]}/{subject[2]}" if subject else ""), until


def _common_name(leaf: x509.Certificate) -> str:
    try:
        names = leaf.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    except ValueError:
        return ""
    text = str(names[0].value) if names else ""
    return text[:100] if text.isprintable() else ""
