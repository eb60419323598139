"""A real gang on this machine, from the row to its processes and back, by the embedded parts."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from django.conf import settings
from django.db import connections as database_connections

from gangline.access.actor import Actor
from gangline.accounts.models import User
from gangline.accounts.services import create_user
from gangline.clusters.connections import driver_for, host_id
from gangline.clusters.models import Cluster
from gangline.drivers.local import capacity
from gangline.organization.models import Project
from gangline.people.services import give
from gangline.resources.registry import get
from gangline.resources.services import make, update
from gangline.scopes.services import found
from gangline.spec.sources import Value
from tests.support.engine import current_attempt, new_workload
from tests.support.local_cluster import processes_of
from tests.support.waiting import wait_for
from workloads import refs
from workloads.causes import BY_CODE
from workloads.models import Event, Replica, Workload
from workloads.services import events, intents, lifecycle, submission
from workloads.watching.causes import CauseSearch
from workloads.watching.ticker import Ticker
from workloads.watching.watcher import Watchers

Start = Callable[..., Workload]


@pytest.fixture
def project(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project on this machine, of which two cores are offered, however many it has."""
    monkeypatch.setattr(capacity, "cores", lambda: 2.0)
    found(name="Test")
    data_dir = settings.GANGLINE.data_dir
    cluster = make(
        "cluster", actor=None, name="this-machine", kind="local", host_id=host_id(data_dir)
    )
    Cluster.objects.filter(pk=cluster.pk).update(
        capacity={
            "admission": "ours",
            "cpus": 2.0,
            "memory": 10**10,
            "gpus": [],
            "gpus_declared": False,
            "ports": [16000, 32000],
        }
    )
    department = make("department", cluster=cluster, name="research")
    made: Project = make("project", department=department, name="vision")
    return made


