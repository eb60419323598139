"""Data volumes on the real cluster: read-only where the claim lies, refused anywhere else."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from assets.data_volumes import sharing
from assets.models import Asset
from gangline.clusters import objects
from gangline.clusters.models import ClusterObject
from gangline.db.clock import db_now
from gangline.drivers.kubernetes.resources import CLAIMS, Resource
from gangline.organization.models import Project
from gangline.people.services import give
from gangline.resources import services as resources
from gangline.spec.problems import InvalidSpec
from tests.support import kubernetes_engine
from tests.support.kubernetes_engine import KubernetesEngine
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_kubernetes
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
CLAIM, FIELD = "the-sets", "storage.dataVolume"


@pytest.fixture
def engine(submitting: KubernetesEngine) -> Iterator[KubernetesEngine]:
    with kubernetes_engine.at_work(submitting):
        yield submitting


@pytest.fixture
def disk(submitting: KubernetesEngine) -> Iterator[str]:
    """A volume that only the claim of the data source gets."""
    name = f"{submitting.namespace}-{CLAIM}"
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": f"/var/lib/{name}"},
            "claimRef": {"namespace": submitting.namespace, "name": CLAIM},
        },
    }
    made = submitting.bed.client.create(VOLUMES, "", body)
    assert made.ok, made.message
    yield name
    uid = made.body["metadata"]["uid"]
    submitting.bed.client.delete(VOLUMES, "", name, uid=uid)


def test_it_is_mounted_read_only_in_its_project_and_refused_in_others(
    disk: str, engine: KubernetesEngine
) -> None:
    claim = {"size": "5Gi", "accessModes": {"readWriteOnce": False, "readWriteMany": True}}
    item = {"path": "/own", "claimName": CLAIM, "claimInfo": claim}
    origin: Asset = resources.make(
        "pvc", scope=engine.project.scope, name="sets", values={"storage.pvc": [item]}
    )
    other: Project = resources.make("project", department=engine.project.department, name="speech")
    give(actor=None, user=engine.owner, role="researcher", scope=other.scope)
    volume: Asset = resources.make(
        "data_volume",
        scope=engine.project.scope,
        origin_id=origin.pk,
        name="sets",
        parts={"shared": [other.scope]},
    )

    def is_there() -> bool:
        ClusterObject.objects.update(due_at=db_now())
        objects.reconcile_due()
        return sharing.states_of([volume])[str(volume.pk)].state == "ok"

    wait_for(is_there, seconds=60)
    said = {FIELD: [{"id": str(volume.pk), "mountPath": "/sets"}]}
    engine.until(reader := engine.submit("reader", workers=1, said=said), "Running")
    (pod,) = engine.pods(reader)
    (mounted,) = (v for v in pod["spec"]["volumes"] if "persistentVolumeClaim" in v)
    assert mounted["persistentVolumeClaim"] == {"claimName": CLAIM, "readOnly": True}
    places = pod["spec"]["containers"][0]["volumeMounts"]
    (place,) = (one for one in places if one["name"] == mounted["name"])
    assert (place["mountPath"], place["readOnly"]) == ("/sets", True)
    bound = engine.bed.client.get(CLAIMS, engine.namespace, CLAIM).body
    assert bound["status"]["phase"] == "Bound"

    def is_refused() -> bool:
        return sharing.states_in(other, [volume])[str(volume.pk)].state == "failed"

    wait_for(is_refused, seconds=30)
    with pytest.raises(InvalidSpec) as refused:
        replace(engine, project=other).submit("theirs", workers=1, said=said)
    (problem,) = refused.value.problems
    assert (problem.path, problem.rule) == (f"{FIELD}.0.id", "cluster")
    assert engine.namespace in problem.sentence
