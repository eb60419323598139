"""Queries whose SQL is written once give what the queryset gives."""

from datetime import UTC, datetime

import pytest

from gangline.accounts.models import User
from gangline.db.prepared import prepare

pytestmark = pytest.mark.postgres

NAMES = ("username", "uid", "is_active", "created_at", "preferences")


@pytest.fixture(autouse=True)
def people(db: None) -> None:
    for name in ("ada", "bob"):
        User.objects.create(
            username=name, created_at=datetime(2026, 3, 2, 9, 15, tzinfo=UTC), preferences={"a": 1}
        )


def test_values_have_the_same_types_as_from_the_queryset() -> None:
    rows = User.objects.order_by("username").values_list(*NAMES)
    assert prepare(rows).rows() == list(rows)


def test_rows_are_read_anew_each_time() -> None:
    prepared = prepare(User.objects.values_list("username"))
    assert len(prepared.rows()) == 2
    User.objects.filter(username="bob").delete()
    assert prepared.rows() == [("ada",)]


def test_other_parameters_give_other_rows() -> None:
    prepared = prepare(User.objects.filter(username="ada").values_list("username"))
    assert prepared.rows() == [("ada",)]
    assert prepared.rows("bob") == [("bob",)]


def test_a_slice_and_its_order_are_kept() -> None:
    rows = User.objects.order_by("-username").values_list("username")[:1]
    assert prepare(rows).rows() == [("bob",)]


def test_a_query_that_can_find_nothing_finds_nothing() -> None:
    assert prepare(User.objects.filter(pk__in=[]).values_list("username")).rows() == []
