"""HTTP of a trial: no proxy, no cookies, only judged addresses, and no way to another server."""

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import urllib3

from gangline.drivers.addresses import AddressRefused, AllowedAddresses, NameUnknown, causes, guard

from .places import Failed

CONNECT_SECONDS, READ_SECONDS = 5.0, 9.0
MOST_BYTES = 16 << 20
HOPS = 3
MOVED = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


def pool(reach: AllowedAddresses) -> urllib3.PoolManager:
    """Connections that go only where ``reach`` allows; an answer that leads on is an answer."""
    made = urllib3.PoolManager(
        retries=urllib3.Retry(False),
        timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
    )
    guard(made, reach, plain=True)
    return made


def get(
    connections: urllib3.PoolManager, url: str, headers: Mapping[str, str], most: int = MOST_BYTES
) -> Answer:
    """GET, following only what stays at the same server. Raises Failed.

    ``most``: bytes of the answer; a longer one fails.
    """
    origin = urlsplit(url)[:2]
    for _ in range(HOPS + 1):
        response = connections.request(
            "GET",
            url,
            headers={"Accept-Encoding": "identity", **headers},
            redirect=False,
            preload_content=False,
        )
        try:
            body = response.read(most + 1, decode_content=False)
        finally:
            response.close()
        if len(body) > most:
            raise Failed("large", server=host_of(url))
        location = response.headers.get("Location", "")
        if response.status not in MOVED or not location:
            return Answer(response.status, response.headers, body)
        try:
            url = urljoin(url, location)
            is_elsewhere = urlsplit(url)[:2] != origin
        except ValueError:
            is_elsewhere = True
        if is_elsewhere:
            break
    raise Failed("moved", server=origin[1])


def host_of(url: str) -> str:
    """Name and port of a server, without a login."""
    return urlsplit(url).netloc.rpartition("@")[2]


def told(error: BaseException, server: str) -> Failed:
    """What went wrong on the way: a category, never the text of a server."""
    for cause in causes(error):
        if isinstance(cause, NameUnknown):
            return Failed("name", server=server)
        if isinstance(cause, AddressRefused):
            return Failed("address", raw=str(cause))
        if isinstance(cause, ssl.SSLCertVerificationError):
            why = re.sub(r"[^ -~]", "", cause.verify_message)[:120]
            return Failed("certificate", server=server, why=why)
        if isinstance(cause, ssl.SSLError):
            return Failed("tls", server=server)
        if isinstance(cause, ConnectionRefusedError):
            return Failed("closed", server=server)
        if isinstance(cause, TimeoutError | urllib3.exceptions.TimeoutError):
            return Failed("late", server=server)
    return Failed("lost", server=server)
