"""Git: the list of a repository's branches and tags, as `git clone` asks for it first.

https://git-scm.com/docs/gitprotocol-http, https://git-scm.com/docs/gitprotocol-pack
"""

import asyncio
import re
import shlex
import subprocess
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import urllib3

from gangline.drivers.addresses import AllowedAddresses, dial, is_host
from gangline.drivers.checks import State

from .places import Failed, Outcome, Repository, found
from .web import CONNECT_SECONDS, MOST_BYTES, READ_SECONDS, get, host_of, pool

SERVICE = "git-upload-pack"
SSH_PORT = 22
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_OBJECT = re.compile(r"[0-9a-f]{40,64}")
_AGENT = "git/2.0 (Gangline)"
FLUSH = b"0000"
NOWHERE = subprocess.DEVNULL


def tried(place: Repository, reach: AllowedAddresses) -> Outcome:
    is_web = urlsplit(place.url).scheme in ("http", "https")
    listed = _by_http(place, reach) if is_web else _by_ssh(place, reach)
    refs = dict(listed)
    if not refs:
        return found("empty", State.WARNING)
    if wanted := place.revision:
        if any(f"{start}{wanted}" in refs for start in ("", "refs/", "refs/tags/", "refs/heads/")):
            return found("revision", value=wanted)
        if wanted in refs.values():
            return found("revision", value=wanted)
        if _COMMIT.fullmatch(wanted):
            return found("commit", State.WARNING, value=wanted)
        raise Failed("no_revision", value=wanted)
    if wanted := place.branch:
        if f"refs/heads/{wanted}" in refs or f"refs/tags/{wanted}" in refs:
            return found("branch", value=wanted)
        raise Failed("no_branch", value=wanted)
    return found("repository")


def _by_http(place: Repository, reach: AllowedAddresses) -> Iterator[tuple[str, str]]:
    url = f"{place.url.rstrip('/')}/info/refs?service={SERVICE}"
    server, connections = host_of(url), pool(reach)
    headers = {"User-Agent": _AGENT}
    # As Git does: a login is sent only to who asks for it.
    answer = get(connections, url, headers)
    if answer.status == 401 and place.password:
        login = f"{place.user}:{place.password}"
        headers |= urllib3.make_headers(basic_auth=login.encode().decode("latin-1"))
        answer = get(connections, url, headers)
        if answer.status == 401:
            raise Failed("refused", server=server)
    if answer.status == 401:
        raise Failed("login", server=server)
    if answer.status == 403:
        raise Failed("refused" if place.password else "login", server=server)
    if answer.status in (404, 410):
        raise Failed("no_repository", server=server)
    if answer.status != 200:
        raise Failed("status", server=server, status=answer.status)
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip()
    if kind != f"application/x-{SERVICE}-advertisement":
        raise Failed("no_git", server=server)
    return _refs(answer.body, server)


def _by_ssh(place: Repository, reach: AllowedAddresses) -> Iterator[tuple[str, str]]:
    user, server, port, path = _ssh_parts(place.url)
    if not is_host(server):
        raise Failed("no_git", server=server)
    if not place.key:
        raise Failed("key_needed", server=server)
    return _refs(asyncio.run(_advertised(place, reach, user, server, port, path)), server)


def _ssh_parts(url: str) -> tuple[str, str, int, str]:
    """User, server, port and path of ``ssh://user@server:port/path`` or ``user@server:path``."""
    if url.startswith("ssh://"):
        parts = urlsplit(url)
        path = parts.path[1:] if parts.path.startswith("/~") else parts.path
        return parts.username or "", parts.hostname or "", parts.port or SSH_PORT, path
    user, _, rest = url.partition("@")
    server, _, path = rest.partition(":")
    return user, server, SSH_PORT, path


async def _advertised(
    place: Repository, reach: AllowedAddresses, user: str, server: str, port: int, path: str
) -> bytes:
    import asyncssh  # half a second that only those wait for who need it

    try:
        key = asyncssh.import_private_key(place.key)
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
        raise Failed("key_unread") from None
    found_at = await asyncio.to_thread(reach.vetted, server, port)
    made = await asyncio.to_thread(dial, found_at, port, CONNECT_SECONDS)
    try:
        async with asyncssh.connect(
            server,
            port,
            sock=made,
            username=user,
            client_keys=[key],
            # No host key of it is known: what fetches the repository takes the first one, too.
            known_hosts=None,
            config=None,
            agent_path=None,
            preferred_auth="publickey",
            connect_timeout=CONNECT_SECONDS,
            login_timeout=READ_SECONDS,
        ) as connection:
            body = await _heard(connection, path, server)
    except asyncssh.PermissionDenied:
        raise Failed("refused", server=server) from None
    except asyncssh.Error:
        raise Failed("lost", server=server) from None
    if not body:
        # Servers say in their own words that it is not there, or not for this key.
        raise Failed("no_repository", server=server)
    return body


async def _heard(connection: Any, path: str, server: str) -> bytes:
    """What the server says before it is asked for anything."""
    body = b""
    line = f"{SERVICE} {shlex.quote(path)}"
    async with connection.create_process(line, encoding=None, stderr=NOWHERE) as process:
        process.stdin.write(FLUSH)
        process.stdin.write_eof()
        while piece := await process.stdout.read(1 << 16):
            body += piece
            if len(body) > MOST_BYTES:
                raise Failed("large", server=server)
    return body


def _refs(body: bytes, server: str) -> Iterator[tuple[str, str]]:
    """Name and object of each branch and tag; none where the repository is empty."""
    at = 0
    while at + 4 <= len(body):
        try:
            length = int(body[at : at + 4], 16)
        except ValueError:
            raise Failed("no_git", server=server) from None
        if length < 4:
            at += 4
            continue
        line = body[at + 4 : at + length].split(b"\0")[0].decode("utf-8", "replace").rstrip("\n")
        at += length
        commit, _, name = line.partition(" ")
        if line.startswith("# service="):
            continue
        if not _OBJECT.fullmatch(commit):
            raise Failed("no_git", server=server)
        if name != "capabilities^{}":
            yield name, commit
