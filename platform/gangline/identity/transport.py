"""How Gangline talks to a provider: judged addresses, no proxy, no redirect, little and soon."""

import ssl
import time
from functools import cache
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from gangline.clusters.trials import reach
from gangline.drivers.addresses import guard

CONNECT_SECONDS, READ_SECONDS = 3.0, 5.0
WHOLE_SECONDS = 8.0
MOST_BYTES = 1 << 20
_CHUNK = 16 << 10


@cache
def _trusted() -> ssl.SSLContext:
    """The authorities of this machine, read once."""
    return ssl.create_default_context()


class TooMuch(requests.RequestException):
    """More, or for longer, than Gangline reads."""


class Guarded(HTTPAdapter):
    """Dials only what a test of a connection would, and reads answers to a limit."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        # What this machine trusts; `requests` alone would trust only the authorities it brings.
        super().init_poolmanager(*args, ssl_context=_trusted(), **kwargs)
        guard(self.poolmanager, reach(), plain=True)

    def send(  # type: ignore[override]
        self, request: requests.PreparedRequest, **options: Any
    ) -> requests.Response:
        began = time.monotonic()
        options |= {"stream": True, "timeout": (CONNECT_SECONDS, READ_SECONDS), "proxies": {}}
        response = super().send(request, **options)
        read = bytearray()
        try:
            for chunk in response.iter_content(_CHUNK):
                read += chunk
                if len(read) > MOST_BYTES:
                    raise TooMuch(f"more than {MOST_BYTES} bytes")
                if time.monotonic() - began > WHOLE_SECONDS:
                    raise TooMuch(f"longer than {WHOLE_SECONDS:g} seconds")
        finally:
            response.close()
        response._content = bytes(read)
        return response


def prepare(session: requests.Session) -> None:
    """Let ``session`` reach providers this way alone."""
    session.trust_env = False
    session.max_redirects = 0
    for scheme in ("https://", "http://"):
        session.mount(scheme, Guarded())


def session() -> requests.Session:
    made = requests.Session()
    prepare(made)
    return made
