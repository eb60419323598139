"""The report of an attempt: its page, its downloads, and the small lines on other tabs."""

import csv
import re
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.test import Client

from gangline.drivers.base import MEMORY_LIMIT
from tests.support.engine import new_workload
from tests.support.figures import record
from tests.support.queries import query_budget
from tests.support.world import World
from workloads.models import Attempt, Replica, Workload

pytestmark = pytest.mark.django_db
BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def client_of(world: World, person: str = "researcher-vision") -> Client:
    return world.client(person)


def gang(world: World, *, status: str = "Completed") -> Workload:
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
    ended = None if status == "Running" else BEGAN + timedelta(seconds=60)
    Workload.objects.filter(pk=workload.pk).update(
        status=status, phase=status, started_at=BEGAN, ended_at=ended
    )
    attempt = Attempt.objects.get(workload=workload)
    Attempt.objects.filter(pk=attempt.pk).update(
        created_at=BEGAN - timedelta(seconds=5), started_at=BEGAN, ended_at=ended
    )
    for index in range(2):
        Replica.objects.create(
            attempt=attempt, role="worker", index=index, rank=index, node=f"node-{index}",
            state="Running" if ended is None else "Succeeded",
            started_at=BEGAN + timedelta(seconds=3 * index), ended_at=ended,
        )  # fmt: skip
    return workload


@pytest.fixture
def measured(world: World) -> Workload:
    """One pod that uses half a core of two, and one that uses one and a half."""
    workload = gang(world)
    for index, cpu in enumerate((0.5, 1.5)):
        record(workload, f"worker-{index}", begins=BEGAN.timestamp(), cpu=cpu)
    return workload


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_the_report_says_what_was_used_by_whom_and_of_how_much(
    world: World, measured: Workload
) -> None:
    page = client_of(world).get(f"/workloads/{measured.pk}/report").content.decode()
    text = words(page)
    assert "CPU used 51 % of the requested cores" in text
    assert "Last to start worker-1 3 s after the first" in text
    assert re.search(r"node-1 1 1\.5 cores", text)
    assert re.search(r"worker-0 node-0 0\.5 cores, 25 % of requested peak 0\.5 cores", text)
    assert "No pod used more than 10 % of the memory it requested." in text
    charts = re.findall(r'<svg viewBox="[^"]*" preserveAspectRatio="none" role="img"', page)
    assert len(charts) == 2
    assert page.count("Show as table") == 2


def test_the_csv_has_a_row_for_each_pod_and_moment(world: World, measured: Workload) -> None:
    answer = client_of(world).get(f"/workloads/{measured.pk}/report/csv")
    rows = list(csv.DictReader(StringIO(answer.getvalue().decode("utf-8-sig"))))
    assert len(rows) == 120
    assert rows[0]["time"] == "2026-03-01T12:00:00+00:00"
    of_second = [row for row in rows if row["pod"] == "worker-1"]
    assert {float(row["cpu_mean_cores"]) for row in of_second} == {1.5}
    assert {row["node"] for row in of_second} == {"node-1"}


def test_the_page_as_a_file_asks_nobody_for_anything(world: World, measured: Workload) -> None:
    answer = client_of(world).get(f"/workloads/{measured.pk}/report/html")
    text = answer.content.decode()
    assert answer.headers["Content-Disposition"].endswith('digits_attempt-1_report.html"')
    assert "worker-1" in text
    assert not re.search(r"""url\(|(?:src|href)=|<script""", text)


def test_the_pdf_is_one_with_the_charts_as_lines(world: World, measured: Workload) -> None:
    answer = client_of(world).get(f"/workloads/{measured.pk}/report/pdf")
    assert answer.content.startswith(b"%PDF-")
    assert answer.content.rstrip().endswith(b"%%EOF")
    assert b"/Subtype /Image" not in answer.content
    assert len(answer.content) < 200_000


def test_tabs_and_the_overview_draw_the_same_figures(world: World, measured: Workload) -> None:
    client = client_of(world)
    pods = client.get(f"/workloads/{measured.pk}/pods").content.decode()
    assert 'aria-label="CPU of worker-1, 1.5 cores at most"' in pods
    overview = words(client.get(f"/workloads/{measured.pk}").content.decode())
    assert "CPU 2 cores on average of 4 cores requested" in overview


def test_figures_are_fresh_while_it_runs_and_silent_after(world: World) -> None:
    workload, client = gang(world, status="Running"), client_of(world)

    def ask(tab: str) -> dict[str, str]:
        query = {"query": f"{workload.pk}/{tab}/0"}
        found: dict[str, str] = client.get(address, query).json()["cells"]
        return found

    address = f"/workloads/{workload.pk}/figures"
    assert "spark" not in ask("pods")["podtable"]
    record(workload, "worker-0", begins=BEGAN.timestamp(), seconds=3)
    assert "spark" in ask("pods")["podtable"]
    assert set(ask("overview")) == {"usage"}
    Workload.objects.filter(pk=workload.pk).update(status="Completed")
    assert client.get(address, {"query": f"{workload.pk}/pods/0"}).status_code == 204
    assert client.get(address, {"query": "other/pods/0"}).status_code == 404


def test_a_pod_that_was_killed_for_its_memory_is_held_against_what_it_asked_for(
    world: World, measured: Workload
) -> None:
    Workload.objects.filter(pk=measured.pk).update(status="Failed", phase="Failed")
    Attempt.objects.filter(workload=measured).update(
        outcome="Failed", cause_code=MEMORY_LIMIT, cause_replica="worker-1"
    )
    Replica.objects.filter(attempt__workload=measured, index=1).update(peak_memory=980_000_000)
    sentence = "worker-1 had used 980 MB, 98 % of the 1 GB that it requested."
    assert sentence in client_of(world).get(f"/workloads/{measured.pk}").content.decode()


def test_without_figures_the_report_says_why_and_offers_no_files(world: World) -> None:
    page = client_of(world).get(f"/workloads/{gang(world).pk}/report").content.decode()
    assert "Nothing was measured" in page
    assert "report/csv" not in page


@pytest.mark.parametrize("path", ["report", "report/csv", "report/pdf", "figures?query={}/pods/0"])
def test_nobody_else_sees_it(world: World, measured: Workload, path: str) -> None:
    client = client_of(world, "viewer-nlp")
    address = f"/workloads/{measured.pk}/{path.format(measured.pk)}"
    assert client.get(address).status_code == 404


@pytest.mark.parametrize("path", ["report/docx", "report?attempt=7", "report/csv?attempt=x"])
def test_what_is_not_there_is_not_found(world: World, measured: Workload, path: str) -> None:
    assert client_of(world).get(f"/workloads/{measured.pk}/{path}").status_code == 404


def test_a_report_reads_rows_once(world: World, measured: Workload) -> None:
    client = client_of(world)
    with query_budget("page report"):
        assert client.get(f"/workloads/{measured.pk}/report").status_code == 200
