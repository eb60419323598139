"""Rows that are stored together are stored as each alone would be."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError, connection, transaction
from django.forms import model_to_dict
from django.test.utils import CaptureQueriesContext

from gangline.clusters.models import Cluster
from gangline.db.batches import update_rows
from gangline.db.clock import db_now
from gangline.resources.services import make
from tests.support.world import World, make_world

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]

ODD = "naïve 'quoted' %s \\ line\nbreak"


@pytest.fixture(autouse=True)
def world() -> World:
    return make_world()


def clusters(count: int) -> list[Cluster]:
    made = [make("cluster", actor=None, name=f"c{n}", kind="kubernetes") for n in range(count)]
    for number, row in enumerate(made):
        row.facts = {"n": number}
        row.save()
    return made


def stored(row: Cluster) -> dict[str, Any]:
    found = Cluster.objects.get(pk=row.pk)
    return {field.name: field.value_from_object(found) for field in Cluster._meta.concrete_fields}


def test_every_kind_of_value_comes_back_as_it_was() -> None:
    rows, now = clusters(3), db_now()
    for number, row in enumerate(rows):
        row.health_reason, row.failures = f"{ODD} {number}", number
        row.facts = {"words": [ODD, None, 1.5, True], "n": number}
        row.heard_at = now - timedelta(seconds=number) if number else None
    with CaptureQueriesContext(connection) as sent:
        update_rows(rows)
    assert len(sent) == 1
    for row in rows:
        assert stored(row) == model_to_dict(row)
    assert Cluster.objects.get(pk=rows[2].pk).heard_at == now - timedelta(seconds=2)


def test_only_named_columns_are_touched() -> None:
    rows = clusters(2)
    for row in rows:
        row.health_reason, row.kind = "changed", "changed"
    update_rows(rows, ["health_reason"])
    assert {stored(row)["health_reason"] for row in rows} == {"changed"}
    assert {stored(row)["kind"] for row in rows} == {"kubernetes"}
    assert Cluster.objects.exclude(pk__in=[row.pk for row in rows]).get().health_reason == ""


def test_columns_that_were_not_loaded_stay() -> None:
    (made,) = clusters(1)
    row = Cluster.objects.defer("facts").get(pk=made.pk)
    row.health_reason = "changed"
    update_rows([row])
    assert stored(made)["facts"] == {"n": 0}
    with pytest.raises(ValueError, match="facts"):
        update_rows([Cluster.objects.defer("facts").get(pk=made.pk)], ["facts"])


def test_nothing_is_a_batch_too() -> None:
    with CaptureQueriesContext(connection) as sent:
        update_rows([])
    assert len(sent) == 0


def test_what_is_too_long_is_never_cut() -> None:
    """PostgreSQL refuses it, SQLite knows no length."""
    rows, long = clusters(1), "n" * 1000
    rows[0].name = long
    expected = long
    if connection.vendor == "postgresql":
        expected = "c0"
        with pytest.raises(DataError), transaction.atomic():
            update_rows(rows)
    else:
        update_rows(rows)
    assert stored(rows[0])["name"] == expected
