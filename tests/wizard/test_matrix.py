"""Each field once through the form: refused where it stands, kept as typed, nothing stored."""

import pytest

from tests.security.matrix import HARMLESS, TYPED, Row
from tests.support.forms import Answer, Filler
from workloads.models import Attempt, IdempotencyKey, Workload

LIST = "worker.environmentVariables"
LINES = [row for row in HARMLESS if isinstance(row[2], str) and "\n" not in row[2]]


def typed_into(filler: Filler, row: Row) -> tuple[Answer, str]:
    """The answer to typing the row's text, and the name of the control it was typed into."""
    text = row.typed or ""
    if row.role == "workload":
        name = f"workload.{row.path}"
        return filler.post("setup", {name: text}), name
    if row.path == "environmentVariables":
        filler.post("workers", go=f"add:{LIST}")
        page = filler.get("workers").page
        row_id = [value for name, value in page.fields() if name == f"{LIST}~rows"][-1]
        name = f"{LIST}~{row_id}.name"
        changes = {name: text, f"{LIST}~{row_id}.value": "1"}
        return filler.post("workers", changes), name
    name = f"worker.{row.path}"
    return filler.post("workers", {name: text}), name


@pytest.mark.parametrize("row", TYPED, ids=lambda row: row.id)
def test_a_bad_value_is_refused_where_it_stands_and_kept(filler: Filler, row: Row) -> None:
    filler.ready()
    answer, name = typed_into(filler, row)
    assert answer.status == 422
    field = name.split("~")[0].replace(".", "-")
    assert f"f-{field}" in answer.page.links
    assert answer.page.value(name) == (row.typed or "")
    assert "<script>alert" not in answer.page.html
    assert not Workload.objects.exists()
    assert not Attempt.objects.exists()
    assert not IdempotencyKey.objects.exists()


@pytest.mark.parametrize(("role", "path", "text"), LINES)
def test_what_is_harmless_arrives_literally(
    filler: Filler, role: str, path: str, text: str
) -> None:
    filler.ready()
    step = "setup" if role == "workload" else "workers"
    assert filler.post(step, {f"{role}.{path}": text}).status == 303
    assert filler.post("review", go="create").status == 303
    workload = Workload.objects.get()
    kept = workload.name if path == "name" else workload.given[f"{role}.{path}"]["value"]
    assert kept == text


def test_a_post_with_thousands_of_rows_is_read_only_so_far(filler: Filler) -> None:
    filler.ready()
    rows = [(f"{LIST}~rows", f"r{n}") for n in range(900)]
    names = [(f"{LIST}~r{n}.name", f"V{n}") for n in range(900)]
    answer = filler.send("workers", [("worker.command", "x"), *rows, *names])
    assert answer.status == 422
    assert "at most 200 items" in answer.page.one(data_testid="problem-summary").text


def test_a_post_with_too_many_fields_is_refused(filler: Filler) -> None:
    filler.ready()
    answer = filler.send("workers", [(f"x{n}", "") for n in range(3000)])
    assert answer.status == 400
