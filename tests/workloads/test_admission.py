"""Slots in the rows: taken under one lock, given back at the end, never more than there are."""

import socket
import threading
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.organization.models import Project
from gangline.spec.sources import Value
from tests.support.engine import Engine, current_attempt, new_workload
from tests.support.world import World, make_world
from workloads.models import Attempt, Workload
from workloads.services import admission, intents, slots, submission
from workloads.services.reconcile import reconcile
from workloads.services.submission_types import SubmissionRequest
from workloads.wording import SLOTS_NEVER, SLOTS_WAIT

pytestmark = pytest.mark.postgres

GB = 10**9
OURS = {
    "admission": "ours",
    "cpus": 4.0,
    "memory": 8 * GB,
    "gpus": ["0", "1"],
    "gpus_declared": True,
    "ports": [16000, 32000],
}


@pytest.fixture
def ours(engine: Engine) -> Engine:
    """The engine's cluster with slots that Gangline hands out: 4 CPUs, 2 GPUs."""
    Cluster.objects.filter(pk=engine.cluster.pk).update(capacity=OURS)
    return engine


def _asks(engine: Engine, name: str, cpus: float, gpus: int = 0, **columns: Any) -> Workload:
    project = Project.objects.select_related("cluster").get(pk=engine.project.pk)
    return new_workload(
        name=name,
        project=project,
        owner=engine.owner,
        values={
            "command": "behave sleep",
            "compute.cpuCoreRequest": cpus,
            "compute.gpuDevicesRequest": gpus,
        },
        **columns,
    )


def _admit(engine: Engine) -> None:
    admission.admit(engine.cluster.pk)


def _shown(workload: Workload) -> tuple[str, str]:
    workload.refresh_from_db()
    return workload.status, workload.reason_code


def test_nothing_is_created_before_it_has_its_slots(ours: Engine) -> None:
    workload = _asks(ours, "one", 2)
    reconcile(workload.pk)
    assert ours.truth.calls("create") == []
    assert Cluster.objects.get(pk=ours.cluster.pk).admit_due
    _admit(ours)
    assert current_attempt(workload).placement is not None
    reconcile(workload.pk)
    assert len(ours.truth.effects("create")) == 1


def test_a_gang_that_has_to_wait_is_pending_with_the_reason(ours: Engine) -> None:
    first, second, third = (_asks(ours, name, 3) for name in ("one", "two", "three"))
    _admit(ours)
    assert current_attempt(first).placement is not None
    assert _shown(second) == ("Pending", SLOTS_WAIT)
    assert _shown(third) == ("Pending", SLOTS_WAIT)


def test_what_can_never_start_cannot_start(ours: Engine) -> None:
    workload = _asks(ours, "huge", 1, gpus=3)
    _admit(ours)
    assert _shown(workload) == ("Cannot start", SLOTS_NEVER)
    assert workload.cannot_start
    Cluster.objects.filter(pk=ours.cluster.pk).update(capacity=OURS | {"gpus": ["0", "1", "2"]})
    _admit(ours)
    assert _shown(workload)[0] == "Creating"
    assert not workload.cannot_start


def test_the_end_of_one_lets_the_next_one_start(
    ours: Engine, django_capture_on_commit_callbacks: Any
) -> None:
    first = _asks(ours, "one", 3)
    second = _asks(ours, "two", 3)
    _admit(ours)
    reconcile(first.pk)
    Cluster.objects.update(admit_due=False)
    with django_capture_on_commit_callbacks(execute=True):
        intents.stop(workload_id=first.pk, by="researcher")
        reconcile(first.pk)
    assert _shown(first)[0] == "Stopped"
    assert Cluster.objects.get(pk=ours.cluster.pk).admit_due, "the end asks for a walk"
    _admit(ours)
    assert current_attempt(second).placement is not None
    second.refresh_from_db()
    assert second.due_at is not None
    assert second.due_at <= db_now()


