"""Requests through the whole of Django without a network: middleware, connection, view, answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection

_application = None
TOKEN = "b" * 32


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes


class Browser:
    """One person's requests; opens and closes the database connection as the server does."""

    def __init__(self, **headers: str) -> None:
        global _application
        if _application is None:
            _application = get_wsgi_application()
        self._headers = headers

    def get(self, path: str) -> Answer:
        return self._send(path, REQUEST_METHOD="GET")

    def post(self, path: str, fields: Sequence[tuple[str, str]]) -> Answer:
        """Send a form, with the token of Django's that a form has."""
        body = urlencode([*fields, ("csrfmiddlewaretoken", TOKEN)]).encode()
        cookie = f"{self._headers['HTTP_COOKIE']}; {settings.CSRF_COOKIE_NAME}={TOKEN}"
        return self._send(
            path, REQUEST_METHOD="POST", HTTP_COOKIE=cookie, CONTENT_LENGTH=str(len(body)),
            CONTENT_TYPE="application/x-www-form-urlencoded", **{"wsgi.input": BytesIO(body)},
        )  # fmt: skip

    def _send(self, path: str, **more: Any) -> Answer:
        path, _, query = path.partition("?")
        status = 0

        def start(line: str, headers: Any, trouble: Any = None) -> Any:
            nonlocal status
            status = int(line[:3])

        assert _application is not None
        answer = _application(self._environ(path, query) | more, start)
        body = b"".join(answer)
        # Sends request_finished, which gives the database connection back.
        getattr(answer, "close")()  # noqa: B009  the protocol's type has no such method
        if status != 200:
            raise AssertionError(f"{status} for {path}?{query}: {body[:500].decode()}")
        return Answer(status, body)

    def queries(self, work: str | Callable[[], object]) -> int:
        """Statements that one request sends: a GET of a path, or what ``work`` does."""
        sent = 0

        def count(execute: Any, *rest: Any) -> Any:
            nonlocal sent
            sent += 1
            return execute(*rest)

        with connection.execute_wrapper(count):
            self.get(work) if isinstance(work, str) else work()
        return sent

    def _environ(self, path: str, query: str) -> dict[str, Any]:
        return {
            "PATH_INFO": path, "QUERY_STRING": query, "SCRIPT_NAME": "",
            "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1", "wsgi.url_scheme": "http",
            "wsgi.input": BytesIO(), "wsgi.errors": BytesIO(), "wsgi.version": (1, 0),
            "wsgi.multithread": True, "wsgi.multiprocess": False, "wsgi.run_once": False,
            **self._headers,
        }  # fmt: skip
