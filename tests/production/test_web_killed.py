"""A web process that dies in mid-request loses nothing and doubles nothing: F-01 and F-02."""

import uuid
from collections.abc import Iterator

import httpx
import pytest

from scripts import stack as stacks
from tests.support.installation import Answer, Installation
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.needs_redis, pytest.mark.needs_postgres]


@pytest.fixture
def dying(
    stack: stacks.Stack, production: Installation, request: pytest.FixtureRequest
) -> Iterator[Installation]:
    """One web process that dies at the named point; afterwards two that do not."""
    stack.kill("web-1", "web-2")
    stack.start("web-1", GANGLINE_DEBUG="1", GANGLINE_FAIL_POINTS=f"{request.param}:kill@1")
    stack.wait_until_served()
    yield production
    for name in ("web-1", "web-2"):
        if stack.processes[name].poll() is not None:
            stack.start(name)
    stack.wait_until_ready()


def _post_until_it_dies(stack: stacks.Stack, site: Installation, body: object, key: str) -> Answer:
    """The client sees its connection end, and repeats the request with the same key."""
    with pytest.raises(httpx.HTTPError):
        site.post_workload(body, key=key)
    wait_for(lambda: stack.processes["web-1"].poll() is not None, seconds=5, what="the death")
    stack.start("web-2")
    stack.wait_until_served()
    return site.post_workload(body, key=key)


def _rows(stack: stacks.Stack, name: str) -> int:
    find = f"SELECT count(*) FROM workloads_workload WHERE name = '{name}'"
    return int(stack.postgres.run_sql(find, database="gangline"))


@pytest.mark.parametrize("dying", ["submit.after_commit"], indirect=True)
def test_after_the_commit_the_repeated_request_finds_its_workload(
    stack: stacks.Stack, dying: Installation
) -> None:
    """F-01."""
    body = dying.body("committed", "sh -c 'echo started'", workers=1)
    again = _post_until_it_dies(stack, dying, body, uuid.uuid4().hex)
    assert again.status == 202
    assert again.headers["idempotent-replayed"] == "true"
    assert _rows(stack, "committed") == 1
    workload = again.body["workloadId"]
    dying.until(workload, "Completed")
    assert dying.log(workload).count("started") == 1


@pytest.mark.parametrize("dying", ["submit.before_commit"], indirect=True)
def test_before_the_commit_nothing_is_stored_and_the_repetition_creates_it(
    stack: stacks.Stack, dying: Installation
) -> None:
    """F-02."""
    body = dying.body("uncommitted", "sh -c 'echo started'", workers=1)
    key = uuid.uuid4().hex
    with pytest.raises(httpx.HTTPError):
        dying.post_workload(body, key=key)
    wait_for(lambda: stack.processes["web-1"].poll() is not None, seconds=5, what="the death")
    assert _rows(stack, "uncommitted") == 0
    stack.start("web-2")
    stack.wait_until_served()
    again = dying.post_workload(body, key=key)
    assert again.status == 202
    assert "idempotent-replayed" not in again.headers
    assert _rows(stack, "uncommitted") == 1
