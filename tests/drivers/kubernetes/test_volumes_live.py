"""Volumes on the real cluster, as the restricted user: bound, emptied, kept, collected."""

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers import claims
from gangline.drivers.base import (
    AttemptRef,
    Busy,
    Done,
    KeptObject,
    NotYet,
    ObservedState,
    Refused,
    Result,
    Submission,
)
from gangline.drivers.kubernetes import labels, volumes
from gangline.drivers.kubernetes.resources import (
    CLAIMS,
    PODS,
    STORAGE_CLASSES,
    Resource,
)
from gangline.spec.storage import Volume
from gangline.spec.typed import typed
from gangline.spec.workload import WorkerSpec
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.objects import SECRETS, SERVICES
from tests.drivers.kubernetes.harness import JOBS, Ground, ground
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_kubernetes

S = ObservedState
LIMIT_RANGES = Resource("", "v1", "limitranges", "LimitRange")
PERSISTENT_VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
Item = dict[str, Any]


@dataclass(frozen=True)
class Disks:
    """A storage class of the test's own, and volumes of it that are there already."""

    bed: Bed
    name: str

    def add(self, count: int = 1, mode: str = "Filesystem", access: str = "ReadWriteMany") -> None:
        for _ in range(count):
            body = {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {
                    "name": f"{self.name}-{secrets.token_hex(3)}",
                    "labels": {"disks": self.name},
                },
                "spec": {
                    "capacity": {"storage": "10Gi"},
                    "accessModes": [access],
                    "volumeMode": mode,
                    "persistentVolumeReclaimPolicy": "Retain",
                    "storageClassName": self.name,
                    "hostPath": {"path": f"/var/lib/{self.name}"},
                },
            }
            answer = self.bed.client.create(PERSISTENT_VOLUMES, "", body)
            assert answer.ok, answer.message


@pytest.fixture
def place(bed: Bed, tmp_path: Path) -> Iterator[Ground]:
    with ground(bed, tmp_path) as made:
        yield made


@pytest.fixture
def disks(bed: Bed) -> Iterator[Disks]:
    name = f"disks-{secrets.token_hex(3)}"
    body = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    answer = bed.client.create(STORAGE_CLASSES, "", body)
    assert answer.ok, answer.message
    yield Disks(bed, name)
    listed = bed.client.list(PERSISTENT_VOLUMES, "", labelSelector=f"disks={name}").body["items"]
    for resource, made in [
        *((PERSISTENT_VOLUMES, volume) for volume in listed),
        (STORAGE_CLASSES, answer.body),
    ]:
        bed.client.delete(resource, "", made["metadata"]["name"], uid=made["metadata"]["uid"])


def item(disks: Disks, name: str = "data", *, modes: str = "readWriteMany", **more: Any) -> Item:
    claim = {
        "size": "5Gi",
        "storageClass": disks.name,
        "accessModes": {"readWriteOnce": modes == "readWriteOnce", modes: True},
    }
    return {"name": name, "path": f"/{name}", "claimInfo": claim, **more}


def attempt(place: Ground, *items: Item, workers: int = 2, attempt: int = 1) -> AttemptRef:
    """An attempt whose workers mount ``items``."""
    submission = Submission(
        name="gang",
        project="vision",
        framework="PyTorch",
        configuration="workersOnly",
        num_workers=workers,
        worker=typed(
            WorkerSpec,
            {
                "image": "registry.example/training:1",
                "command": "train",
                volumes.PATH: list(items),
            },
        ),
        master=None,
    )
    rendered = json.loads(json.dumps(place.driver.render(submission)))
    return place.ref(submission=submission, rendered=rendered, attempt=attempt)


def found(place: Ground, ref: AttemptRef, resource: Resource = CLAIMS) -> dict[str, Item]:
    """Objects that bear the workload's label, by name, as the administrator sees them."""
    selector = f"{labels.WORKLOAD}={ref.workload}"
    answer = place.bed.client.list(resource, place.namespace, labelSelector=selector)
    assert answer.ok, answer.message
    return {one["metadata"]["name"]: one for one in answer.body["items"]}


