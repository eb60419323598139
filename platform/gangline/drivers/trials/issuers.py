"""Trying an OpenID Connect provider: its description of itself, and the keys that it signs with."""

import json
from typing import Any
from urllib.parse import urlsplit

import urllib3

from gangline.drivers.addresses import AllowedAddresses
from gangline.drivers.checks import State

from .places import Failed, Issuer, Outcome, found
from .web import get, host_of, pool

MOST_BYTES = 1 << 20
NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")
ASYMMETRIC = ("RS", "PS", "ES", "EdDSA")
_ACCEPT = {"Accept": "application/json"}


def tried(place: Issuer, reach: AllowedAddresses) -> Outcome:
    """Read the description and the keys, as signing in does. Raises Failed."""
    server = host_of(place.url)
    connections = pool(reach)
    about = _object(connections, f"{place.url.rstrip('/')}/.well-known/openid-configuration")
    if about.get("issuer") != place.url:
        said = "".join(c for c in str(about.get("issuer")) if c.isascii() and c.isprintable())
        raise Failed("other_issuer", server=server, value=said[:200])
    for name in NEEDED:
        if not _is_address(about.get(name)):
            raise Failed("no_provider", server=server)
    signing = about.get("id_token_signing_alg_values_supported", [])
    if not any(str(one).startswith(ASYMMETRIC) for one in signing):
        raise Failed("no_signature", server=server)
    keys = _object(connections, about["jwks_uri"]).get("keys")
    if not isinstance(keys, list) or not any(_signs(one) for one in keys):
        raise Failed("no_keys", server=server)
    methods = about.get("code_challenge_methods_supported")
    if isinstance(methods, list) and "S256" not in methods:
        return found("issuer_no_pkce", State.WARNING, server=server)
    return found("issuer", server=server)


def _object(connections: urllib3.PoolManager, url: str) -> dict[str, Any]:
    server = host_of(url)
    answer = get(connections, url, _ACCEPT, MOST_BYTES)
    if answer.status == 404:
        raise Failed("no_provider", server=server)
    if answer.status != 200:
        raise Failed("status", server=server, status=answer.status)
    try:
        read = json.loads(answer.body)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise Failed("no_provider", server=server)
    return read


def _is_address(text: Any) -> bool:
    parts = urlsplit(text) if isinstance(text, str) else None
    return parts is not None and parts.scheme in ("https", "http") and bool(parts.hostname)


def _signs(key: Any) -> bool:
    kinds = ("RSA", "EC", "OKP")
    return isinstance(key, dict) and key.get("kty") in kinds and key.get("use", "sig") == "sig"
