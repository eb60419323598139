"""AC-F12: what is out of bounds is refused by form and API alike, in the same words."""

import pytest

from gangline.drivers.local.driver import LocalDriver
from tests.api.conftest import researcher
from tests.support.api import ApiClient
from tests.support.forms import Filler
from tests.support.world import World

__all__ = ["researcher"]


@pytest.mark.parametrize(
    ("path", "typed", "value"),
    [
        ("backoffLimit", "101", 101),
        ("backoffLimit", "-1", -1),
        ("terminationGracePeriodSeconds", "301", 301),
        ("numWorkers", "0", 0),
    ],
)
def test_acf12_a_limit_holds_in_form_and_api_in_the_same_words(
    filler: Filler, world: World, researcher: ApiClient, path: str, typed: str, value: int
) -> None:
    """AC-F12."""
    body = world.spec_body()
    body["spec"] |= {path: value}
    answer = researcher.post("workloads/distributed", body)
    (problem,) = answer.json()["problems"]
    assert (problem["path"], answer.status_code) == (path, 400)
    filler.fill()
    refused = filler.post("workers", {f"worker.{path}": typed})
    assert refused.status == 422
    assert refused.page.links == [f"f-worker-{path}"]
    assert problem["message"] in refused.page.one(id=f"f-worker-{path}-e").text
    summary = filler.post("review", go="create").page.one(data_testid="problem-summary")
    assert [e.tag for e in summary.inside].count("li") == 1


@pytest.mark.parametrize("port", [29999, 32768])
def test_acf12_a_node_port_holds_in_form_and_api_in_the_same_words(
    filler: Filler,
    world: World,
    researcher: ApiClient,
    monkeypatch: pytest.MonkeyPatch,
    port: int,
) -> None:
    """AC-F12 and V13."""
    monkeypatch.setattr(LocalDriver, "unsupported", {})
    ports = [{"toolType": "tensorboard", "container": 6006, "external": port}]
    answer = researcher.post("workloads/distributed", world.spec_body(ports=ports))
    (problem,) = answer.json()["problems"]
    assert (problem["path"], answer.status_code) == ("ports.0.external", 400)
    filler.fill()
    filler.post("workers", go="add:worker.ports")
    page = filler.get("workers").page
    (row,) = [value for name, value in page.fields() if name == "worker.ports~rows" and value]
    texts = {"toolType": "tensorboard", "customExternalPort": "true", "external": str(port)}
    refused = filler.post("workers", {f"worker.ports~{row}.{n}": t for n, t in texts.items()})
    assert refused.status == 422
    assert problem["message"] in refused.page.one(data_testid="f-worker.ports").text


@pytest.mark.parametrize("name", ["Digits", "1digits", "digits-", "d_1", "d" * 52])
def test_acf12_names_are_judged_alike(
    filler: Filler, world: World, researcher: ApiClient, name: str
) -> None:
    """AC-F12."""
    (problem,) = researcher.post("workloads/distributed", world.body(name)).json()["problems"]
    refused = filler.post("setup", {"workload.name": name})
    assert (refused.status, refused.page.links) == (422, ["f-workload-name"])
    assert problem["message"] in refused.page.one(id="f-workload-name-e").text
