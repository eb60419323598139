"""A client of the API as one person, by token."""

from typing import Any

from django.test import Client

from tests.support.world import World


class ApiClient:
    """Sends JSON and reads JSON."""

    def __init__(self, world: World, person: str) -> None:
        self._client = Client(headers=world.headers(person))

    def get(self, path: str, **query: Any) -> Any:
        return self._client.get(f"/api/v1/{path}", query)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self._client.post(
            f"/api/v1/{path}",
            data={} if body is None else body,
            content_type="application/json",
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )

    def raw(self, path: str, body: str | bytes, content_type: str) -> Any:
        """Send a body as it is."""
        return self._client.generic("POST", f"/api/v1/{path}", body, content_type=content_type)

    def delete(self, path: str) -> Any:
        return self._client.delete(f"/api/v1/{path}")

    def request(self, method: str, path: str, body: Any = None) -> Any:
        return self._client.generic(
            method, f"/api/v1/{path}", data=body or b"", content_type="application/json"
        )
