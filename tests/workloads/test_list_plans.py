"""A list follows an index in the order it shows, whatever it is filtered by: it never sorts."""

from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.http import QueryDict

from gangline.tables.paging import page
from gangline.tables.query import read
from tests.support.world import World
from workloads.models import Workload
from workloads.selectors import workload_list
from workloads.tables import SORTS, WORKLOADS

pytestmark = pytest.mark.postgres


def plan(rows: QuerySet[Any]) -> str:
    """The database's plan for ``rows``, were the table too large to read whole."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            for way in ("seqscan", "bitmapscan", "sort"):
                cursor.execute(f"SET LOCAL enable_{way} = off")
    return rows.explain()


def page_plan(address: str, projects: list[int], world: World) -> str:
    """The plan of the page at ``address``."""
    query = read(WORKLOADS, QueryDict(address), world.people["administrator"])
    plans: list[str] = []

    def note(rows: QuerySet[Workload]) -> list[Any]:
        plans.append(plan(rows))
        return []

    page(workload_list.listed(projects, query).fitting, query.order, size=50, values=note)
    return plans[0]


@pytest.mark.parametrize(
    "address",
    ["", "status=running", "status=attention", "q=bert", "framework=XGBoost",
     "created_from=2026-01-01&sort=name", "gpus_min=4", "label=team=nlp",
     *(f"sort={sign}{name}" for name in SORTS for sign in ("", "-"))],
)  # fmt: skip
def test_a_page_of_several_projects_is_read_in_the_order_of_an_index(
    world: World, address: str
) -> None:
    found = page_plan(address, [world.vision.pk, world.nlp.pk], world)
    assert "workload_by_" in found
    assert "TEMP B-TREE" not in found
    assert "Sort" not in found


def test_a_page_of_one_project_needs_no_sorting_either(world: World) -> None:
    found = page_plan("", [world.vision.pk], world)
    assert "TEMP B-TREE" not in found
    assert "Sort" not in found
    if connection.vendor == "sqlite":  # PostgreSQL chooses by the rows that are there
        assert "workload_by_project_created" in found


def test_a_page_narrowed_to_one_project_reads_that_project_alone(world: World) -> None:
    both = [world.vision.pk, world.nlp.pk]
    found = page_plan(f"project={world.vision.name}", both, world)
    assert "TEMP B-TREE" not in found
    assert "Sort" not in found
    if connection.vendor == "sqlite":
        assert "workload_by_project_created" in found


def test_the_pills_of_one_project_are_counted_from_its_own_index(world: World) -> None:
    one = workload_list.in_projects([world.vision.pk])
    running = one.filter(status__in=["Running", "Degraded"]).order_by().values("pk")
    found = plan(running[:1001])
    # PostgreSQL chooses by the rows that are there.
    assert "Index" in found or "COVERING INDEX workload_by_project_status" in found


def test_nobody_sees_workloads_of_no_project(world: World) -> None:
    assert not workload_list.in_projects([]).exists()


def test_pills_are_counted_from_an_index(world: World) -> None:
    projects = workload_list.in_projects([world.vision.pk, world.nlp.pk])
    running = projects.filter(status__in=["Running", "Degraded"]).order_by().values("pk")
    found = plan(running[:1001])
    assert "Index" in found or "COVERING INDEX workload_by_status" in found
