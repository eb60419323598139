"""Quantities of a cluster that says absurd ones: nothing grows with a number that it sends."""

import tracemalloc
from decimal import Decimal
from typing import Any

import pytest

from gangline.clusters.models import Cluster
from gangline.clusters.services import store_capacity
from gangline.drivers.kubernetes import capabilities, pods
from gangline.drivers.kubernetes.quantities import MOST, amount, in_words
from gangline.resources.services import make
from gangline.scopes.services import found


def node(**allocatable: str) -> dict[str, Any]:
    named = {name.replace("__", "/").replace("_", "."): n for name, n in allocatable.items()}
    return {
        "metadata": {"name": "n", "labels": {}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", **named},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


@pytest.mark.parametrize(
    ("quantity", "number"),
    [
        ("1M", 1_000_000), ("9E", 9 * 10**18), ("99E", int(MOST)), ("1e99", int(MOST)),
        ("9" * 99, int(MOST)), ("9" * 5000, 0), ("1.2.3", 0), (".", 0), ("-1", 0), (None, 0),
        ("1e999999999", 0), ({}, 0),
    ],
)  # fmt: skip
def test_a_quantity_is_a_number_that_kubernetes_could_mean(quantity: Any, number: int) -> None:
    assert int(amount(quantity)) == number


@pytest.mark.parametrize("count", ["1M", "99E"])
def test_gpus_are_counted_and_not_listed(count: str) -> None:
    nodes = [node(nvidia_com__gpu=count), node(nvidia_com__gpu="2", amd_com__gpu="1")]
    tracemalloc.start()
    room = capabilities.capacity(nodes)
    step, detail = capabilities.nodes_in_words(nodes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert room.gpu_count == int(amount(count)) + 3
    assert room.gpus == ()
    assert detail["largest"]["gpus"] == int(amount(count))
    assert step.sentence
    assert peak < 1 << 20


def test_what_is_stored_of_a_cluster_stays_small(db: None) -> None:
    found(name="Test")
    lab = make("cluster", actor=None, name="lab", kind="kubernetes")
    store_capacity(lab, capabilities.capacity([node(nvidia_com__gpu="99E")]))
    lab = Cluster.objects.get(pk=lab.pk)
    assert lab.gpu_count == int(MOST)
    assert len(repr(lab.capacity)) < 500


@pytest.mark.parametrize(
    ("capacity", "count"),
    [({}, 0), ({"gpus": ["0", "1"]}, 2), ({"gpus": ["nvidia.com/gpu"] * 3}, 3),
     ({"gpus": [], "gpu_count": 8}, 8)],
)  # fmt: skip
def test_gpus_that_were_stored_one_by_one_are_still_counted(
    capacity: dict[str, Any], count: int
) -> None:
    assert Cluster(capacity=capacity).gpu_count == count


@pytest.mark.parametrize(
    ("resource", "number", "words"),
    [("pods", 1, "1 pod"), ("pods", 2, "2 pods"), ("cpu", 1, "1 CPU core")],
)
def test_one_is_told_as_one(resource: str, number: int, words: str) -> None:
    assert in_words(resource, Decimal(number)) == words


@pytest.mark.parametrize("year", ["0001", "1970", "9999"])
def test_a_time_that_cannot_be_one_is_none(year: str) -> None:
    assert pods.moment(f"{year}-12-31T23:59:59Z") is None