@pytest.fixture
def start(project: Project) -> Iterator[Start]:
    """Submits gangs while ticker and watchers run; in the end nothing of them is left."""
    stop = threading.Event()
    owner = create_user(username="researcher")
    made: list[Workload] = []

    def run(part: Ticker | Watchers | CauseSearch) -> None:
        try:
            part.run(stop)
        finally:
            database_connections.close_all()

    def submit(
        name: str, command: str, *, workers: int = 3, where: str = "vision", **columns: object
    ) -> Workload:
        values = {"image": "local://system", "command": command}
        row = Project.objects.select_related("cluster").get(name=where)
        made.append(
            new_workload(
                name=name, project=row, owner=owner, values=values, workers=workers, **columns
            )
        )
        return made[-1]

    parts = (Ticker(), Watchers(), CauseSearch())
    threads = [threading.Thread(target=run, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    try:
        yield submit
    finally:
        stop.set()
        for thread in threads:
            thread.join(40)
        for workload in made:
            _remove(workload)


def _remove(workload: Workload) -> None:
    driver = driver_for(workload.cluster)
    attempts = [refs.attempt_ref(workload, attempt) for attempt in workload.attempts.all()]
    for ref in attempts:
        driver.delete(replace(ref, grace_seconds=0))
    wait_for(lambda: not processes_of(attempts[0]), seconds=20)


def _until(workload: Workload, status: str, *, seconds: float = 15) -> None:
    def look() -> bool:
        workload.refresh_from_db()
        return workload.status == status

    try:
        wait_for(look, seconds=seconds)
    except AssertionError:
        told = f"{workload.status}: {workload.reason} {workload.next_reason}"
        raise AssertionError(f"{workload.name} is not {status} but {told}") from None


def test_a_gang_runs_completes_and_gives_its_slots_to_the_next(start: Start) -> None:
    """Real processes take a second or two. Two gangs of 1.5 CPUs each do not fit into 2."""
    first = start("first", "python3 -c 'import time; time.sleep(0.5)'")
    second = start("second", "python3 -c 'print(1)'")
    _until(first, "Running")
    assert first.pods_ready == 3
    _until(second, "Pending")
    assert second.reason == "Needs 1.5 CPUs (0.5 of 2 free)."
    _until(first, "Completed")
    _until(second, "Completed")
    assert Replica.objects.filter(attempt__workload=first, exit_code=0).count() == 3


def test_a_stop_ends_every_process_and_run_makes_a_new_attempt(start: Start) -> None:
    workload = start("sleeps", "sleep 300")
    _until(workload, "Running")
    ref = refs.attempt_ref(workload, current_attempt(workload))
    assert processes_of(ref)
    intents.stop(workload_id=workload.pk, by="researcher")
    _until(workload, "Stopped")
    wait_for(lambda: not processes_of(ref), seconds=5)
    intents.resume(workload_id=workload.pk, by="researcher")
    _until(workload, "Running")
    assert current_attempt(workload).cause == "resume"


def test_a_claimed_quota_ends_every_process_of_the_guest_which_then_runs_again(
    start: Start, project: Project
) -> None:
    def quota(cpus: int, to: Project) -> None:
        row = {"node_pool": project.cluster.pools.get(), "cpus": cpus}
        update(get("project"), actor=None, obj=to, values={}, parts={"quotas": [row]})

    quota(0, project)
    quota(2, make("project", department=project.department, name="nlp"))
    guest = start("guest", "sleep 300")
    _until(guest, "Running")
    ref = refs.attempt_ref(guest, current_attempt(guest))
    claim = start("claim", "sleep 3", where="nlp")
    _until(claim, "Running")
    assert not processes_of(ref)
    _until(guest, "Preempted")
    _until(claim, "Completed")
    _until(guest, "Running")
    assert (guest.attempt_no, current_attempt(guest).cause) == (2, "preempt")


def test_one_rank_that_fails_ends_the_gang_with_its_reason(start: Start) -> None:
    code = 'import os,sys,time; sys.exit(3) if os.environ["RANK"] == "1" else time.sleep(300)'
    workload = start("fails", f"python3 -c '{code}'")
    _until(workload, "Failed")
    assert workload.reason == "worker-1: Exited with code 3."
    ref = refs.attempt_ref(workload, current_attempt(workload))
    wait_for(lambda: not processes_of(ref), seconds=15)


def test_a_failure_names_its_cause_and_the_line_that_tells_of_it(start: Start) -> None:
    """Of the pod that failed first, while the other still sleeps."""
    code = (
        'import os, time; time.sleep(60 * (os.environ["RANK"] == "0"));'
        ' print("loading", flush=True); import nowhere_to_be_found'
    )
    workload = start("imports", f"python3 -c '{code}'", workers=2)
    _until(workload, "Failed")

    def told() -> bool:
        workload.refresh_from_db()
        return bool(workload.error_line)

    wait_for(told)
    attempt = current_attempt(workload)
    assert (attempt.cause_code, attempt.cause_replica) == ("import", "worker-1")
    assert attempt.cause_lines[-1] == workload.error_line
    assert attempt.cause_place.startswith("worker-1:")
    assert workload.error_line == "ModuleNotFoundError: No module named 'nowhere_to_be_found'"
    assert (workload.reason_code, workload.reason_params["pod"]) == ("import", "worker-1")
    assert "nowhere" not in workload.reason
    assert workload.next_reason == BY_CODE["import"].advice


def test_a_deleted_gang_leaves_nothing_and_its_name_is_free(start: Start) -> None:
    workload = start("goes", "sleep 300")
    _until(workload, "Running")
    ref = refs.attempt_ref(workload, current_attempt(workload))
    intents.delete(workload_id=workload.pk, by="researcher")
    _gone(workload)
    assert not processes_of(ref)
    again = start("goes", "sleep 300")
    _until(again, "Running")
    kinds = Event.objects.filter(workload=again).values_list("kind", flat=True)
    assert events.ADOPTED not in kinds


def _gone(workload: Workload) -> None:
    def look() -> bool:
        workload.refresh_from_db()
        return workload.deleted_at is not None

    wait_for(look, seconds=15)


def test_a_credential_reaches_its_processes_and_a_new_value_those_that_start_later(
    start: Start, project: Project
) -> None:
    owner = User.objects.get(username="researcher")
    give(actor=None, user=owner, role="researcher", scope=project.scope)
    values = {"keyValuePairs": [{"key": "token", "value": "first"}]}
    one = make("credential", scope=project.scope, name="hf", kind="genericSecret", given=values)
    own = make("personal_credential", scope=project.scope, owner=owner, name="mine",
               kind="password", given={"user": "dana", "password": "own"})  # fmt: skip
    variables = [
        {"name": "TOKEN", "secret": {"name": one.object_name, "key": "token"}},
        {"name": "OWN", "userCredential": {"name": "mine", "key": "Password"}},
    ]
    asked = submission.SubmissionRequest(
        name="reads",
        project_id=project.pk,
        cluster_id=project.cluster_id,
        framework="PyTorch",
        configuration="workersOnly",
        master="same",
        given={
            f"worker.{path}": Value(value)
            for path, value in {
                "image": "local://system",
                "command": "sh -c 'echo $TOKEN $OWN'",
                "environmentVariables": variables,
            }.items()
        },
    )
    workload = submission.submit(actor=Actor(owner, "api"), request=asked).workload
    try:
        _until(workload, "Completed")
        assert _log(workload).endswith(" F first own\n")
        changed = {"keyValuePairs": [{"key": "token", "value": "second"}]}
        update(get("credential"), actor=None, obj=one, values={"given": changed})
        lifecycle.rerun(actor=Actor(owner, "api"), workload_id=workload.pk)
        wait_for(lambda: _log(workload).endswith(" F second own\n"))
    finally:
        _remove(workload)
    assert own.object_name in str(current_attempt(workload).rendered)
    assert "second" not in str(current_attempt(workload).rendered)


def _log(workload: Workload) -> str:
    workload.refresh_from_db()
    ref = refs.attempt_ref(workload, current_attempt(workload))
    return driver_for(workload.cluster).read_log(ref, "worker-0", 0, 10_000).data.decode()
