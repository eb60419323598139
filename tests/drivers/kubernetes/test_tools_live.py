"""Tools on a real cluster: their Services and Ingresses, made as the user of our roles."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef, Done, NotYet, Observation, ObservedState, Refused
from gangline.drivers.kubernetes.resources import INGRESSES, SERVICES
from gangline.drivers.kubernetes.tool_services import TOOL
from tests.beds.kubernetes.bed import Bed
from tests.drivers.kubernetes.goldens import ENTRANCE, submission
from tests.drivers.kubernetes.harness import Ground, ground
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_kubernetes
SMALL: Mapping[str, Any] = {
    "compute__gpuDevicesRequest": 0, "compute__extendedResources": [],
    "nodeType": None, "nodeAffinityRequired": [], "nodePools": [],
    "podAffinity__key": None, "podAffinity__type": None,
    "priorityClass": None, "compute__cpuCoreRequest": 0.1, "tolerations": [],
    "environmentVariables": [],
}  # fmt: skip
BOARD = {"name": "tensorboard", "toolType": "tensorboard"}


@pytest.fixture
def place(bed: Bed, tmp_path: Path) -> Iterator[Ground]:
    with ground(bed, tmp_path) as made:
        made.driver.options = replace(made.driver.options, entrance=ENTRANCE)
        yield made


def held(place: Ground, **values: Any) -> AttemptRef:
    wanted = submission("PyTorch", num_workers=2, **{**SMALL, **values})
    ref = place.ref(wanted.name, submission=wanted, rendered=place.driver.render(wanted))
    assert isinstance(place.driver.create(ref), NotYet)
    return ref


def made(place: Ground, resource: Any) -> dict[str, dict[str, Any]]:
    """What stands there for tools, by name."""
    answer = place.bed.client.list(resource, place.namespace, labelSelector=TOOL)
    assert answer.ok, answer
    return {one["metadata"]["name"]: one for one in answer.body["items"]}


def test_a_tool_has_a_service_and_a_guarded_ingress_that_go_with_the_job(place: Ground) -> None:
    ref = held(place, exposedUrls=[BOARD], ports=[{"name": "ssh", "container": 22}])
    assert made(place, SERVICES) == {}
    place.driver.commit(ref)
    services, ingresses = made(place, SERVICES), made(place, INGRESSES)
    assert set(services) == {"ddp-tool-tensorboard", "ddp-tool-ssh-port"}
    assert set(ingresses) == {"ddp-tool-tensorboard"}
    for one in (*services.values(), *ingresses.values()):
        (owner,) = one["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) == ("PyTorchJob", "ddp")
    ingress = ingresses["ddp-tool-tensorboard"]
    notes = ingress["metadata"]["annotations"]
    assert notes["nginx.ingress.kubernetes.io/auth-url"].endswith("/tensorboard/auth")
    assert ingress["spec"]["rules"][0]["host"].endswith(".tools.lab.example")
    assert ingress["spec"]["tls"][0]["secretName"] == "tools-tls"

    def running() -> Observation | None:
        seen = place.driver.observe(ref)
        return seen if seen.state is ObservedState.RUNNING else None

    seen = wait_for(running, seconds=90, what="Running")
    assert seen is not None
    port = services["ddp-tool-ssh-port"]["spec"]["ports"][0]["nodePort"]
    assert seen.tool_addresses == {"ssh": f"<node>:{port}"}
    pods = place.bed.client.request(
        "GET",
        f"/api/v1/namespaces/{place.namespace}/pods",
        query={"labelSelector": _selector(services["ddp-tool-tensorboard"])},
    )
    assert [pod["metadata"]["name"] for pod in pods.body["items"]] == ["ddp-worker-0"]
    wait_for(lambda: isinstance(place.driver.delete(ref), Done), seconds=60, what="the end")
    wait_for(lambda: not made(place, SERVICES) and not made(place, INGRESSES), seconds=30)


def test_a_node_port_that_is_taken_is_said_at_its_field(place: Ground, bed: Bed) -> None:
    """V13: the cluster alone knows which are taken."""
    other = {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "other"},
        "spec": {"type": "NodePort", "ports": [{"port": 80}]},
    }  # fmt: skip
    with bed.namespace() as elsewhere:
        taken = place.bed.client.create(SERVICES, elsewhere, other).body
        number = taken["spec"]["ports"][0]["nodePort"]
        ref = held(place, ports=[{"name": "ssh", "container": 22, "external": number}])
        told = place.driver.commit(ref)
    assert isinstance(told, Refused)
    assert [problem.path for problem in told.problems] == ["ports.0.external"]


def _selector(service: Mapping[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in service["spec"]["selector"].items())
