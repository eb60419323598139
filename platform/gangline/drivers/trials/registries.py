"""Registries of images: their login, as clients do it before they pull, and what they hold.

https://distribution.github.io/distribution/spec/auth/token/
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import parse_http_list, parse_keqv_list

import urllib3

from gangline.drivers.addresses import AllowedAddresses
from gangline.drivers.checks import State

from .places import Failed, Outcome, Registry, found
from .web import Answer, get, host_of, pool

HUB = "registry-1.docker.io"
HUB_NAMES = frozenset({"docker.io", "index.docker.io", "www.docker.com", "hub.docker.com", HUB})
MOST_BYTES = 1 << 20
PAGE, MOST_PAGES = 1000, 10
REPOSITORY = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
"""https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests"""


def tried(place: Registry, reach: AllowedAddresses) -> Outcome:
    root = _root(place.url)
    server, connections = host_of(root), pool(reach)
    wanted = root if place.lists is None else urljoin(root, f"{_listed(place.lists)}?n={PAGE}")
    headers: Mapping[str, str] = {}
    answer = _asked(connections, wanted, headers)
    needs_login = answer.status == 401
    if needs_login:
        headers = _logged_in(connections, place, root, answer)
        answer = _asked(connections, wanted, headers)
    if answer.status in (401, 403):
        raise Failed("refused" if needs_login else "no_registry", server=server)
    if place.lists and answer.status == 404:
        raise Failed("no_repository", server=server)
    if answer.status != 200:
        raise _not_a_registry(answer, server)
    if place.lists is not None:
        names = _names(connections, wanted, headers, answer, place.lists)
        return replace(found("registry", server=server), names=tuple(names))
    if not needs_login:
        return found("no_login", State.WARNING, server=server)
    return found("registry", server=server)


def _listed(repository: str) -> str:
    """Where names are listed, below the root."""
    return f"{repository}/tags/list" if repository else "_catalog"


def _logged_in(
    connections: urllib3.PoolManager, place: Registry, root: str, answer: Answer
) -> Mapping[str, str]:
    """The headers that a login needs, as the registry says it. Raises Failed."""
    kind, parts = _challenge(answer.headers.get("WWW-Authenticate", ""))
    login = f"{place.user}:{place.password}".encode().decode("latin-1")
    basic = urllib3.make_headers(basic_auth=login)
    if kind == "basic":
        return basic
    if kind == "bearer" and parts.get("realm"):
        token = _token(connections, place, root, parts, basic)
        return {"Authorization": f"Bearer {token}"}
    raise Failed("no_registry", server=host_of(root))


def _names(
    connections: urllib3.PoolManager,
    url: str,
    headers: Mapping[str, str],
    answer: Answer,
    repository: str,
) -> Iterator[str]:
    """All that is listed, page by page. Raises Failed."""
    server, key = host_of(url), "tags" if repository else "repositories"
    letters = _TAG if repository else REPOSITORY
    for _ in range(MOST_PAGES):
        try:
            listed = json.loads(answer.body)[key] or ()
        except (ValueError, LookupError, TypeError, RecursionError):
            raise Failed("no_registry", server=server) from None
        if not isinstance(listed, list | tuple):
            raise Failed("no_registry", server=server)
        yield from (one for one in listed if isinstance(one, str) and letters.fullmatch(one))
        after = re.match(r"<([^>]+)>; *rel=\"?next", answer.headers.get("Link", ""))
        if after is None:
            return
        url = urljoin(url, after[1])
        if host_of(url) != server:
            raise Failed("moved", server=server)
        answer = _asked(connections, url, headers)
        if answer.status != 200:
            raise _not_a_registry(answer, server)
    raise Failed("large", server=server)


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
    if parts.get("scope"):
        asks["scope"] = parts["scope"]
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