def uids(claims: dict[str, Item]) -> dict[str, str]:
    return {
        one["metadata"]["labels"][volumes.VOLUME]: one["metadata"]["uid"] for one in claims.values()
    }


def owners(claim: Item) -> list[str]:
    return [owner["uid"] for owner in claim["metadata"].get("ownerReferences") or ()]


def last(act: Callable[[AttemptRef], Result], ref: AttemptRef) -> Result:
    """The first answer that is not to wait."""

    def settled() -> Result | None:
        told = act(ref)
        return None if isinstance(told, Busy) else told

    told = wait_for(settled, what="an answer")
    assert told is not None
    return told


def deleted(place: Ground, ref: AttemptRef) -> None:
    wait_for(lambda: place.driver.delete(ref) == Done(), what="the deletion")


def test_a_claim_is_bound_and_mounted(place: Ground, disks: Disks) -> None:
    disks.add(2)
    disks.add(mode="Block")
    block = item(disks, "raw")
    block["claimInfo"]["volumeMode"] = "Block"
    ref = attempt(place, item(disks, readOnly=True), block)
    place.running(ref)
    claims = found(place, ref)
    assert {claim["status"]["phase"] for claim in claims.values()} == {"Bound"}
    by_volume = {one["metadata"]["labels"][volumes.VOLUME]: name for name, one in claims.items()}
    for pod in found(place, ref, PODS).values():
        (container,) = pod["spec"]["containers"]
        mounted = {m["name"]: m for m in container["volumeMounts"]}
        assert mounted["volume-data"]["mountPath"] == "/data"
        assert mounted["volume-data"]["readOnly"] is True
        assert container["volumeDevices"] == [{"name": "volume-raw", "devicePath": "/raw"}]
        sources = {v["name"]: v.get("persistentVolumeClaim") for v in pod["spec"]["volumes"]}
        assert sources["volume-data"] == {"claimName": by_volume["data"], "readOnly": True}
        assert sources["volume-raw"] == {"claimName": by_volume["raw"]}


@pytest.mark.thorough
def test_a_stop_empties_what_is_ephemeral_and_a_resume_makes_it_again(
    place: Ground, disks: Disks
) -> None:
    disks.add(4)
    ref = attempt(place, item(disks), item(disks, "scratch", ephemeral=True))
    place.running(ref)
    before = uids(found(place, ref))
    assert isinstance(place.driver.suspend(ref), NotYet)
    place.until(ref, S.SUSPENDED)
    wait_for(lambda: set(uids(found(place, ref))) == {"data"}, what="the scratch volume to go")
    assert isinstance(last(place.driver.resume, ref), NotYet)
    place.until(ref, S.RUNNING)
    after = uids(found(place, ref))
    assert after["data"] == before["data"]
    assert after["scratch"] != before["scratch"]


@pytest.mark.thorough
def test_each_pod_has_a_volume_of_its_own_where_none_can_be_shared(
    place: Ground, disks: Disks
) -> None:
    disks.add(2, access="ReadWriteOnce")
    ref = attempt(place, item(disks, "scratch", modes="readWriteOnce", ephemeral=True))
    place.running(ref)
    claims = found(place, ref)
    pods = {pod["metadata"]["uid"] for pod in found(place, ref, PODS).values()}
    assert {uid for claim in claims.values() for uid in owners(claim)} == pods
    assert len(claims) == len(pods) == 2
    place.driver.suspend(ref)
    place.until(ref, S.SUSPENDED)
    wait_for(lambda: not found(place, ref), what="the volumes to go with their pods")


