"""A table as CSV: what the address shows, every row of it, whatever their number."""

import csv
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.support.api import ApiClient
from tests.support.world import World, copies, make_world
from workloads.models import Workload

pytestmark = pytest.mark.django_db
PERSON = "researcher-vision"
COLUMNS = "cols=name,image,labels,gpus"


@pytest.fixture
def world(db: None, client: Client) -> World:
    made = make_world()
    client.force_login(made.people[PERSON])
    sent = ApiClient(made, PERSON).post("workloads/distributed", made.spec_body("copy"))
    assert sent.status_code == 202
    return made


def lines(answer: Any) -> list[list[str]]:
    text = "".join(piece.decode() for piece in answer.streaming_content)
    return list(csv.reader(text.removeprefix("\ufeff").splitlines()))


def test_the_file_has_the_rows_columns_and_order_of_the_address(
    world: World, client: Client
) -> None:
    copies(Workload.objects.get(), 3)
    Workload.objects.exclude(name="copy").update(search_text="wanted")
    Workload.objects.filter(name="copy-1").update(image="=cmd|' /C calc'!A0")
    Workload.objects.filter(name="copy-2").update(project=world.nlp)
    head, *rows = lines(client.get(f"/workloads/export.csv?{COLUMNS}&q=wanted&sort=-name"))
    assert head == ["Workload", "Image", "Labels", "GPUs"]
    assert [row[0] for row in rows] == ["copy-1", "copy-0"]
    assert rows[0][1] == "'=cmd|' /C calc'!A0"


def _memory(name: str) -> int:
    """Of this process, in bytes."""
    (found,) = [
        line.split()[1]
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith(f"{name}:")
    ]
    return int(found) * 1024


@pytest.mark.thorough
def test_a_hundred_thousand_rows_take_no_memory(world: World, client: Client) -> None:
    """AC-T11: 100 001 lines in less than 50 MB."""
    copies(Workload.objects.get(), 99_999)
    lines(client.get("/workloads/export.csv?q=warm"))
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, found, longest = _memory("VmRSS"), 0, 0
    answer: Any = client.get("/workloads/export.csv")
    for piece in answer.streaming_content:
        found += piece.count(b"\r\n")
        longest = max(longest, len(piece))
    assert found == 100_001
    assert longest < 10**6
    assert _memory("VmHWM") - before < 50 * 10**6
