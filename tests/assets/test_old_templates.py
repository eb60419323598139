"""Templates as older clients know them: by ids of assets, and the same as at the newer address."""

import json
from typing import Any

import pytest

from assets.models import Template
from gangline.resources.services import make
from tests.support.api import ApiClient
from tests.support.world import World

pytestmark = pytest.mark.django_db
AT, NEWER = "asset/workload-template", "workload-templates/distributed"
PATH = "/data/sets"


@pytest.fixture
def administrator(world: World) -> ApiClient:
    return ApiClient(world, "administrator")


@pytest.fixture
def ids(world: World) -> dict[str, str]:
    scope = world.department.scope
    item = {"server": "nfs.example", "path": "/sets", "mountPath": "/sets"}
    made = {
        "environment": make("environment", scope=scope, name="ddp", values={"image": "ddp:1"}),
        "compute": make("compute", scope=scope, name="tiny", values={"compute.cpuCoreRequest": 1}),
        "nfs": make("nfs", scope=scope, name="sets", values={"storage.nfs": [item]}),
    }
    return {name: str(one.pk) for name, one in made.items()}


def body(world: World, ids: dict[str, str], **spec: Any) -> dict[str, Any]:
    """As the client's own models write it, with what they say by themselves."""
    meta = {
        "name": "nightly", "scope": "project", "projectId": world.vision.pk,
        "autoDelete": False, "private": False,
        "workloadSupportedTypes": {"distributed": True, "distFramework": "PyTorch"},
    }  # fmt: skip
    source = {"id": ids["nfs"], "kind": "nfs", "overrides": {"containerPath": PATH}}
    assets = {
        "environment": ids["environment"], "compute": ids["compute"], "datasources": [source],
    }  # fmt: skip
    env = {"args": "--epochs 3", "runAsUid": 1000, "backoffLimit": 2}
    return {"meta": meta, "spec": {"assets": assets, "specificEnv": env, **spec}}


def test_old_and_new_tell_of_the_same_template(
    world: World, administrator: ApiClient, ids: dict[str, str]
) -> None:
    given = body(world, ids)
    made = administrator.post(AT, given)
    assert made.status_code == 202, made.content
    found = made.json()
    assert found["meta"].items() >= {
        "name": "nightly", "kind": "workload-template", "projectId": world.vision.pk,
        "workloadSupportedTypes": {"distributed": True, "distFramework": "PyTorch"},
    }.items()  # fmt: skip
    assert found["spec"]["specificEnv"] == given["spec"]["specificEnv"]
    assert found["spec"]["distributed"] == {"noMaster": False, "distFramework": "PyTorch"}
    named = {"environment": "ddp", "compute": "tiny"}
    for kind, name in named.items():
        assert found["spec"]["assets"][kind] == {"id": ids[kind], "name": name}
    (source,) = found["spec"]["assets"]["datasources"]
    given_source = given["spec"]["assets"]["datasources"][0]
    assert source == {**given_source, "name": "sets"}
    newer = administrator.get(f"{NEWER}/{found['meta']['id']}").json()
    assert newer["assets"] == {kind: ids[kind] for kind in named}
    assert newer["spec"]["security"] == {"runAsUid": 1000}
    assert newer["spec"]["storage"]["nfs"][0]["mountPath"] == PATH
    for query, count in (
        ({"name": "nightly"}, 1),
        ({"name": "other"}, 0),
        ({"distributedFramework": "MPI"}, 0),
        ({"isDistributed": "true"}, 1),
        ({"isWorkspace": "true"}, 0),
        ({"projectId": world.nlp.pk}, 0),
    ):
        assert len(administrator.get(AT, **query).json()["entries"]) == count, query
    assert administrator.delete(f"{AT}/{found['meta']['id']}").status_code == 202
    assert not Template.objects.exists()


