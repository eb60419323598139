"""What reaches the embedded server as HTTP, without a proxy in front."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn

from gangline.supervisor import embedded


async def _hello(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    monkeypatch.setattr(embedded, "HEADERS_SECONDS", 0.5)
    server = uvicorn.Server(
        uvicorn.Config(_hello, http=embedded.HttpProtocol, lifespan="off", log_level="error")
    )
    listener = socket.create_server(("127.0.0.1", 0))
    serving = asyncio.create_task(server.serve([listener]))
    yield listener.getsockname()[1]
    server.should_exit = True
    await asyncio.wait_for(serving, 10)


async def _answer(port: int, request: bytes) -> bytes:
    """Everything until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answer


HEADERS = b"Host: 127.0.0.1\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("target", "status"), [(b"/", b"200"), (b"http://evil.example/", b"400"), (b"*", b"400")]
)
async def test_only_paths_are_served(port: int, target: bytes, status: bytes) -> None:
    answer = await _answer(port, b"OPTIONS " + target + b" HTTP/1.1\r\n" + HEADERS)
    assert answer.split()[1] == status


@pytest.mark.parametrize("half", [b"", b"GET / HTTP/1.1\r\nHost: 127"])
async def test_headers_that_do_not_come_are_not_waited_for(port: int, half: bytes) -> None:
    assert await _answer(port, half) == b""
