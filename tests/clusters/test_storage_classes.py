"""What an administrator says of a storage class holds in the form and in the API."""

import json
from typing import Any

import pytest

from gangline.clusters import storage
from gangline.clusters.connections import facts_of
from gangline.clusters.models import Cluster, ClusterObject, StorageClass
from gangline.drivers.facts import Facts
from gangline.drivers.kubernetes.check import check
from gangline.drivers.kubernetes.field_hints import field_notes
from gangline.lib.problems import Refused
from gangline.organization.models import Project
from gangline.policies.engine import Request, resolve
from gangline.policies.selectors import effective_for
from gangline.policies.services import save
from gangline.resources.registry import get
from gangline.resources.services import update
from gangline.spec.problems import Role
from gangline.spec.sources import Value
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


PARAMETERS = [
    {"key": "iops", "format": "number", "minValue": 100, "maxValue": 900, "required": True},
    {"key": "tier", "validationRegexp": "gold|silver", "defaultValue": "gold"},
]
SIZED = {"size": "1Gi"}


@pytest.mark.parametrize(
    ("values", "claim", "expected"),
    [
        ({}, {**SIZED, "addedAttrValues": "iops=1"}, [("iops", "unknown")]),
        ({"parameters": PARAMETERS}, SIZED, [("iops", "required")]),
        ({"parameters": PARAMETERS}, {**SIZED, "addedAttrValues": "iops=50"}, [("iops", "min")]),
        (
            {"parameters": PARAMETERS},
            {**SIZED, "addedAttrValues": "iops=many, tier=tin"},
            [("iops", "type"), ("tier", "format")],
        ),
        ({"parameters": PARAMETERS}, {**SIZED, "addedAttrValues": "iops=500"}, []),
    ],
)
def test_parameters_are_those_of_the_class(
    world: World, fast: StorageClass, values: Any, claim: Any, expected: Any
) -> None:
    found = told(configured(world, fast, **values), claimInfo=claim)
    at = "claimInfo.addedAttrValues."
    assert [(path.removeprefix(at), rule) for path, rule, _ in found] == expected


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"default_access": ["readWriteMany"], "read_write_many": False}, "default_access"),
        ({"default_volume_mode": "Block", "block": False}, "default_volume_mode"),
        ({"default_size": "1Gi", "min_size": "2Gi"}, "default_size"),
        ({"size_units": ["furlong"]}, "size_units"),
        ({"parameters": [{"key": "/"}]}, "parameters"),
        ({"parameters": [{"key": "a", "minValue": 2, "maxValue": 1}]}, "parameters"),
        ({"parameters": [{"key": "a", "defaultValue": "b", "format": "number"}]}, "parameters"),
    ],
)
def test_a_configuration_that_contradicts_itself_is_refused(
    world: World, fast: StorageClass, values: Any, path: str
) -> None:
    with pytest.raises(Refused) as refused:
        configured(world, fast, **values)
    assert [one.path for one in refused.value.problems] == [path]


def test_what_a_volume_leaves_open_its_class_says(world: World, fast: StorageClass) -> None:
    """Below every policy, above what the spec says by itself."""
    configured(
        world,
        fast,
        default_size="4Gi",
        default_access=["readWriteMany"],
        default_volume_mode="Block",
        parameters=PARAMETERS[1:],
    )
    Cluster.objects.update(facts=world.cluster.facts)

    def claim(**said: Any) -> Any:
        given = {"worker.storage.pvc": Value([{"name": "d", "path": "/d", **said}])}
        policy = effective_for(Project.objects.get(pk=world.vision.pk))
        found = resolve(Request(framework="PyTorch", given=given), policy)
        return found.values(Role.WORKER)["storage.pvc"][0].get("claimInfo")

    assert claim() == {
        "size": "4Gi",
        "accessModes": {"readWriteOnce": False, "readOnlyMany": False, "readWriteMany": True},
        "volumeMode": "Block",
        "addedAttrValues": "tier=gold",
    }
    own = {"size": "9Gi", "accessModes": {"readWriteOnce": True}, "volumeMode": "Filesystem"}
    said = claim(claimInfo={**own, "addedAttrValues": "tier=silver"})
    assert (said["size"], said["volumeMode"]) == ("9Gi", "Filesystem")
    assert said["accessModes"]["readWriteOnce"]
    assert said["addedAttrValues"] == "tier=silver"
    assert claim(existingPvc=True, claimName="theirs") is None
    assert claim(claimInfo={"size": "1Gi", "storageClass": "slow"}) == {
        "size": "1Gi",
        "storageClass": "slow",
    }
    text = "defaults: {worker: {storage: {pvc: {attributes: {claimInfo: {size: 7Gi}}}}}}"
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=text)
    assert claim()["size"] == "7Gi"


