"""Losing Redis loses nothing."""

import os
import signal
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import quantiles

import pytest
import redis

from scripts import stack as stacks
from tests.support.installation import ENDED, Answer, Installation
from tests.support.tcpx import Proxy
from tests.support.visitor import live_page, visitor
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.needs_redis, pytest.mark.needs_postgres]
BANNER = "The message service is down."
SUBMISSIONS = 30
MESSAGE_SECONDS = 5.0


@pytest.fixture
def whole(stack: stacks.Stack, production: Installation, redis_proxy: Proxy) -> Iterator[None]:
    """Redis in use before the test, and again after it."""
    wait_for(lambda: not _noted(stack), seconds=30, what="messages to be sent by Redis")
    yield
    redis_proxy.pass_on()
    if stack.redis.process.poll() is not None:
        stack.redis.start_again()


def _noted(stack: stacks.Stack) -> bool:
    """Whether the ticker has written down that it works without Redis."""
    find = "SELECT count(*) FROM db_systemnotice WHERE name = 'message-service'"
    return stack.postgres.run_sql(find, database="gangline") != "0"


def _told(stack: stacks.Stack, workload: str) -> bool:
    """Whether a message about the workload was published and not yet taken."""
    with redis.Redis.from_url(stack.redis.url) as client:
        queues = [key for key in client.scan_iter("*local.*") if client.type(key) == b"list"]
        return any(
            workload.encode() in body for key in queues for body in client.lrange(key, 0, -1)
        )


def _submit_many(site: Installation, prefix: str, count: int) -> list[Answer]:
    body = site.body(prefix, "sh -c 'echo started'", workers=1)

    def submit(number: int) -> Answer:
        return site.post_workload({**body, "name": f"{prefix}-{number}"}, key=uuid.uuid4().hex)

    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(submit, range(count)))


def _p95(answers: list[Answer]) -> float:
    return quantiles([answer.seconds for answer in answers], n=20)[-1]


def _all_completed(site: Installation, answers: list[Answer], seconds: float) -> None:
    ids = {answer.body["workloadId"] for answer in answers}

    def missing() -> set[str]:
        return ids - {row["id"] for row in site.workloads() if row["status"] == "Completed"}

    wait_for(lambda: not missing(), seconds=seconds, every=0.3, what=f"all {len(ids)} to complete")
    for workload in ids:
        assert site.log(workload).count("started") == 1, f"{workload} ran more than once"


def test_work_whose_message_was_lost_starts_within_five_seconds(
    stack: stacks.Stack, production: Installation, whole: None
) -> None:
    """F-16: the message is there, no worker has taken it, and then Redis forgets everything."""
    usual = _seconds_to_start(production)
    worker = stack.processes["worker"]
    os.killpg(worker.pid, signal.SIGSTOP)
    try:
        workload = production.started("forgotten", "sh -c 'echo started'", workers=1)
        wait_for(lambda: _told(stack, workload), seconds=10, what="the message")
        with redis.Redis.from_url(stack.redis.url) as client:
            client.flushall()
        lost = time.monotonic()
    finally:
        os.killpg(worker.pid, signal.SIGCONT)
    begun = production.folder / "runs" / workload / "1" / "ctl" / "claims" / "worker-0"
    # A message counts for 5 s; then the ticker tells again, and it takes what it takes here.
    limit = MESSAGE_SECONDS + 1 + 2 * usual
    wait_for(begun.exists, seconds=limit, every=0.02, what="the gang to start")
    assert time.monotonic() - lost <= limit
    production.until(workload, "Completed")


def _seconds_to_start(site: Installation) -> float:
    """How long it takes from the answer to a running process on this machine, as busy as it is."""
    workload = site.started("usual", "sh -c 'echo started'", workers=1)
    answered = time.monotonic()
    begun = site.folder / "runs" / workload / "1" / "ctl" / "claims" / "worker-0"
    wait_for(begun.exists, seconds=20, every=0.02, what="a gang to start")
    return time.monotonic() - answered


def test_after_redis_forgot_everything_workers_are_told_again(
    stack: stacks.Stack, production: Installation, whole: None
) -> None:
    with redis.Redis.from_url(stack.redis.url) as client:
        client.flushall()
    wait_for(lambda: not _noted(stack), seconds=30, what="messages to be sent by Redis again")
    workload = production.started("told-again", "sh -c 'echo started'", workers=1)
    production.until(workload, "Completed")
    find = f"SELECT lease_owner FROM workloads_workload WHERE id = '{workload}'"
    assert stack.postgres.run_sql(find, database="gangline") == ""


@pytest.mark.thorough
def test_thirty_submissions_while_redis_is_dead(
    stack: stacks.Stack, production: Installation, whole: None
) -> None:
    """F-17."""
    usual = _p95(_submit_many(production, "alive", 8))
    with visitor(production, "administrator") as client, live_page(production, client) as page:
        stack.redis.process.kill()
        stack.redis.process.wait()
        answers = _submit_many(production, "dead", SUBMISSIONS)
        refused = [answer for answer in answers if answer.status != 202]
        assert not refused
        took = page.until(lambda: page.new >= SUBMISSIONS, seconds=6, what="the new rows")
        # A second, or what it takes with Redis on a machine that does much else at the time.
        limit = max(1.0, 2 * usual)
        assert _p95(answers) < limit, f"usual {usual:.2f} s, without Redis {_p95(answers):.2f} s"
        assert took <= 6
        wait_for(lambda: BANNER in client.get("/workloads").text, seconds=15, what="the banner")
    _all_completed(production, answers, seconds=60)
    stack.redis.start_again()
    wait_for(lambda: not _noted(stack), seconds=30, what="the banner to go")


def test_no_request_waits_for_a_redis_that_never_answers(
    stack: stacks.Stack, production: Installation, redis_proxy: Proxy, whole: None
) -> None:
    """F-18: connections are accepted, and nothing ever comes back."""
    with visitor(production, "administrator") as client:
        redis_proxy.go_silent()
        answers = _submit_many(production, "hole", 8)
        assert [answer.status for answer in answers] == [202] * 8
        slowest = max(answer.seconds for answer in answers)
        assert slowest < 2, f"a submission took {slowest:.2f} s"
        for path in ("/workloads", "/", "/clusters"):
            began = time.monotonic()
            assert client.get(path).status_code == 200
            assert time.monotonic() - began < 2, path
        wait_for(lambda: BANNER in client.get("/workloads").text, seconds=20, what="the banner")
    _all_completed(production, answers, seconds=40)


def test_a_message_delivered_twenty_times_acts_once(
    stack: stacks.Stack, production: Installation, whole: None
) -> None:
    """F-15, with real workers: whoever finds no lease to take does nothing."""
    workload = production.started("repeated", "sh -c 'echo started; sleep 2'", workers=1)
    script = (
        "from gangline.config.celery import app; from django.conf import settings;"
        "from gangline.clusters.connections import host_id;"
        "q = 'local.' + host_id(settings.GANGLINE.data_dir);"
        f"[app.send_task('workloads.reconcile', ['{workload}'], queue=q) for _ in range(20)]"
    )
    production.manage("shell", "--no-imports", "-c", script)
    production.until(workload, *ENDED)
    assert production.log(workload).count("started") == 1
    assert production.attempts(workload) == [1]
