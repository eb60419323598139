"""An address read into a query, the place that cursors carry, and cells of CSV."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse, QueryDict
from django.test import RequestFactory

from gangline.tables import paging
from gangline.tables.export import plain
from gangline.tables.pages import TablePage, with_address
from gangline.tables.query import TableQuery, read
from workloads.tables import WORKLOADS

FIXED = ("name", "more")


def asked(text: str) -> TableQuery[Any]:
    return read(WORKLOADS, QueryDict(text), AnonymousUser())  # type: ignore[arg-type]


def shown(text: str) -> list[str]:
    return [column.name for column in asked(text).columns if column.name not in FIXED]


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("framework=MPI&framework=XGBoost", "framework", ("MPI", "XGBoost")),
        ("framework=MPI,XGBoost,MPI", "framework", ("MPI", "XGBoost")),
        ("status=attention", "status", ("Cannot start", "Failed")),
        ("status=cannot-start", "status", ("Cannot start",)),
        ("status=Running", "status", ("Running",)),
        ("status=nonsense", "status", ("nonsense",)),
        ("gpus_min=4", "gpus", ("4", "")),
        ("created_from=2026-01-01&created_to=2026-01-31", "created", ("2026-01-01", "2026-01-31")),
        ("label=team%3Dnlp%00", "label", ("team=nlp",)),
    ],
)
def test_filters_are_read(text: str, name: str, values: tuple[str, ...]) -> None:
    query = asked(text)
    assert query.values == {name: values}
    assert query.is_filtered


@pytest.mark.parametrize(
    "text", ["gpus_min=many", "gpus_max=-1", "created_from=yesterday", "created_to=9999-12-31"]
)
def test_what_cannot_be_read_is_a_problem_of_its_filter(text: str) -> None:
    query = asked(text)
    assert not query.values
    assert list(query.problems) == [text.partition("_")[0]]


def test_columns_keep_their_order_and_move_by_one() -> None:
    assert shown("cols=image,status,nonsense,image") == ["image", "status"]
    assert shown("cols=image&cols=status&cols=gpus&up=gpus") == ["image", "gpus", "status"]
    assert shown("cols=image,status&down=status") == ["image", "status"]
    assert shown("cols=nonsense") == shown("")


def test_addresses_say_no_more_than_they_must() -> None:
    query = asked("q=&sort=-created&project=1&cols=image&cols=status&after=x&up=status")
    assert query.url("/w") == "/w?project=1&cols=status,image"
    assert query.url("/w", project=None, cols=None, after="y") == "/w?after=y"
    assert asked("sort=nonsense&size=7").sort == "-created"


def pushed(
    current: str, address: str, *, there: str = "http://x/w"
) -> tuple[str | None, str | None]:
    """What the browser is told to add to its history, and what to replace there."""
    query = asked(address)
    page = TablePage(query, "/w", paging.Page([], "", ""), [], 0)
    request = RequestFactory().get(
        "/w", headers={"HX-Request": "true", "HX-Current-URL": f"{there}?{current}"}
    )
    response = with_address(request, page, HttpResponse())
    return response.get("HX-Push-Url"), response.get("HX-Replace-Url")


def test_each_filter_is_a_step_of_the_history_and_typing_on_is_none() -> None:
    assert pushed("", "project=1&q=") == ("/w?project=1", None)
    assert pushed("project=1", "project=1&q=b") == ("/w?project=1&q=b", None)
    assert pushed("project=1&q=b", "q=be&project=1") == (None, "/w?q=be&project=1")
    assert pushed("project=1&q=be", "q=be&project=1&sort=-created") == ("false", None)
    assert pushed("", "project=1", there="http://[x") == ("/w?project=1", None)


def test_cursors_carry_the_place_there_and_back() -> None:
    order = paging.Order("n", descending=False, ties=())
    rows = [SimpleNamespace(n=n) for n in range(7)]

    def cut(start: int, count: int, after: str = "") -> paging.Page[Any]:
        return paging.cut(rows[start : start + count], order, size=3, after=after)

    first = cut(0, 4)
    second = cut(3, 4, after=first.next)
    third = cut(6, 1, after=second.next)
    assert [(p.first, p.last) for p in (first, second, third)] == [(1, 3), (4, 6), (7, 7)]
    back = paging.cut(rows[5:1:-1], order, size=3, before=third.previous)
    assert (back.first, back.last) == (4, 6)
    start = paging.cut(rows[2::-1], order, size=3, before=back.previous)
    assert (start.first, start.previous) == (1, "")


@pytest.mark.parametrize("value", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1"])
def test_no_cell_is_run_by_a_sheet(value: str) -> None:
    assert plain(value) == f"'{value}"


def test_other_cells_stay_as_they_are() -> None:
    assert [plain(v) for v in ("a=b", -1, None)] == ["a=b", -1, ""]
    assert plain(datetime(2026, 1, 2, 3, 4, tzinfo=UTC)) == "2026-01-02T03:04:00+00:00"
