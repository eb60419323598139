"""`gangline-manage watch`: it ends when told to, and a second one takes over (R10)."""

import signal
import time
from collections.abc import Iterator

import pytest

from scripts import stack as stacks
from tests.support.installation import Installation
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.needs_redis, pytest.mark.needs_postgres]


@pytest.fixture
def second(stack: stacks.Stack) -> Iterator[str]:
    """A second watcher, standing by; afterwards the usual one is there again, alone."""
    name = "watch-2"
    stack.start(name, like="watch")
    wait_for(lambda: _listens(stack) == 2, seconds=30, what="the second watcher to stand by")
    yield name
    process = stack.processes.pop(name)
    process.terminate()
    process.wait(10)
    if stack.processes["watch"].poll() is not None:
        stack.start("watch")
        wait_for(lambda: _listens(stack) == 1, seconds=30, what="the watcher to be back")


def _listens(stack: stacks.Stack) -> int:
    find = "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN gangline_work'"
    return int(stack.postgres.run_sql(find, database="gangline"))


def _holder(stack: stacks.Stack) -> str:
    find = "SELECT owner FROM db_lease WHERE name = 'ticker' AND until > now()"
    return stack.postgres.run_sql(find, database="gangline")


def test_it_ends_in_order_and_its_roles_are_taken_over_at_once(
    stack: stacks.Stack, production: Installation, second: str
) -> None:
    leader = stack.processes["watch"]
    wait_for(lambda: f":{leader.pid}:" in _holder(stack), seconds=20, what="the first to lead")
    leader.send_signal(signal.SIGTERM)
    began = time.monotonic()
    leader.wait(5)
    assert leader.returncode == 0
    follower = stack.processes[second]
    # Given back, not run out: that would take the 15 s of a lease.
    wait_for(lambda: f":{follower.pid}:" in _holder(stack), seconds=5, what="the second to lead")
    assert time.monotonic() - began < 10
    workload = production.started("taken-over", "sh -c 'echo started'", workers=1)
    production.until(workload, "Completed")


def test_a_killed_one_is_replaced_when_its_leases_run_out(
    stack: stacks.Stack, production: Installation, second: str
) -> None:
    pids = {name: stack.processes[name].pid for name in ("watch", second)}

    def leading() -> str | None:
        owner = _holder(stack)
        return next((name for name, pid in pids.items() if f":{pid}:" in owner), None)

    leader = wait_for(leading, seconds=20, what="one to lead")
    assert leader is not None
    stack.kill(leader)
    workload = production.started("inherited", "sh -c 'echo started'", workers=1)
    production.until(workload, "Completed", seconds=40)
    assert production.log(workload).count("started") == 1
