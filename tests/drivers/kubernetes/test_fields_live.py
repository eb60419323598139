"""Fields of a cluster on a real one: what arrives in the pods, made as the user of our roles."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef, NotYet, ObservedState
from gangline.drivers.kubernetes.resources import PODS
from tests.beds.kubernetes.bed import Bed, rules
from tests.drivers.kubernetes.goldens import submission
from tests.drivers.kubernetes.harness import Ground, ground
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_kubernetes


@pytest.fixture
def place(bed: Bed, tmp_path: Path) -> Iterator[Ground]:
    with ground(bed, tmp_path) as made:
        yield made


def released(place: Ground, **values: Any) -> AttemptRef:
    """Workers with these values, by path; a dot is written as two underscores."""
    small: dict[str, Any] = {
        "compute__gpuDevicesRequest": 0, "compute__extendedResources": [],
        "nodeType": None, "nodeAffinityRequired": [],
        "podAffinity__key": None, "podAffinity__type": None,
        "priorityClass": None, "compute__cpuCoreRequest": 0.1, "tolerations": [],
    }  # fmt: skip
    count = values.pop("num_workers", 1)
    wanted = submission("PyTorch", num_workers=count, **(small | values))
    ref = place.ref(wanted.name, submission=wanted, rendered=place.driver.render(wanted))
    assert isinstance(place.driver.create(ref), NotYet)
    place.driver.commit(ref)
    return ref


def pod_of(place: Ground, name: str = "ddp-worker-0") -> Mapping[str, Any]:
    """The pod as it stands on the server."""
    answer = wait_for(lambda: _read(place, name), seconds=60, what=name)
    assert answer is not None
    return answer


def _read(place: Ground, name: str) -> Mapping[str, Any] | None:
    answer = place.bed.client.get(PODS, place.namespace, name)
    return answer.body if answer.ok else None


def test_a_variable_arrives_as_a_reference_and_never_as_a_value(place: Ground) -> None:
    released(
        place,
        environmentVariables=[
            {"name": "KEY", "secret": {"name": "wandb", "key": "api-key"}},
            {"name": "ALGO", "configMap": {"name": "nccl", "key": "algo"}},
            {"name": "IP", "podFieldRef": {"path": "status.podIP"}},
            {"name": "BOTH", "value": "$(ALGO)/x"},
        ],
    )
    env = {item["name"]: item for item in pod_of(place)["spec"]["containers"][0]["env"]}
    assert env["KEY"]["valueFrom"] == {"secretKeyRef": {"name": "wandb", "key": "api-key"}}
    assert env["ALGO"]["valueFrom"] == {"configMapKeyRef": {"name": "nccl", "key": "algo"}}
    assert env["IP"]["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"
    assert env["BOTH"]["value"] == "$(ALGO)/x"
    assert "value" not in env["KEY"]


@pytest.mark.thorough
def test_a_secret_that_is_not_there_is_told_in_words(place: Ground) -> None:
    held = [{"name": name, "value": value} for name, value in rules(start_after="10m").items()]
    ref = released(
        place,
        annotations=held,
        environmentVariables=[{"name": "KEY", "secret": {"name": "wandb", "key": "api-key"}}],
    )
    wait_for(lambda: pod_of(place)["spec"].get("nodeName"), seconds=30)
    waiting = {"reason": "CreateContainerConfigError", "message": 'secret "wandb" not found'}
    status = {
        "containerStatuses": [
            {
                "name": "pytorch", "image": "x", "imageID": "", "ready": False, "restartCount": 0,
                "state": {"waiting": waiting},
            }
        ]
    }  # fmt: skip
    # The bed's kubelet has no Secrets to look for: what a real one would say.
    answer = place.bed.client.patch(
        PODS, place.namespace, "ddp-worker-0", {"status": status}, "status"
    )
    assert answer.ok, answer.message
    seen = place.until(ref, ObservedState.STARTING)
    assert seen.reason == 'Its configuration cannot be used: secret "wandb" not found.'


def test_node_type_and_requirements_are_one_term(place: Ground) -> None:
    released(
        place,
        nodePools=None,
        nodeType="p5.48xlarge",
        nodeAffinityRequired=[
            {
                "name": "zone",
                "key": "topology.kubernetes.io/zone",
                "operator": "NotIn",
                "values": "a,b",
            },
            {"name": "gpus", "key": "gpus", "operator": "Gt", "values": "4"},
            {"name": "old", "key": "maintenance", "operator": "DoesNotExist"},
        ],
    )
    affinity = pod_of(place)["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge"]},
        {"key": "topology.kubernetes.io/zone", "operator": "NotIn", "values": ["a", "b"]},
        {"key": "gpus", "operator": "Gt", "values": ["4"]},
        {"key": "maintenance", "operator": "DoesNotExist"},
    ]


@pytest.mark.parametrize("kind", ["Required", "Preferred"])
@pytest.mark.thorough
def test_a_topology_is_about_the_pods_of_the_workload(place: Ground, kind: str) -> None:
    key = "kubernetes.io/hostname"
    ref = released(place, num_workers=2, podAffinity__key=key, podAffinity__type=kind)
    affinity = pod_of(place)["spec"]["affinity"]["podAffinity"]
    term = {
        "topologyKey": key,
        "labelSelector": {"matchLabels": {"gangline.dev/workload": ref.workload}},
    }
    wanted: dict[str, Any] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    if kind == "Preferred":
        weighed = [{"weight": 100, "podAffinityTerm": term}]
        wanted = {"preferredDuringSchedulingIgnoredDuringExecution": weighed}
    assert affinity == wanted
    place.until(ref, ObservedState.RUNNING)
    if kind == "Required":
        pods = [pod_of(place, f"ddp-worker-{n}") for n in (0, 1)]
        assert len({pod["spec"]["nodeName"] for pod in pods}) == 1


@pytest.mark.thorough
def test_what_nodes_are_called_is_offered(place: Ground) -> None:
    facts = place.driver.probe().facts
    assert facts is not None
    assert "kubernetes.io/hostname" in facts.detail["suggestions"]["podAffinity.key"]
    assert "kubernetes.io/hostname" in facts.detail["nodes"]["labels"]
