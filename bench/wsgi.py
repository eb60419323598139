"""Requests through the whole of Django without a network: middleware, connection, view, answer."""

from dataclasses import dataclass
from io import BytesIO
from typing import Any

from django.core.wsgi import get_wsgi_application
from django.db import connection

_application = None


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
        path, _, query = path.partition("?")
        status = 0

        def start(line: str, headers: Any, trouble: Any = None) -> Any:
            nonlocal status
            status = int(line[:3])

        assert _application is not None
        answer = _application(self._environ(path, query), start)
        body = b"".join(answer)
        # Sends request_finished, which gives the database connection back.
        getattr(answer, "close")()  # noqa: B009  the protocol's type has no such method
        if status != 200:
            raise AssertionError(f"{status} for {path}?{query}: {body[:500].decode()}")
        return Answer(status, body)

    def queries(self, path: str) -> int:
        """Statements that one such request sends."""
        sent = 0

        def count(execute: Any, *rest: Any) -> Any:
            nonlocal sent
            sent += 1
            return execute(*rest)

        with connection.execute_wrapper(count):
            self.get(path)
        return sent

    def _environ(self, path: str, query: str) -> dict[str, Any]:
        return {
            "REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": query, "SCRIPT_NAME": "",
            "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1", "wsgi.url_scheme": "http",
            "wsgi.input": BytesIO(), "wsgi.errors": BytesIO(), "wsgi.version": (1, 0),
            "wsgi.multithread": True, "wsgi.multiprocess": False, "wsgi.run_once": False,
            **self._headers,
        }  # fmt: skip
