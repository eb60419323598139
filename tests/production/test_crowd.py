"""Many people at once: everybody is answered, and no transaction is anybody's victim."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from scripts import stack as stacks
from tests.support.installation import Installation
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.needs_redis, pytest.mark.needs_postgres]
PEOPLE, ROUNDS = 6, 12
COMMANDS = ("true", "sh -c 'sleep 0.3'", "sleep 30", "false")


@pytest.mark.thorough
def test_six_people_create_stop_run_again_and_delete_at_once(
    stack: stacks.Stack, production: Installation
) -> None:
    def busy_person(number: int) -> Counter[int]:
        chance = random.Random(number)
        seen: Counter[int] = Counter()
        mine: list[str] = []
        for turn in range(ROUNDS):
            # A gang of 64 never fits: admission writes why at each of its walks.
            compute = {"cpuCoreRequest": chance.choice((0.1, 64)), "cpuMemoryRequest": "32M"}
            made = production.submit(
                f"crowd-{number}-{turn}", chance.choice(COMMANDS), workers=1, compute=compute
            )
            seen[made.status] += 1
            if made.status != 202:
                continue
            mine.append(made.body["workloadId"])
            verb = chance.choice(("suspend", "resume", "rerun", "delete"))
            seen[production.act(chance.choice(mine), verb).status] += 1
            seen[production.request("GET", "workloads?limit=50").status] += 1
        for workload in mine:
            seen[production.act(workload, "delete").status] += 1
        return seen

    with ThreadPoolExecutor(PEOPLE) as pool:
        answers = sum(pool.map(busy_person, range(PEOPLE)), Counter())
    assert not {code for code in answers if code >= 500}, answers
    assert answers[202] >= PEOPLE * ROUNDS
    wait_for(
        lambda: not [row for row in production.workloads() if row["name"].startswith("crowd-")],
        seconds=60,
        every=0.5,
        what="all of it to be gone",
    )
    assert stack.postgres.run_sql("SELECT sum(deadlocks) FROM pg_stat_database") == "0"
