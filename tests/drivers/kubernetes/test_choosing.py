"""Which scheduler is used on a cluster, what is told of it, and how quantities are added."""

from decimal import Decimal
from typing import Any

import pytest

from gangline.drivers.kubernetes import capabilities, quantities, queues, schedulers
from gangline.drivers.kubernetes.schedulers import adapter


def _queue(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {}}


def test_a_scheduler_is_chosen_from_what_a_cluster_serves() -> None:
    assert schedulers.found(["apps/v1"]) == ("plain",)
    served = ["scheduling.volcano.sh/v1beta1", "scheduling.k8s.io/v1alpha2", "v1"]
    assert schedulers.found(served) == ("volcano", "native", "plain")
    assert schedulers.best(schedulers.found(served)) == "volcano"
    assert schedulers.best(["native", "plain"]) == "native"


@pytest.mark.parametrize(
    ("chosen", "state", "says"),
    [
        ("kueue", "warning", "Kueue was chosen. Gangline has not been tested with the real one."),
        ("native", "ok", "Pods of MPI workloads it places one by one."),
    ],
)
def test_what_a_scheduler_does_not_do_is_told_with_the_check(
    chosen: str, state: str, says: str
) -> None:
    versions = {"kueue.x-k8s.io": ("v1beta1",), "scheduling.k8s.io": ("v1", "v1alpha2")}
    step, _ = capabilities.scheduling(capabilities.Served(versions, {}), chosen)
    assert step.state == state
    assert says in step.sentence


def test_queues_are_kept_by_name_unless_there_are_too_many() -> None:
    found = [_queue(f"team-{number}") for number in range(queues.MOST + 1)]
    assert queues.detail(adapter("volcano"), found) == {}
    kept = queues.detail(adapter("volcano"), [_queue("root"), *found[:10]])
    assert kept["scheduler"] == "volcano"
    assert queues.in_words(kept["names"]).endswith("team-7 and 2 more")


def test_what_was_never_proven_is_not_chosen_by_itself() -> None:
    found = schedulers.found(["scheduling.run.ai/v2alpha2", "kueue.x-k8s.io/v1beta1"])
    assert found == ("kai", "kueue", "plain")
    assert schedulers.best(found) == "plain"
    unproven = [name for name, one in schedulers.ADAPTERS.items() if not one.is_proven]
    for name in unproven:
        module = __import__(type(adapter(name)).__module__, fromlist=["__doc__"])
        assert "Not proven live" in (module.__doc__ or "")


@pytest.mark.parametrize(
    ("quantity", "number"),
    [("500m", "0.5"), ("2", "2"), (3, "3"), ("1.5Gi", "1610612736"), ("1e3", "1000"), ("?", "0")],
)
def test_quantities_are_read(quantity: str | int, number: str) -> None:
    assert quantities.amount(quantity) == Decimal(number)


def test_quantities_are_added() -> None:
    parts = [(3, {"cpu": "1500m", "memory": "512M", "nvidia.com/gpu": "2"}), (1, {"cpu": "0.25"})]
    total = quantities.total(parts)
    assert total == {"cpu": "4750m", "memory": "1536000000", "nvidia.com/gpu": "6"}