def test_a_data_source_keeps_to_its_class(world: World, fast: StorageClass) -> None:
    """V18 on the API of data sources, in their form, and in the claim that is made."""
    configured(
        world, fast, max_size="9Gi", default_size="4Gi", parameters=PARAMETERS, for_assets=True
    )
    Cluster.objects.update(facts=world.cluster.facts)
    client = ApiClient(world, "administrator")
    meta = {"name": "weights", "scope": "project", "projectId": str(world.vision.pk)}

    def sent(**claim: Any) -> Any:
        spec = {"path": "/weights", "claimInfo": claim, "dataSharing": False}
        return client.request(
            "POST", "asset/datasource/pvc", json.dumps({"meta": meta, "spec": spec})
        )

    iops = {"addedAttrValues": [{"key": "iops", "value": "500"}]}
    for claim, path in (
        ({"size": "10Gi", **iops}, "spec.claimInfo.size"),
        ({"size": "1Gi"}, "spec.claimInfo.addedAttrValues.iops"),
        ({"size": "1Gi", "storageClass": "gone", **iops}, "spec.claimInfo.storageClass"),
    ):
        answer = sent(**claim)
        assert answer.status_code == 400, claim
        assert [one["path"] for one in answer.json()["problems"]] == [path]
    made = sent(**iops)
    assert made.status_code == 202, made.content
    assert made.json()["spec"]["claimInfo"]["addedAttrValues"] == [
        {"key": "iops", "value": "500"},
        {"key": "tier", "value": "gold"},
    ]
    wanted = ClusterObject.objects.get().wanted
    assert wanted["spec"]["resources"]["requests"] == {"storage": "4Gi"}
    assert wanted["metadata"]["annotations"] == {"iops": "500", "tier": "gold"}
    configured(world, fast, for_assets=False)
    meta["name"] = "others"
    answer = sent(size="1Gi")
    assert [one["path"] for one in answer.json()["problems"]] == ["spec.claimInfo.storageClass"]


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
    assert one["permissions"]["allowDataSharing"] is False
    assert not one["permissions"]["allowedForEphemeralVolumes"]
    for wrong, path in (
        ({"permissions": {"allowedForAssets": "yes"}}, "permissions.allowedForAssets"),
        ({"permissions": {"allowed": True}}, "permissions.allowed"),
        ({"customization": {"claimSize": {"min": "much"}}}, "customization.claimSize.min"),
        ({"customization": {"claimSize": {"min": "2Ti"}}}, "customization.claimSize.max"),
        ({"customization": {"claimSize": {"default": "2Ti"}}}, "customization.claimSize.default"),
        (
            {"customization": {"claimSize": {"supportedUnits": ["KB"]}}},
            "customization.claimSize.supportedUnits",
        ),
        ({"customization": {"attributes": [{"key": "/"}]}}, "customization.attributes.0.key"),
        (
            {"customization": {"attributes": [{"key": "a", "kind": "b"}]}},
            "customization.attributes.0.kind",
        ),
        (
            {"customization": {"accessMode": {"default": {"some": True}}}},
            "customization.accessMode.default.some",
        ),
        ({"customisation": {}}, "customisation"),
    ):
        answer = client.request("PATCH", f"{PATH}/{fast.pk}", json.dumps(wrong))
        assert answer.status_code == 400, wrong
        assert [p["path"] for p in answer.json()["problems"]] == [path]
    fast.refresh_from_db()
    assert fast.max_size == "1Ti"


def test_a_configuration_is_created_and_taken_back(world: World, fast: StorageClass) -> None:
    client = ApiClient(world, "administrator")
    customization = {
        "accessMode": {"required": True, "default": {"readWriteMany": True}},
        "volumeMode": {"default": "Filesystem", "supportedValues": {"block": False}},
        "claimSize": {"default": "2Gi", "supportedUnits": ["GiB", "TiB"]},
        "attributes": PARAMETERS,
    }
    place = {"scopeType": "cluster", "scopeId": str(world.cluster.pk), "name": "fast"}
    body = {**place, "permissions": {"allowDataSharing": True}, "customization": customization}
    made = client.request("POST", PATH, json.dumps(body))
    assert made.status_code == 201, made.content
    told = made.json()
    assert told["permissions"]["allowDataSharing"]
    assert told["customization"]["accessMode"]["default"]["readWriteMany"]
    assert told["customization"]["claimSize"] == customization["claimSize"]
    assert [one["key"] for one in told["customization"]["attributes"]] == ["iops", "tier"]
    for wrong, path in (
        ({}, "name"),
        ({"name": "gone"}, "name"),
        ({"scopeId": "x"}, "scopeId"),
        ({"scopeType": "project"}, "scopeType"),
    ):
        answer = client.request("POST", PATH, json.dumps({**body, **wrong}))
        assert answer.status_code in (400, 409)
        assert path in [one["path"] for one in answer.json()["problems"]]
    removed = {"customization": {"attributesToRemove": ["iops"]}}
    answer = client.request("PATCH", f"{PATH}/{fast.pk}", json.dumps(removed))
    assert [one["key"] for one in answer.json()["customization"]["attributes"]] == ["tier"]
    assert client.request("DELETE", f"{PATH}/{fast.pk}", "").status_code == 204
    fast.refresh_from_db()
    assert not fast.is_configured
    world.cluster.refresh_from_db()
    assert world.cluster.storage == {}
