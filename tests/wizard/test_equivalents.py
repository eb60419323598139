"""The same workload as code: each way is right for what is in the form now."""

import shlex
from typing import Any

import pytest
import yaml

from gangline.clusters import credentials
from gangline.clusters.models import Cluster
from gangline.drivers.kubernetes import labels
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.manifests import SPEC_HASH
from tests.api.conftest import researcher
from tests.support.api import ApiClient
from tests.support.api_server import Script, answering
from tests.support.forms import Filler
from tests.support.world import World
from workloads.models import Workload

__all__ = ["researcher"]
KIND = KINDS["PyTorch"].resource


def text(filler: Filler, key: str) -> str:
    answer = filler.client.get(f"/workloads/new/{filler.draft}/as/{key}")
    assert answer.status_code == 200
    return answer.content.decode()


def created(filler: Filler) -> Workload:
    filler.post("review", go="create")
    return Workload.objects.get(name="digits")


def frozen(workload: Workload) -> dict[str, Any]:
    return dict(workload.attempts.get().rendered or {})


def set_aside() -> Workload:
    workload = Workload.objects.get()
    Workload.objects.update(name="by-other-means")
    return workload


def test_acf18_curl_creates_what_the_form_creates(filler: Filler, researcher: ApiClient) -> None:
    """AC-F18."""
    filler.fill()
    filler.post("master", {"master.different": "on", "master.command": "echo 'it''s me'"})
    words = shlex.split(text(filler, "curl").replace("\\\n", ""))
    assert words[:3] == ["curl", "-X", "POST"]
    answer = researcher.request("POST", "workloads/distributed", words[-1])
    assert answer.status_code == 202, answer.content
    by_curl = set_aside()
    told = [frozen(one) | {"identifiers": {}} for one in (by_curl, created(filler))]
    assert told[0] == told[1]


def test_acf18_the_local_plan_is_what_is_frozen(filler: Filler) -> None:
    """AC-F18."""
    filler.fill()
    plan = yaml.safe_load(text(filler, "local"))
    made = frozen(created(filler))
    changing = {"GANGLINE_WORKLOAD_ID", "RUNAI_JOB_UUID"}
    for one in (plan, made):
        one["identifiers"] = {k: v for k, v in one["identifiers"].items() if k not in changing}
    assert plan == made


def test_the_engine_that_is_not_used_says_why(filler: Filler) -> None:
    filler.fill()
    page = filler.get("review").page
    assert "vision" in page.one(data_testid="as-kubernetes").text
    assert filler.client.get(f"/workloads/new/{filler.draft}/as/kubernetes").status_code == 404


def test_no_plan_is_shown_while_something_is_wrong(filler: Filler) -> None:
    filler.fill()
    filler.post("workers", {"worker.command": ""}, go="leave")
    assert filler.client.get(f"/workloads/new/{filler.draft}/as/local").status_code == 404
    assert "command" not in yaml.safe_load(text(filler, "yaml"))["spec"]


def test_drafts_of_others_are_not_shown(filler: Filler, world: World) -> None:
    filler.fill()
    other = Filler(world, "researcher-nlp")
    assert other.client.get(f"/workloads/new/{filler.draft}/as/yaml").status_code == 404


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("loopback_admitted")
def test_acf18_the_manifest_is_what_the_cluster_is_shown(world: World) -> None:
    """AC-F18."""
    Cluster.objects.filter(pk=world.cluster.pk).update(
        kind="kubernetes", host_id="", config={"scheduler": "volcano"}
    )
    filler = Filler(world)
    script = Script(groups={"kubeflow.org": {"v1": [KIND.plural]}})
    with answering(script) as access:
        credentials.store(Cluster.objects.get(pk=world.cluster.pk), access, by=None)
        filler.post("setup", {"workload.name": "digits"})
        image = {"worker.image": "registry.example/training:1"}
        filler.post("workers", image | {"worker.command": "python train.py"})
        manifest, *beside = yaml.safe_load_all(text(filler, "kubernetes"))
        filler.post("review", go="check")
    sent = next(body for path, body in script.sent if path.endswith(f"/{KIND.plural}"))
    assert [one["kind"] for one in beside] == ["PodGroup"]
    assert "ownerReferences" not in beside[0]["metadata"]
    uid, other = manifest["metadata"]["labels"][labels.WORKLOAD], sent["metadata"]["labels"]
    for one in (manifest, sent):
        del one["metadata"]["annotations"][SPEC_HASH]  # the id is in it too
    assert yaml.safe_load(yaml.safe_dump(manifest).replace(uid, other[labels.WORKLOAD])) == sent
