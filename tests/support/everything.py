"""One object of every resource that the API serves, and a few workloads."""

from assets.credentials.types import TYPES
from gangline.resources.registry import resources
from gangline.resources.services import make
from tests.support.world import World
from workloads.services import submission
from workloads.services.bodies import read

SECRET = "c4n4ry-x1"
"""Stands in every secret that is made here."""
_LOGIN = {"user": "dana", "password": SECRET}
_CREDENTIALS = {
    "access-key": {"accessKeyId": "dana", "secretAccessKey": SECRET},
    "docker-registry": {"url": "registry.example", **_LOGIN},
    "generic-secret": {"keyValuePairs": [{"key": "TOKEN", "value": SECRET}]},
    "ngc-api-key": {"ngc_api_key": SECRET},
    "password": _LOGIN,
}
Ids = dict[str, list[str]]
"""Keys of what was made, by the address of its list below ``/api/v1/``."""


def make_everything(world: World, *, hidden: str = "hidden") -> Ids:
    """``hidden`` is the name of a workload that only the project nlp and those above it see."""
    from tests.resources.samples import SAMPLES

    ids: Ids = {
        "clusters": [str(world.cluster.pk)],
        "org-unit/projects": [str(world.vision.pk), str(world.nlp.pk)],
        "org-unit/departments": [str(world.department.pk)],
    }
    for resource in resources():
        wire, sample = resource.wire, SAMPLES.get(resource.key)
        if wire is not None and sample is not None:
            made = sample.make(world, f"one-{resource.key.replace('_', '-')}")
            ids.setdefault(wire.path, []).append(str(getattr(made, wire.lookup)))
    for kind in TYPES.values():
        if (given := _CREDENTIALS.get(kind.path)) is not None:
            scope = world.department.scope
            made = make(
                "credential", scope=scope, name=f"a-{kind.path}", kind=kind.key, given=given
            )
            ids[f"asset/credentials/{kind.path}"] = [str(made.pk)]
    old = make(
        "template", scope=world.department.scope, name="old", framework="XGBoost",
        configuration="workersAndMaster",
        links={"worker.environment": ids["asset/environment"][0]},
    )  # fmt: skip
    ids["asset/workload-template"] = [str(old.pk)]
    ids["asset/registries"] = ids["asset/credentials/docker-registry"]
    for person, project in (("researcher-vision", world.vision), ("researcher-nlp", world.nlp)):
        actor = world.actor(person)
        body = world.body(hidden if project == world.nlp else "seen", projectId=str(project.pk))
        workload = submission.submit(actor=actor, request=read(actor.user, body)).workload
        ids.setdefault("workloads", []).append(str(workload.pk))
    return ids
