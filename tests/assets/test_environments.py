"""What is shipped, and the framework that an environment is made for."""

import json
from typing import Any

import pytest
from django.test import Client

from assets.models import Compute, Environment
from assets.selectors import places
from gangline.clusters import nodes
from gangline.drivers.facts import NodeFact
from gangline.resources.services import make
from gangline.scopes.selectors import tenant_scope
from gangline.spec.frameworks import PROGRAMS
from gangline.supervisor import installation
from tests.support.world import World


@pytest.mark.django_db
def test_a_new_installation_has_a_public_image_of_each_framework_once() -> None:
    installation.begin()
    installation.begin()
    shipped = list(Environment.objects.filter(scope=tenant_scope()))
    assert {one.framework for one in shipped} == set(PROGRAMS)
    assert len({one.name for one in shipped}) == len(shipped)
    for one in shipped:
        image, _, tag = one.values["image"].rpartition(":")
        assert image
        assert tag not in ("", "latest")


@pytest.mark.django_db
def test_a_new_installation_has_compute_resources_from_none_to_a_whole_gpu() -> None:
    installation.begin()
    shipped = {one.name: one.values for one in Compute.objects.filter(scope=tenant_scope())}
    portions = {
        name: values.get("compute.gpuPortionRequest", values["compute.gpuDevicesRequest"])
        for name, values in shipped.items()
    }
    assert portions == {"cpu-only": 0, "small-fraction": 0.1, "half-gpu": 0.5, "one-gpu": 1}
    assert {values["compute.cpuCoreRequest"] for values in shipped.values()} == {0.1}
    assert {values["compute.cpuMemoryRequest"] for values in shipped.values()} == {"100M"}


def test_a_compute_resource_says_how_many_nodes_can_hold_a_pod_of_it(world: World) -> None:
    found = [
        NodeFact("large", "Ready", cpu=32.0, memory=64 * 10**9, gpus=4),
        NodeFact("cordoned", "Cordoned", cpu=32.0, memory=64 * 10**9, gpus=4),
        NodeFact("small", "Ready", cpu=32.0, memory=64 * 10**9, gpus=1),
        NodeFact("full", "Ready", cpu=32.0, memory=10**9, gpus=4),
    ]
    nodes.store(world.cluster, found)
    values = {"compute.gpuDevicesRequest": 2, "compute.cpuMemoryRequest": "4G"}
    made = make("compute", scope=world.department.scope, name="two", values=values)
    told = places.nodes_for(world.people["researcher-vision"], made)
    assert list(told) == [(world.cluster, 1, 4)]


def test_clients_say_and_ask_which_framework_an_environment_is_for(world: World) -> None:
    def call(method: str, path: str = "", body: Any = None) -> Any:
        return Client().generic(
            method,
            f"/api/v1/asset/environment{path}",
            data=json.dumps(body) if body else "",
            content_type="application/json",
            headers=world.headers("administrator"),
        )

    def body(types: dict[str, Any]) -> dict[str, Any]:
        place = {"scope": "project", "projectId": world.vision.pk}
        return {
            "meta": {"name": "ddp", **place, "workloadSupportedTypes": types},
            "spec": {"image": "ddp:1"},
        }

    wanted = body({"distributed": True, "distFramework": "PyTorch"})
    for name in ("autoDelete", "private"):  # the client says false of both by itself
        refused = call("POST", body={**wanted, "meta": {**wanted["meta"], name: True}})
        assert refused.status_code == 400
        assert [one["path"] for one in refused.json()["problems"]] == [f"meta.{name}"]
        wanted["meta"][name] = False
    made = call("POST", body=wanted)
    assert made.status_code == 202, made.content
    meta = made.json()["meta"]
    assert meta["workloadSupportedTypes"] == {"distributed": True, "distFramework": "PyTorch"}
    for framework, names in (("PyTorch", ["ddp"]), ("MPI", [])):
        found = call("GET", f"?distributedFramework={framework}&projectId={world.vision.pk}")
        assert [one["meta"]["name"] for one in found.json()["entries"]] == names
    assert call("GET", "?distributedFramework=Torch").status_code == 400
    other = call("PUT", f"/{meta['id']}", {"meta": {"description": "of the lab"}})
    assert other.json()["meta"]["workloadSupportedTypes"]["distFramework"] == "PyTorch"
    any_of_them = call("PUT", f"/{meta['id']}", {"meta": {"workloadSupportedTypes": {}}})
    assert "distFramework" not in any_of_them.json()["meta"]["workloadSupportedTypes"]
    refused = call("POST", body=body({"distFramework": "Torch"}))
    assert refused.status_code == 400
    path = "meta.workloadSupportedTypes.distFramework"
    assert [(one["path"], one["rule"]) for one in refused.json()["problems"]] == [(path, "options")]
