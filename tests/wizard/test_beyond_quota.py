"""V28: who asks for more than the quota covers is told what that means, and may all the same."""

import pytest

from gangline.organization.models import Quota
from tests.support.forms import Filler
from tests.support.world import World
from workloads.models import Workload

NON_PREEMPTIBLE = {"worker.preemptibility": "non-preemptible"}


@pytest.fixture
def beyond(filler: Filler, world: World) -> Filler:
    """Two GPUs where the project's quota is one and the machine has two."""
    Quota.objects.filter(scope=world.vision.scope).update(gpus=1)
    filler.fill()
    asked = {"worker.compute.gpuDevicesRequest": "1", "worker.numWorkers": "1"}
    assert filler.post("workers", asked).status == 303
    return filler


@pytest.mark.parametrize(
    ("said", "path"),
    [
        (NON_PREEMPTIBLE, "preemptibility"),
        ({"worker.priorityClass": "very-high"}, "priorityClass"),
        ({}, ""),
        ({"worker.priorityClass": "very-high", "worker.preemptibility": "preemptible"}, ""),
    ],
)
def test_what_is_not_preemptible_is_warned_of_at_its_field(
    beyond: Filler, said: dict[str, str], path: str
) -> None:
    beyond.post("workers", said)
    links = beyond.get("review").page.links
    told = {one.partition("#f-worker-")[2] for one in links} & {"preemptibility", "priorityClass"}
    assert told == {path} - {""}
    page = beyond.get("workers").page
    for name in ("preemptibility", "priorityClass"):
        assert page.has(id=f"f-worker-{name}-a") is (name == path)


def test_what_is_larger_than_the_whole_quota_is_not_told_to_wait(beyond: Filler) -> None:
    beyond.post("workers", NON_PREEMPTIBLE)
    page = beyond.get("review").page
    assert "Cannot start" in page.one(data_testid="verdict").text
    assert page.one(data_testid="summary-quota").text.endswith("of 1 GPUs, over quota.")


def test_it_is_created_and_waits(beyond: Filler) -> None:
    beyond.post("workers", NON_PREEMPTIBLE)
    assert beyond.post("review", go="create").status == 303
    assert Workload.objects.get().is_preemptible is False
