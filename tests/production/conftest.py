"""The real sets of processes: production with its services, and the embedded server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import stack as stacks
from tests.support.installation import Embedded, Installation, embedded, end_all, of_stack
from tests.support.tcpx import Proxy, proxy


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[stacks.Stack]:
    """PostgreSQL, Redis behind a proxy, two web processes, a worker and a watcher."""
    folder = tmp_path_factory.mktemp("stack") / "data"
    with stacks.prepared(folder, durable=True) as made, proxy(made.redis.port) as between:
        made.environment["GANGLINE_REDIS_URL"] = made.redis.url.replace(
            str(made.redis.port), str(between.port)
        )
        made.environment["GANGLINE_LOCAL_GPUS"] = "2"
        _BETWEEN[id(made)] = between
        made.start_all()
        yield made
        made.kill()
        end_all(folder)


_BETWEEN: dict[int, Proxy] = {}


@pytest.fixture
def redis_proxy(stack: stacks.Stack) -> Iterator[Proxy]:
    """The way to Redis; after the test it is open again."""
    between = _BETWEEN[id(stack)]
    yield between
    between.pass_on()


@pytest.fixture(scope="package")
def production(stack: stacks.Stack) -> Installation:
    """The stack as its administrator sees it."""
    return of_stack(stack)


@pytest.fixture(scope="package")
def embedded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """`gangline-manage run` on SQLite, with the demo organisation."""
    folder: Path = tmp_path_factory.mktemp("embedded") / "data"
    with embedded(folder) as server:
        server.start()
        server.sign_in("administrator")
        yield server


@pytest.fixture(
    params=[
        "embedded",
        pytest.param("production", marks=[pytest.mark.needs_redis, pytest.mark.needs_postgres]),
    ]
)
def site(request: pytest.FixtureRequest) -> Installation:
    """The same product in each of its two modes."""
    name = "embedded_server" if request.param == "embedded" else "production"
    found: Installation = request.getfixturevalue(name)
    return found
