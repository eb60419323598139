"""Values of a data volume for the contract."""

from typing import Any

from assets.models import Asset
from gangline.resources.services import make
from gangline.spec.sources import Value, asset_source
from tests.support.world import IMAGE, World
from workloads.services.submission import submit
from workloads.services.submission_types import SubmissionRequest

CLAIM = "the-sets"


def origin(world: World) -> Any:
    """A PVC data source of project vision."""
    there = Asset.objects.filter(kind=Asset.Kind.PVC, name="sets", scope=world.vision.scope)
    values = {"storage.pvc": [{"path": "/sets", "existingPvc": True, "claimName": CLAIM}]}
    return there.first() or make("pvc", scope=world.vision.scope, name="sets", values=values)


def volume(world: World, name: str, *shared: Any) -> Any:
    found = origin(world)
    return make(
        "data_volume", scope=found.scope, origin_id=found.pk, name=name,
        parts={"shared": [one.scope for one in shared]},
    )  # fmt: skip


def request(world: World, given: dict[str, Any], assets: dict[str, Any]) -> SubmissionRequest:
    runs = {
        "image": IMAGE,
        "command": "python train.py",
        "numWorkers": 1,
        "compute.cpuCoreRequest": 0.5,
        "compute.cpuMemoryRequest": "256M",
    }
    return SubmissionRequest(
        name="uses-it",
        project_id=world.vision.pk,
        cluster_id=world.cluster.pk,
        framework="XGBoost",
        configuration="workersAndMaster",
        master="same",
        given={f"worker.{p}": Value(v) for p, v in (runs | given).items()},
        assets=assets,
    )


def _used(world: World, made: Any) -> str:
    picked = {"worker.storage.dataVolume": Value([], asset_source(made.pk, made.name))}
    asked = request(world, {}, picked)
    submit(actor=world.actor("administrator"), request=asked, key="uses-it")
    return "uses-it"


DATA_VOLUME: dict[str, Any] = {
    "make": volume,
    "form": lambda world, name: {
        "name": name,
        "origin": str(origin(world).pk),
        "shared": [str(world.nlp.scope_id)],
    },
    "body": lambda world, name: {
        "name": name,
        "projectId": str(origin(world).scope.project.pk),
        "originPvcName": CLAIM,
    },
    "copied_anew": ("origin",),
    "edit": {"description": "other words"},
    "bad": (
        ("name", ""),
        ("name", "A"),
        ("name", "1a"),
        ("description", "x" * 128),
        ("origin", "x"),
        ("origin", ""),
        ("shared", "x"),
    ),
    "bad_body": (
        ("name", 7),
        ("name", "A"),
        ("description", "x" * 128),
        ("projectId", "x"),
        ("originPvcName", "none"),
        ("useOriginalVolume", False),
        ("shouldDeleteOriginalVolume", True),
        ("nme", "x"),
    ),
    "used": _used,
}
