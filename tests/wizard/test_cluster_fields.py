"""Fields that only some kinds of clusters have: out of the way on the others."""

import pytest

from gangline.drivers.local.driver import LocalDriver
from gangline.settings.catalogue import TOLERATIONS, TOPOLOGY
from gangline.spec.base import Restricted
from gangline.spec.catalogue import catalogue
from gangline.spec.workload import WorkerSpec
from tests.support.forms import Filler
from tests.support.settings import turn
from workloads.models import Workload

LIST = "worker.tolerations"
ONLY_ELSEWHERE = sorted(
    path
    for path, field in catalogue(WorkerSpec).items()
    if path in LocalDriver.unsupported
    and field.restricted != Restricted()
    and "PyTorch" in (field.only or ("PyTorch",))
)


@pytest.fixture
def ready(filler: Filler) -> Filler:
    turn(TOLERATIONS, True)
    turn(TOPOLOGY, True)
    filler.fill()
    return filler


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a cluster that has every field."""
    monkeypatch.setattr(LocalDriver, "unsupported", {})


def _shown(filler: Filler) -> list[str]:
    """Those of the fields that the page of the workers has."""
    page = filler.get("workers").page
    assert page.has(data_testid="f-worker.image")
    return [path for path in ONLY_ELSEWHERE if page.has(data_testid=f"f-worker.{path}")]


def test_a_laptop_shows_no_field_that_it_does_not_have(ready: Filler) -> None:
    assert _shown(ready) == []


def test_a_cluster_that_has_them_shows_them(ready: Filler, everywhere: None) -> None:
    assert _shown(ready) == ONLY_ELSEWHERE


def test_a_toleration_is_filled_in_and_sent(ready: Filler, everywhere: None) -> None:
    ready.post("workers", go=f"add:{LIST}")
    page = ready.get("workers").page
    row = [value for name, value in page.fields() if name == f"{LIST}~rows" and value][-1]
    assert page.value(f"{LIST}~{row}.operator") == ""  # nothing is chosen for anybody
    typed = {"name": "gpus", "key": "nvidia.com/gpu", "operator": "Exists", "effect": "Any"}
    ready.post("workers", {f"{LIST}~{row}.{name}": text for name, text in typed.items()})
    assert ready.get("workers").page.value(f"{LIST}~{row}.effect") == "Any"
    ready.post("review", go="create")
    assert Workload.objects.get().given[LIST]["value"] == [typed]


def test_what_was_chosen_elsewhere_is_shown_with_the_reason_and_can_be_cleared(
    ready: Filler, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(LocalDriver, "unsupported", {})
        ready.post("workers", {"worker.nodeType": "dgx"})
    page = ready.get("workers").page
    assert "the only node" in page.one(data_testid="f-worker.nodeType").text
    ready.post("workers", {"worker.nodeType": ""})
    assert not ready.get("workers").page.has(data_testid="f-worker.nodeType")
