"""What an administrator says of a storage class holds in the form and in the API."""

import json
from typing import Any

import pytest

from gangline.clusters import storage
from gangline.clusters.connections import facts_of
from gangline.clusters.models import StorageClass
from gangline.drivers.facts import Facts
from gangline.drivers.kubernetes.check import check
from gangline.drivers.kubernetes.guidance import field_notes
from gangline.resources.registry import get
from gangline.resources.services import update
from tests.drivers.kubernetes.goldens import SAME, submission
from tests.support.api import ApiClient
from tests.support.world import World

pytestmark = pytest.mark.django_db
CLASSES = [
    {"name": "fast", "provisioner": "csi.example", "default": True},
    {"name": "slow", "provisioner": "csi.example", "default": False},
]
PATH = "storage-class-configuration"


@pytest.fixture
def fast(world: World) -> StorageClass:
    storage.store(world.cluster, CLASSES)
    return StorageClass.objects.get(name="fast")


def configured(world: World, row: StorageClass, **values: Any) -> Facts:
    update(get("storage_class"), actor=None, obj=row, values=values)
    world.cluster.refresh_from_db()
    world.cluster.facts = {"version": "v1.36.3", "detail": {"storageClasses": CLASSES}}
    return facts_of(world.cluster)


def told(facts: Facts, **volume: Any) -> list[tuple[str, str, str]]:
    claim = {"name": "data", "path": "/data", **volume}
    made = submission("PyTorch", SAME, storage__pvc=[claim])
    found = [p for p in check(made, facts) if p.field_id.startswith("worker.storage.pvc")]
    return [(p.path.removeprefix("storage.pvc.0."), p.rule, p.source) for p in found]


@pytest.mark.parametrize(
    ("values", "volume", "expected"),
    [
        ({"max_size": "10Gi"}, {"claimInfo": {"size": "11Gi"}}, ("claimInfo.size", "max")),
        ({"min_size": "2Gi"}, {"claimInfo": {"size": "1Gi"}}, ("claimInfo.size", "min")),
        (
            {"min_size": "1Gi", "size_step": "2Gi"},
            {"claimInfo": {"size": "2Gi"}},
            ("claimInfo.size", "step"),
        ),
        (
            {"read_write_many": False},
            {"claimInfo": {"size": "1Gi", "accessModes": {"readWriteMany": True}}},
            ("claimInfo.accessModes.readWriteMany", "options"),
        ),
        (
            {"block": False},
            {"claimInfo": {"size": "1Gi", "volumeMode": "Block"}},
            ("claimInfo.volumeMode", "options"),
        ),
        (
            {"ephemeral": False},
            {"claimInfo": {"size": "1Gi"}, "ephemeral": True},
            ("ephemeral", "options"),
        ),
        (
            {"for_workloads": False},
            {"claimInfo": {"size": "1Gi"}},
            ("claimInfo.storageClass", "options"),
        ),
    ],
)
def test_a_volume_keeps_to_its_class(
    world: World, fast: StorageClass, values: Any, volume: Any, expected: tuple[str, str]
) -> None:
    """V18; the default class is meant where none is named."""
    facts = configured(world, fast, **values)
    assert told(facts, **volume) == [(*expected, "storage class fast")]
    other = {**volume, "claimInfo": {**volume["claimInfo"], "storageClass": "slow"}}
    assert told(facts, **other) == []


def test_a_class_that_workloads_may_not_use_is_not_offered(
    world: World, fast: StorageClass
) -> None:
    facts = configured(world, fast, for_workloads=False)
    notes = field_notes(framework="PyTorch", role="worker", has_own_master=False, facts=facts)  # type: ignore[arg-type]
    offered = [one.value for one in notes["storage.pvc"].choices["claimInfo.storageClass"]]
    assert offered == ["", "slow"]


def test_the_probe_keeps_what_was_configured_and_forgets_what_is_gone(
    world: World, fast: StorageClass
) -> None:
    configured(world, fast, max_size="10Gi")
    storage.store(world.cluster, [{**CLASSES[0], "provisioner": "other"}])
    fast.refresh_from_db()
    assert (fast.max_size, fast.provisioner, fast.version) == ("10Gi", "other", 2)
    assert StorageClass.objects.count() == 1
    storage.store(world.cluster, [])
    world.cluster.refresh_from_db()
    assert world.cluster.storage == {}


def test_the_contracts_addresses(world: World, fast: StorageClass) -> None:
    client = ApiClient(world, "administrator")
    listed = client.get(PATH).json()["storageClassConfigurations"]
    assert [one["name"] for one in listed] == ["fast", "slow"]
    body = {
        "permissions": {"allowedForEphemeralVolumes": False},
        "customization": {
            "accessMode": {"supportedValues": {"readWriteMany": False}},
            "claimSize": {"min": "1Gi", "max": "1Ti"},
        },
    }
    answer = client.request("PATCH", f"{PATH}/{fast.pk}", json.dumps(body))
    assert answer.status_code == 200, answer.content
    (one,) = client.get("storage-classes", clusterId=world.cluster.pk, name="fast").json()["items"]
    assert one["spec"] == {"provisioner": "csi.example", "isDefault": True}
    assert one["customization"]["claimSize"] == {"min": "1Gi", "max": "1Ti"}
    assert not one["permissions"]["allowedForEphemeralVolumes"]
    for wrong, path in (
        ({"permissions": {"allowedForAssets": "yes"}}, "permissions.allowedForAssets"),
        ({"permissions": {"allowed": True}}, "permissions.allowed"),
        ({"customization": {"claimSize": {"min": "much"}}}, "customization.claimSize.min"),
        ({"customization": {"claimSize": {"min": "2Ti"}}}, "customization.claimSize.max"),
        ({"customisation": {}}, "customisation"),
    ):
        answer = client.request("PATCH", f"{PATH}/{fast.pk}", json.dumps(wrong))
        assert answer.status_code == 400, wrong
        assert [p["path"] for p in answer.json()["problems"]] == [path]
    fast.refresh_from_db()
    assert fast.max_size == "1Ti"