def test_what_older_requests_cannot_say_stays(
    world: World, administrator: ApiClient, ids: dict[str, str]
) -> None:
    """Number of workers, the master's own part, and what may be changed."""
    scope = {"scopeType": "project", "scopeId": str(world.vision.pk)}
    newer: dict[str, Any] = {
        "meta": {"name": "nightly", **scope},
        "spec": {"distributedFramework": "PyTorch", "numWorkers": 3, "command": "train"},
        "assets": {"environment": ids["environment"]},
        "master": {"spec": {"args": "--first"}, "assets": {"compute": ids["compute"]}},
        "modes": {"spec.command": "fixed"},
    }
    made = administrator.post(NEWER, newer)
    assert made.status_code == 202, made.content
    pk = made.json()["meta"]["id"]
    before = administrator.get(f"{AT}/{pk}").json()
    gang = before["spec"]["distributed"]
    assert (gang["numWorkers"], gang["master"]["specificEnv"]) == (3, {"args": "--first"})
    change = {
        "meta": {"name": "renamed"},
        "spec": {
            "assets": {"environment": ids["environment"]},
            "specificEnv": {"command": "train", "args": "--x"},
        },
    }
    changed = administrator.request("PUT", f"{AT}/{pk}", json.dumps(change))
    assert changed.status_code == 202, changed.content
    after = administrator.get(f"{NEWER}/{pk}").json()
    assert after["meta"]["name"] == "renamed"
    assert after["spec"] == {**newer["spec"], "args": "--x"}
    assert after["master"] == newer["master"]
    assert after["modes"] == newer["modes"]
    # And what was answered is what can be sent.
    again = {"meta": {"name": "renamed"}, "spec": changed.json()["spec"]}
    assert administrator.request("PUT", f"{AT}/{pk}", json.dumps(again)).status_code == 202
    assert administrator.get(f"{NEWER}/{pk}").json()["spec"] == after["spec"]


def test_what_the_older_shape_has_no_place_for_is_left_out(
    world: World, administrator: ApiClient
) -> None:
    made = make(
        "template", name="own", scope=world.vision.scope, framework="PyTorch",
        configuration="workersAndMaster", values={"worker.image": "ddp:1"},
    )  # fmt: skip
    assert administrator.get(AT).json()["entries"] == []
    assert administrator.get(f"{AT}/{made.pk}").status_code == 404


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"assets": {}}, "spec.assets.environment"),
        ({"assets": {"environment": 7}}, "spec.assets.environment"),
        ({"specificEnv": {"numberOfWorkers": 2}}, "spec.specificEnv.numberOfWorkers"),
        ({"specificEnv": {"runAsUid": "root"}}, "spec.specificEnv.runAsUid"),
        ({"specificEnv": []}, "spec.specificEnv"),
        ({"distributed": {"distFramework": "Torch"}}, "spec.distributed.distFramework"),
        ({"distributed": {"noMaster": "yes"}}, "spec.distributed.noMaster"),
        ({"distributed": {"master": {"specificEnv": {"x": 1}}}},
         "spec.distributed.master.specificEnv.x"),
        ({"connections": []}, "spec.connections"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_where_it_was_given(
    world: World, administrator: ApiClient, ids: dict[str, str], change: Any, path: str
) -> None:
    answer = administrator.post(AT, body(world, ids, **change))
    assert answer.status_code == 400
    assert [one["path"] for one in answer.json()["problems"]] == [path]


def test_assets_that_one_may_not_see_are_as_unknown_as_others(
    world: World, administrator: ApiClient, ids: dict[str, str]
) -> None:
    wanted = body(world, ids)
    del wanted["meta"]["workloadSupportedTypes"]
    answer = administrator.post(AT, wanted)
    paths = [one["path"] for one in answer.json()["problems"]]
    assert paths == ["meta.workloadSupportedTypes.distFramework"]
    wanted = body(world, ids)
    wanted["spec"]["assets"]["datasources"][0]["id"] = str(world.cluster.pk)
    answer = administrator.post(AT, wanted)
    assert [one["path"] for one in answer.json()["problems"]] == ["spec.assets.datasources.0.id"]
    stranger = ApiClient(world, "researcher-nlp")
    refused = stranger.post(AT, body(world, ids))
    assert [one["path"] for one in refused.json()["problems"]] == ["meta.projectId"]