@pytest.mark.thorough
def test_of_a_start_that_is_refused_nothing_stays_but_what_was_kept(
    place: Ground, disks: Disks
) -> None:
    """Half of it would hold quota and names for nothing."""
    disks.add(2)
    first = attempt(place, item(disks))
    place.running(first)
    (kept,) = found(place, first).values()
    limit = {"type": "PersistentVolumeClaim", "max": {"storage": "5Gi"}}
    body = {"metadata": {"name": "small"}, "spec": {"limits": [limit]}}
    assert place.bed.client.create(LIMIT_RANGES, place.namespace, body).ok
    large = item(disks, "large")
    large["claimInfo"]["size"] = "50Gi"
    items = (item(disks), item(disks, "more"), large)
    second = replace(attempt(place, *items, attempt=2), workload=first.workload)
    assert isinstance(last(place.driver.create, second), NotYet)

    wait_for(lambda: isinstance(place.driver.commit(second), Refused), what="the refusal")
    wait_for(lambda: place.raw() is None, what="the job to go")
    wait_for(lambda: len(found(place, first)) <= 2, what="its claims to go")
    assert kept["metadata"]["uid"] in uids(found(place, first)).values()

    other = attempt(place, item(disks), large)
    assert isinstance(last(place.driver.create, other), NotYet)
    wait_for(lambda: isinstance(place.driver.commit(other), Refused), what="the refusal")
    wait_for(lambda: place.raw() is None, what="the job to go")
    wait_for(lambda: not found(place, other), what="its claim to go")


@pytest.mark.thorough
def test_a_further_attempt_finds_what_the_one_before_it_kept(place: Ground, disks: Disks) -> None:
    disks.add(4)
    items = (item(disks), item(disks, "scratch", ephemeral=True))
    first = attempt(place, *items)
    place.running(first)
    before = uids(found(place, first))
    second = replace(attempt(place, *items, attempt=2), workload=first.workload)
    assert isinstance(last(place.driver.create, second), NotYet)
    (kept,) = found(place, first).values()
    assert kept["metadata"]["uid"] == before["data"]
    assert owners(kept) == []
    place.driver.commit(second)
    place.until(second, S.RUNNING)
    claims = found(place, second)
    after = uids(claims)
    assert after["data"] == before["data"]
    assert after["scratch"] != before["scratch"]
    job = place.raw()
    assert job is not None
    assert {uid for claim in claims.values() for uid in owners(claim)} == {job["metadata"]["uid"]}
    assert {c["metadata"]["labels"][labels.ATTEMPT] for c in claims.values()} == {"2"}
    deleted(place, second)
    assert found(place, second) == {}


@pytest.mark.thorough
def test_a_volume_that_a_later_attempt_does_not_mount_goes_with_it(
    place: Ground, disks: Disks
) -> None:
    disks.add(2)
    first = attempt(place, item(disks))
    place.running(first)
    second = replace(attempt(place, attempt=2), workload=first.workload)
    last(place.driver.create, second)
    place.driver.commit(second)
    job = place.raw()
    (claim,) = found(place, first).values()
    assert job is not None
    assert owners(claim) == [job["metadata"]["uid"]]


@pytest.mark.thorough
def test_what_no_attempt_took_over_is_collected_by_the_deletion(
    place: Ground, disks: Disks
) -> None:
    disks.add(2)
    first = attempt(place, item(disks))
    place.running(first)
    second = replace(attempt(place, item(disks), attempt=2), workload=first.workload)
    last(place.driver.create, second)
    job = place.raw()
    assert job is not None
    # Gone before it was released, by another's hand: nobody owns the volume now.
    place.bed.client.delete(JOBS, place.namespace, "gang", uid=job["metadata"]["uid"])
    place.until(second, S.ABSENT)
    assert len(found(place, second)) == 1
    assert place.driver.delete(replace(second, goes_on=True)) == Done()
    assert len(found(place, second)) == 1
    deleted(place, second)
    assert found(place, second) == {}


@pytest.mark.thorough
def test_an_attempt_that_is_removed_while_its_workload_goes_on_leaves_its_volumes(
    place: Ground, disks: Disks
) -> None:
    disks.add(2)
    ref = attempt(place, item(disks))
    place.running(ref)
    deleted(place, replace(ref, goes_on=True))
    assert len(found(place, ref)) == 1
    assert place.raw() is None