def test_priority_goes_before_age(ours: Engine) -> None:
    _asks(ours, "first", 4)
    _admit(ours)
    old = _asks(ours, "old", 4)
    urgent = _asks(ours, "urgent", 4, priority=90)
    _admit(ours)
    assert current_attempt(urgent).wait_params["ahead"] == 0
    assert current_attempt(old).wait_params["ahead"] == 1


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "0.0.0.0"])
def test_a_port_that_is_in_use_at_any_address_is_not_given_out(
    ours: Engine, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.randrange", lambda first, last: first)
    with socket.socket() as busy:
        busy.bind((address, 0))
        port = busy.getsockname()[1]
        capacity = OURS | {"ports": [port, port + 100]}
        Cluster.objects.filter(pk=ours.cluster.pk).update(capacity=capacity)
        workload = _asks(ours, "one", 1)
        _admit(ours)
    placement = current_attempt(workload).placement
    assert placement is not None
    assert port < placement[0]["ports"][0] < port + 100


def test_ports_are_not_always_the_lowest(ours: Engine) -> None:
    placed = []
    for number in range(4):
        workload = _asks(ours, f"apart-{number}", 0.1)
        _admit(ours)
        placed.append(current_attempt(workload).placement)
    ports = [placement[0]["ports"][0] for placement in placed if placement]
    assert all(16000 <= port < 32000 for port in ports)
    assert sorted(ports) != list(range(ports[0], ports[0] + 4)), "four draws in a row, by chance"


def test_gpus_are_given_to_one_gang_only(ours: Engine) -> None:
    workloads = [_asks(ours, f"gpu-{n}", 0.5, gpus=1) for n in range(3)]
    _admit(ours)
    given = [current_attempt(w).placement for w in workloads]
    assert [p[0]["gpus"] if p else None for p in given] == [["0"], ["1"], None]


def test_a_stopped_waiting_gang_leaves_the_queue(ours: Engine) -> None:
    _asks(ours, "first", 4)
    second, third = _asks(ours, "second", 4), _asks(ours, "third", 4)
    _admit(ours)
    intents.stop(workload_id=second.pk, by="researcher")
    _admit(ours)
    assert _shown(third)[1] == SLOTS_WAIT


def test_a_retry_asks_for_slots_only_when_its_pause_is_over(ours: Engine) -> None:
    workload = _asks(ours, "bad", 2, backoff_limit=1)
    workload.attempts.update(rendered={"command": "behave fail", "replicas": 1})
    _admit(ours)
    reconcile(workload.pk)
    reconcile(workload.pk)
    retry = current_attempt(workload)
    assert (retry.cause, retry.placement) == ("retry", None)
    _admit(ours)
    assert current_attempt(workload).placement is None
    retry.next_try_at = db_now() - timedelta(seconds=1)
    retry.save()
    _admit(ours)
    assert current_attempt(workload).placement is not None


def test_a_forecast_changes_nothing(ours: Engine) -> None:
    _asks(ours, "one", 3)
    _admit(ours)
    cluster = Cluster.objects.get(pk=ours.cluster.pk)
    need = slots.Need((slots.RoleNeed("worker", 1, 2.0, 0, 0, 0),))
    verdict = admission.preview(admission.Standing(cluster), project=ours.project, need=need)
    assert verdict.reason.code == SLOTS_WAIT
    assert Attempt.objects.filter(placement__isnull=False).count() == 1


def test_f06_fifty_submissions_at_once_never_take_more_slots_than_there_are(
    transactional_db: None,
) -> None:
    """Fifty people submit while four threads admit and others end what runs, until all have run."""
    world = make_world()
    names = [f"digits-{n}" for n in range(50)]
    done = threading.Event()
    worst: list[dict[str, float]] = []

    def watch() -> None:
        while not done.is_set():
            worst.append(_in_use(world))
        connection.close()

    def submit(name: str) -> None:
        request = SubmissionRequest(
            name=name,
            project_id=world.vision.pk,
            cluster_id=world.cluster.pk,
            framework="PyTorch",
            configuration="workersOnly",
            master="none",
            given=_said(),
        )
        submission.submit(
            actor=world.actor("researcher-vision"), request=request, key=name, request_hash=name
        )

    def admit(_: str) -> None:
        admission.admit(world.cluster.pk)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        _in_threads(submit, names)
        assert Workload.objects.count() == 50
        started = 0
        while started < 50:
            _in_threads(admit, ["a", "b", "c", "d"])
            running = list(_holding())
            assert running, "somebody must be able to start"
            started += len(running)
            for attempt in running:
                intents.stop(workload_id=attempt.workload_id, by="researcher")
    finally:
        done.set()
        watcher.join()
    assert started == 50, "nobody was placed twice"
    capacity = world.cluster.capacity
    assert max(use["cpus"] for use in worst) <= capacity["cpus"]
    assert max(use["cpus"] for use in worst) > capacity["cpus"] / 2, "the test must fill it"
    assert max(use["gpus"] for use in worst) <= len(capacity["gpus"])
    assert max(use["doubled"] for use in worst) == 0, "a GPU or port was given to two at once"


def _said() -> dict[str, Value]:
    values = {
        "image": "local://examples",
        "command": "python train.py",
        "numWorkers": 2,
        "compute.cpuCoreRequest": 0.75,
        "compute.cpuMemoryRequest": "256M",
    }
    return {f"worker.{path}": Value(value) for path, value in values.items()}


def _holding() -> Any:
    return Attempt.objects.filter(outcome="", placement__isnull=False)


def _in_use(world: World) -> dict[str, float]:
    placed = [p for row in _holding().values_list("placement", flat=True) for p in row]
    handed_out = Counter(
        [("gpu", gpu) for p in placed for gpu in p["gpus"]]
        + [("port", port) for p in placed for port in p["ports"]]
    )
    return {
        "cpus": sum(p["cpus"] for p in placed),
        "gpus": sum(len(p["gpus"]) for p in placed),
        "doubled": sum(count > 1 for count in handed_out.values()),
    }


def _in_threads(call: Any, arguments: list[str]) -> None:
    errors: list[BaseException] = []

    def run(argument: str) -> None:
        try:
            call(argument)
        except BaseException as error:  # noqa: BLE001  told by the test itself
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert errors == []
