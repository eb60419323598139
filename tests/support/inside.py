"""The command line and the SDK against this very process: the same database and transaction."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import httpx
from django.test import Client as Visitor

from gangline_cli.main import main
from gangline_sdk import Client
from tests.support.world import World

URL = "http://testserver"


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


@contextmanager
def served() -> Iterator[None]:
    """Within it every `Client` of the SDK talks to this process."""
    with patch.object(Client, "_client", _inside):
        yield


def command(world: World, person: str, folder: Path, *words: str) -> Done:
    """Run one as somebody whose files lie in ``folder``."""
    environment = {
        "GANGLINE_CONFIG_DIR": str(folder),
        "GANGLINE_URL": URL,
        "GANGLINE_TOKEN": world.token(person) if person in world.people else "gangline_x",
    }
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, environment),
        served(),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = main(list(words))
    return Done(code, out.getvalue(), err.getvalue())


def _inside(client: Client) -> httpx.Client:
    return httpx.Client(**client._options(), transport=httpx.MockTransport(_answered))


def _answered(request: httpx.Request) -> httpx.Response:
    answer = Visitor().generic(
        request.method,
        request.url.raw_path.decode(),
        request.content,
        content_type=request.headers.get("Content-Type", ""),
        headers={
            name: request.headers[name]
            for name in ("Authorization", "Idempotency-Key", "If-Match", "User-Agent")
            if name in request.headers
        },
    )
    return httpx.Response(answer.status_code, content=answer.content)
