"""The database goes while jobs are on a real Slurm: F-20 and F-22 of the matrix.

F-21 is `test_web_killed`: what a submission commits does not ask the cluster. F-23 and F-24, full
disks, are in `tests/drivers/slurm/test_slurm_outages.py`.
"""

import signal
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from scripts import stack as stacks
from tests.beds.slurm.lab import Lab
from tests.support.installation import Installation
from tests.support.waiting import wait_for

pytestmark = [
    pytest.mark.needs_redis,
    pytest.mark.needs_postgres,
    pytest.mark.needs_slurm,
    pytest.mark.thorough,
]
AWAY_SECONDS = 12
"""Of the database: longer than any lease."""
SUBMISSIONS = 50
CONNECT = """
from gangline.accounts.models import User
from gangline.clusters import credentials
from gangline.clusters.services import refresh
from gangline.drivers.slurm.access import Access
from gangline.people.services import give
from gangline.resources import services
cluster = services.make("cluster", actor=None, name="lab", kind="slurm")
cluster.config = {{"folder": {folder!r}, "config": {config!r}}}
cluster.save(update_fields=["config"])
credentials.store(cluster, Access(), by=None)
refresh(cluster)
department = services.make("department", cluster=cluster, name="on-slurm")
project = services.make("project", department=department, name="on-slurm")
user = User.objects.get(username="administrator")
give(actor=None, user=user, role="researcher", scope=project.scope)
print(project.pk, cluster.pk)
"""


def jobs(lab: Lab) -> list[str]:
    """Numbers of all jobs that Slurm still knows, ended ones too."""
    return sorted(set(lab.run("squeue", "--noheader", "--states=all", "--format=%A").split()))


def test_jobs_outlive_the_database_and_none_is_started_twice(
    stack: stacks.Stack, production: Installation, slurm_lab: Lab
) -> None:
    runs = str(slurm_lab.folder / "runs" / uuid.uuid4().hex)
    code = CONNECT.format(folder=runs, config=str(slurm_lab.config))
    project, cluster = production.manage("shell", "-v", "0", "-c", code).split()[-2:]

    def post(name: str, command: str, key: str) -> int:
        """The status; 0 if no answer came."""
        body = production.body(name, command, workers=1, compute={"cpuMemoryRequest": "20M"})
        body |= {"projectId": project, "clusterId": cluster}
        del body["spec"]["image"]
        return production.post_workload(body, key=key).status

    def started(name: str, command: str) -> str:
        assert post(name, command, uuid.uuid4().hex) == 202
        return str(next(row["id"] for row in production.workloads() if row["name"] == name))

    long, short = started("long", "sleep 600"), started("short", "sleep 6")
    for workload in (long, short):
        production.until(workload, "Running", seconds=60)

    # F-22
    stack.postgres.process.send_signal(signal.SIGQUIT)
    stack.postgres.process.wait()
    assert httpx.get(f"{stack.url}/login", timeout=20).status_code == 503
    time.sleep(AWAY_SECONDS)
    assert slurm_lab.run("squeue", "--noheader", "--states=RUNNING", "--format=%A").split()
    assert [name for name, one in stack.processes.items() if one.poll() is not None] == []
    stack.postgres.start_again()
    production.until(short, "Completed", seconds=60)
    assert production.workload(long)["status"] == "Running"

    # F-20
    before = len(jobs(slurm_lab))
    keys = {f"burst-{number}": uuid.uuid4().hex for number in range(SUBMISSIONS)}

    def insist(name: str) -> None:
        deadline = time.monotonic() + 120
        while True:
            try:
                status = post(name, "true", keys[name])
            except (httpx.HTTPError, AssertionError):
                status = 0
            if status == 202:
                return
            assert status == 0 or status >= 500, status
            assert time.monotonic() < deadline
            time.sleep(0.2)

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(insist, name) for name in keys]
        wait_for(lambda: sum(one.done() for one in asked) > 5, seconds=60)
        stack.postgres.process.send_signal(signal.SIGQUIT)
        stack.postgres.process.wait()
        stack.postgres.start_again()
        for one in asked:
            one.result(180)
    rows = [row["id"] for row in production.workloads() if row["name"] in keys]
    assert len(rows) == SUBMISSIONS
    for workload in rows:
        production.until(workload, "Completed", seconds=180)
    assert len(jobs(slurm_lab)) == before + SUBMISSIONS
    production.act(long, "delete")
    wait_for(
        lambda: not slurm_lab.run("squeue", "--noheader", "--format=%A").split(),
        seconds=60,
        what="the long job to leave Slurm",
    )