@pytest.mark.thorough
def test_a_deletion_before_the_next_attempt_came_takes_the_one_before_it_along(
    place: Ground, disks: Disks
) -> None:
    disks.add(2)
    first = attempt(place, item(disks))
    place.running(first)
    second = replace(attempt(place, item(disks), attempt=2), workload=first.workload)
    assert place.driver.observe(second).state is S.ABSENT
    assert place.driver.delete(replace(second, goes_on=True)) == Done()
    assert place.raw() is not None
    deleted(place, second)
    for resource in (JOBS, PODS, CLAIMS):
        assert found(place, second, resource) == {}


def test_a_deletion_leaves_nothing(place: Ground, disks: Disks) -> None:
    disks.add(4)
    ref = attempt(
        place,
        item(disks),
        item(disks, "scratch", ephemeral=True),
        item(disks, "own", modes="readWriteOnce", ephemeral=True),
        workers=1,
    )
    disks.add(access="ReadWriteOnce")
    place.running(ref)
    assert len(found(place, ref)) == 3
    deleted(place, ref)
    for resource in (JOBS, PODS, CLAIMS, SERVICES, SECRETS):
        assert found(place, ref, resource) == {}


@pytest.mark.thorough
def test_a_claim_of_others_is_left_alone(place: Ground, disks: Disks) -> None:
    disks.add(2)
    place.driver.create(place.ref("before"))  # makes the namespace
    theirs = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "shared"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": disks.name,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    assert place.bed.client.create(CLAIMS, place.namespace, theirs).ok
    ref = attempt(place, item(disks, claimName="shared"))
    place.driver.create(ref)
    told = place.driver.commit(ref)
    assert told == Refused("The claim shared already exists and does not belong to this workload.")
    deleted(place, ref)
    existing = {"name": "theirs", "path": "/theirs", "existingPvc": True, "claimName": "shared"}
    ref = attempt(place, existing)
    place.running(ref)
    deleted(place, ref)
    claim = place.bed.client.get(CLAIMS, place.namespace, "shared").body
    assert "deletionTimestamp" not in claim["metadata"]


@pytest.mark.thorough
def test_a_second_release_makes_nothing_twice(place: Ground, disks: Disks) -> None:
    disks.add(2)
    ref = attempt(place, item(disks))
    place.driver.create(ref)
    held = place.raw()
    assert held is not None
    place.driver.commit(ref)
    before = uids(found(place, ref))
    place.until(ref, S.RUNNING)
    assert place.driver.commit(ref) == Done()
    assert uids(found(place, ref)) == before


def test_a_claim_of_a_data_source_is_made_before_there_is_a_namespace(
    place: Ground, disks: Disks
) -> None:
    """Made, mounted by an attempt that does not own it, left by its end, and removed by its own."""
    marks = {labels.INSTALL: place.install, "gangline.dev/data-source": "one"}
    volume = Volume.model_validate(item(disks, "weights"))
    manifest = claims.claim(place.namespace, "weights", volume, marks)
    wanted = KeptObject(claims.CLAIM, place.namespace, "weights", manifest)
    assert wait_for(lambda: place.driver.apply(wanted).state == "ok", seconds=20)
    assert place.driver.apply(wanted).state == "ok"
    found = place.bed.client.get(CLAIMS, place.namespace, "weights").body
    assert found["metadata"]["labels"] == marks
    assert found["spec"]["resources"]["requests"] == {"storage": "5Gi"}

    disks.add()
    mounted = {"name": "w", "path": "/w", "existingPvc": True, "claimName": "weights"}
    ref = attempt(place, mounted)
    place.running(ref)
    wait_for(lambda: place.driver.delete(ref) == Done(), seconds=30)
    assert place.bed.client.get(CLAIMS, place.namespace, "weights").ok
    wait_for(lambda: place.driver.remove(wanted).state == "gone", seconds=30)


def test_what_others_must_make_is_looked_for_and_left_alone(place: Ground) -> None:
    for kind in (claims.CLAIM, claims.CONFIG_MAP):
        manifest = claims.manifest(kind, place.namespace, "theirs")
        wanted = KeptObject(kind, place.namespace, "theirs", manifest)
        told = place.driver.apply(wanted)
        assert told.state in ("failed", "forbidden")
        assert told.problem is not None
        assert place.driver.remove(wanted).state == "gone"
