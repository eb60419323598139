"""What can be sorted by is declared once, with its words, and led by an index."""

from workloads import tables
from workloads.api.workload_list import SORTS
from workloads.models import Workload


def test_every_order_has_words_and_the_usual_one_comes_first() -> None:
    orders = tables.WORKLOADS.orders()
    assert all(orders.values())
    assert {value.lstrip("-") for value in orders} == set(tables.SORTS)
    assert list(orders)[:2] == ["-created", "created"]


def test_the_api_sorts_by_what_the_page_sorts_by_and_an_index_leads_each() -> None:
    assert set(SORTS.values()) == set(tables.SORTS.values())
    led = {index.fields[0].lstrip("-") for index in Workload._meta.indexes if index.fields}
    assert set(tables.SORTS.values()) <= led
