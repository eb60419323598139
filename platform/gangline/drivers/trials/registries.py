"""Registries of images: their login, as clients do it before they pull.

https://distribution.github.io/distribution/spec/auth/token/
"""

import json
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit
from urllib.request import parse_http_list, parse_keqv_list

import urllib3

from gangline.drivers.addresses import Reach
from gangline.drivers.checks import State

from .places import Failed, Outcome, Registry, found
from .web import Answer, get, host_of, pool

HUB = "registry-1.docker.io"
HUB_NAMES = frozenset({"docker.io", "index.docker.io", "www.docker.com", "hub.docker.com", HUB})
MOST_BYTES = 1 << 20


def tried(place: Registry, reach: Reach) -> Outcome:
    root = _root(place.url)
    server, connections = host_of(root), pool(reach)
    answer = _asked(connections, root, {})
    if answer.status == 200:
        return found("no_login", State.WARNING, server=server)
    if answer.status != 401:
        raise _not_a_registry(answer, server)
    kind, parts = _challenge(answer.headers.get("WWW-Authenticate", ""))
    login = f"{place.user}:{place.password}".encode().decode("latin-1")
    basic = urllib3.make_headers(basic_auth=login)
    if kind == "basic":
        answer = _asked(connections, root, basic)
    elif kind == "bearer" and parts.get("realm"):
        token = _token(connections, place, root, parts, basic)
        answer = _asked(connections, root, {"Authorization": f"Bearer {token}"})
    else:
        raise Failed("no_registry", server=server)
    if answer.status in (401, 403):
        raise Failed("refused", server=server)
    if answer.status != 200:
        raise _not_a_registry(answer, server)
    return found("registry", server=server)


def _root(url: str) -> str:
    """The address at which a registry says what it speaks."""
    scheme, has, rest = url.strip().partition("://")
    host = (rest if has else url.strip()).partition("/")[0]
    if host.lower() in HUB_NAMES:
        scheme, has, host = "https", "://", HUB
    return f"{scheme if has else 'https'}://{host}/v2/"


def _asked(connections: urllib3.PoolManager, url: str, headers: Mapping[str, str]) -> Answer:
    return get(connections, url, {"User-Agent": "Gangline", **headers}, MOST_BYTES)


def _not_a_registry(answer: Answer, server: str) -> Failed:
    if answer.status in (404, 405):
        return Failed("no_registry", server=server)
    return Failed("status", server=server, status=answer.status)


def _challenge(header: str) -> tuple[str, Mapping[str, str]]:
    """``Bearer realm="…",service="…"`` as its kind, in small letters, and its parts."""
    kind, _, rest = header.partition(" ")
    try:
        return kind.lower(), parse_keqv_list(parse_http_list(rest))
    except ValueError:
        return kind.lower(), {}


def _token(
    connections: urllib3.PoolManager,
    place: Registry,
    root: str,
    parts: Mapping[str, str],
    basic: Mapping[str, str],
) -> str:
    """A token for the login, from where the registry says that they are given out."""
    realm, server = urlsplit(parts["realm"]), host_of(root)
    is_worse = realm.scheme == "http" and root.startswith("https:")
    if realm.scheme not in ("http", "https") or is_worse or "@" in realm.netloc:
        raise Failed("no_registry", server=server)
    asks = {"service": parts.get("service", ""), "account": place.user, "client_id": "Gangline"}
    joined = "&" if realm.query else "?"
    url = f"{realm.geturl()}{joined}{urlencode(asks)}"
    answer = _asked(connections, url, basic)
    if answer.status in (400, 401, 403):
        raise Failed("refused", server=server)
    if answer.status != 200:
        raise Failed("status", server=realm.netloc, status=answer.status)
    try:
        given = json.loads(answer.body)
        token = given.get("token") or given.get("access_token")
    except (ValueError, AttributeError, RecursionError):
        token = None
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise Failed("no_registry", server=server)
    return token
