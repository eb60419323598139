"""Everything is killed at once in the middle of work, and started again: F-61."""

import random
import signal
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx
import pytest

from scripts import stack as stacks
from tests.support.installation import Answer, Installation, processes
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.needs_redis, pytest.mark.needs_postgres]
PEOPLE = 3
CUT_AFTER = 11
"""Answers before the cut, of about thirty."""
LONG = "sh -c 'echo started; exec sleep 600'"
SHORT = "sh -c 'echo started; sleep 0.5'"
SETTLE_SECONDS = 120


@dataclass
class Intent:
    """What one person last asked for about one workload."""

    name: str
    command: str
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    workload: str = ""
    wants: str = "Running"
    launches: int = 1


class Cut:
    """Counts answers, and lets everybody wait until the power is back."""

    def __init__(self) -> None:
        self.answers = 0
        self._lock = threading.Lock()
        self.due = threading.Event()
        self.over = threading.Event()

    def answered(self) -> None:
        with self._lock:
            self.answers += 1
            if self.answers == CUT_AFTER:
                self.due.set()


class Person:
    """Submits, stops, resumes and deletes their own workloads, one request after the other."""

    def __init__(self, site: Installation, number: int, cut: Cut) -> None:
        self.site, self.cut = site, cut
        self.name = f"cut-{number}"
        self.intents: list[Intent] = []
        self._body = site.body(self.name, LONG, workers=1)

    def work(self) -> None:
        keeps, stops = self._submit("keeps", LONG), self._submit("stops", LONG)
        ends, goes = self._submit("ends", SHORT), self._submit("goes", LONG)
        self._act(stops, "suspend", "Stopped")
        self._act(goes, "delete", "Deleted")
        returns = self._submit("returns", LONG)
        self._act(returns, "suspend", "Stopped")
        self._stopped_first(returns)
        self._act(returns, "resume", "Running")
        self._submit("late", SHORT)
        assert keeps.workload
        assert ends.workload

    def _submit(self, name: str, command: str) -> Intent:
        intent = Intent(f"{self.name}-{name}", command)
        self.intents.append(intent)
        spec = self._body["spec"] | {"command": command}
        body = self._body | {"name": intent.name, "spec": spec}
        answer = self._ask(lambda: self.site.post_workload(body, key=intent.key))
        assert answer.status == 202, answer
        intent.workload = answer.body["workloadId"]
        return intent

    def _act(self, intent: Intent, verb: str, wants: str) -> None:
        intent.wants = wants
        answer = self._ask(lambda: self.site.act(intent.workload, verb))
        # Repeated after the cut, a deletion may find that it was done.
        assert answer.status == 202 or (verb == "delete" and answer.status == 404), answer

    def _stopped_first(self, intent: Intent) -> None:
        """A resume before the stop arrived would take it back, and launch nothing new."""

        def is_stopped() -> bool:
            answer = self._ask(lambda: self.site.request("GET", f"workloads/{intent.workload}"))
            return bool(answer.body["status"] == "Stopped")

        wait_for(is_stopped, seconds=SETTLE_SECONDS, every=0.1, what=f"{intent.name} to stop")
        intent.launches = len(self.site.attempts(intent.workload)) + 1

    def _ask(self, request: Callable[[], Answer]) -> Answer:
        """Until it is answered, as a careful client does: 5xx and silence may mean anything."""
        while True:
            try:
                answer = request()
            except httpx.HTTPError:
                answer = None
            if answer is not None and answer.status < 500:
                self.cut.answered()
                return answer
            assert self.cut.over.wait(SETTLE_SECONDS), answer


@pytest.fixture
def busy(stack: stacks.Stack, production: Installation) -> Iterator[Installation]:
    yield production
    for row in production.workloads():
        production.act(row["id"], "delete")


@pytest.mark.thorough  # a crash around the commit is in `tests/api/test_races.py`
def test_after_a_power_cut_every_answer_is_kept_and_nothing_runs_twice(
    stack: stacks.Stack, busy: Installation
) -> None:
    cut = Cut()
    people = [Person(busy, number, cut) for number in range(PEOPLE)]
    with ThreadPoolExecutor(PEOPLE) as pool:
        days = [pool.submit(person.work) for person in people]
        assert cut.due.wait(60)
        _cut_the_power(stack)
        _restore_the_power(stack)
        cut.over.set()
        for day in days:
            day.result(SETTLE_SECONDS)
    assert cut.answers > CUT_AFTER, "The cut came when all was asked for."
    intents = [intent for person in people for intent in person.intents]
    assert len(intents) == PEOPLE * 6
    wait_for(
        lambda: _differences(stack, busy, intents) == [],
        seconds=SETTLE_SECONDS,
        every=0.5,
        what=f"the world to be as asked; it differs in {_differences(stack, busy, intents)}",
    )


def _cut_the_power(stack: stacks.Stack) -> None:
    def database() -> None:
        stack.postgres.process.send_signal(signal.SIGQUIT)

    victims: list[Callable[[], None]] = [stack.kill, stack.redis.process.kill, database]
    random.shuffle(victims)
    for kill in victims:
        kill()
    stack.redis.process.wait()
    stack.postgres.process.wait()


def _restore_the_power(stack: stacks.Stack) -> None:
    stack.postgres.start_again()
    stack.redis.start_again()
    stack.start_all()


def _differences(stack: stacks.Stack, site: Installation, intents: list[Intent]) -> list[str]:
    """The standard assertion W of the matrix, in words; empty when all holds."""
    rows = {row["id"]: row for row in site.workloads()}
    names = stack.postgres.run_sql(
        "SELECT name FROM workloads_workload WHERE name LIKE 'cut-%'", database="gangline"
    )
    wrong = [f"{name} exists {n} times" for name, n in Counter(names.split()).items() if n != 1]
    for intent in intents:
        row = rows.get(intent.workload)
        status = row["status"] if row else "Deleted"
        expected = "Completed" if intent.command == SHORT else intent.wants
        if status != expected:
            wrong.append(f"{intent.name} is {status}, not {expected}")
        alive = len(processes(intent.workload)) > 0
        if alive != (expected == "Running"):
            wrong.append(f"{intent.name} is {status} and {'lives' if alive else 'is not there'}")
        wrong += _launched_twice(site, intent)
    return wrong


def _launched_twice(site: Installation, intent: Intent) -> Iterator[str]:
    attempts = site.attempts(intent.workload)
    if len(attempts) > intent.launches:
        yield f"{intent.name} was launched as {attempts}"
    for attempt in attempts:
        times = site.log(intent.workload, attempt=attempt).count("started")
        if times > 1:
            yield f"attempt {attempt} of {intent.name} ran {times} times"
