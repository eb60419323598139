"""GET …/metrics: slots of what was recorded, as strings, of what the person may see."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.api import ApiClient
from tests.support.engine import new_workload
from tests.support.figures import MEBI, record
from tests.support.world import World
from workloads.models import Attempt, Replica, Workload

pytestmark = pytest.mark.django_db
BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def ran(world: World) -> Workload:
    """Two pods that ran for a minute, and use half a core and one core."""
    workload = new_workload(
        name="digits",
        project=world.vision,
        owner=world.people["researcher-vision"],
        values={
            "image": "local://examples",
            "command": "python train.py",
            "compute.cpuCoreRequest": 2.0,
            "compute.cpuMemoryRequest": "1G",
        },
        workers=2,
    )
    attempt = Attempt.objects.get(workload=workload)
    ended = BEGAN + timedelta(seconds=60)
    Attempt.objects.filter(pk=attempt.pk).update(created_at=BEGAN, ended_at=ended)
    for index, cpu in enumerate((0.5, 1.0)):
        Replica.objects.create(
            attempt=attempt, role="worker", index=index, rank=index, state="Succeeded",
            started_at=BEGAN, ended_at=ended,
        )  # fmt: skip
        record(workload, f"worker-{index}", begins=BEGAN.timestamp(), cpu=cpu)
    return workload


def asked(metric: str, **more: Any) -> dict[str, Any]:
    ends = BEGAN + timedelta(seconds=80)
    return {"metricType": metric, "start": BEGAN.isoformat(), "end": ends.isoformat()} | more


def values(answer: Any) -> dict[str, list[str]]:
    assert answer.status_code == 200, answer.content
    return {m["type"]: [v["value"] for v in m["values"]] for m in answer.json()["measurements"]}


def test_a_gang_is_summed_in_slots_and_a_slot_without_figures_is_left_out(
    researcher: ApiClient, ran: Workload
) -> None:
    wanted = "CPU_USAGE_CORES,CPU_MEMORY_USAGE_BYTES,CPU_REQUEST_CORES,RUNNING_POD_COUNT"
    found = values(
        researcher.get(f"workloads/{ran.pk}/metrics", **asked(wanted, numberOfSamples=4))
    )
    assert found == {
        "CPU_USAGE_CORES": ["1.5"] * 3,
        "CPU_MEMORY_USAGE_BYTES": [str(200 * MEBI)] * 3,
        "CPU_REQUEST_CORES": ["4"] * 3,
        "RUNNING_POD_COUNT": ["2"] * 3,
    }


def test_what_nobody_measures_has_no_values(researcher: ApiClient, ran: Workload) -> None:
    answer = researcher.get(f"workloads/{ran.pk}/metrics", **asked("GPU_UTILIZATION"))
    assert values(answer) == {"GPU_UTILIZATION": []}


def test_a_pod_is_named_as_the_list_of_pods_names_it(researcher: ApiClient, ran: Workload) -> None:
    pods = researcher.get(f"workloads/{ran.pk}/pods").json()["pods"]
    path = f"workloads/{ran.pk}/pods/{pods[1]['id']}/metrics"
    found = values(researcher.get(path, **asked("CPU_USAGE_CORES", numberOfSamples=1)))
    assert found == {"CPU_USAGE_CORES": ["1"]}
    other = researcher.get(f"workloads/{ran.pk}/pods/none/metrics", **asked("CPU_USAGE_CORES"))
    assert other.status_code == 404


def test_names_of_enumerations_are_understood_and_csv_is_given_on_request(
    world: World, ran: Workload
) -> None:
    client = ApiClient(world, "viewer-vision")
    query = asked("WorkloadMetricType.CPU_USAGE_CORES", numberOfSamples=1)
    client._client.defaults["HTTP_ACCEPT"] = "text/csv"
    answer = client.get(f"workloads/{ran.pk}/metrics", **query)
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert answer.content.decode().splitlines()[1].startswith("CPU_USAGE_CORES,2026-03-01T12:00:00")


@pytest.mark.parametrize(
    "change",
    [
        {"metricType": ""},
        {"metricType": "CPU_UTILIZATION"},
        {"start": "yesterday"},
        {"end": BEGAN.isoformat()},
        {"numberOfSamples": "1001"},
        {"from": "0"},
    ],
)
def test_a_query_that_makes_no_sense_is_refused(
    researcher: ApiClient, ran: Workload, change: dict[str, str]
) -> None:
    query = asked("CPU_USAGE_CORES") | change
    assert researcher.get(f"workloads/{ran.pk}/metrics", **query).status_code == 400


def test_nobody_else_sees_them(world: World, ran: Workload) -> None:
    answer = ApiClient(world, "viewer-nlp").get(
        f"workloads/{ran.pk}/metrics", **asked("CPU_USAGE_CORES")
    )
    assert answer.status_code == 404
