"""What is judged first: who asks, then whether the cluster can do it at all."""

import json
import re
from typing import Any

import pytest

from gangline.clusters import credentials
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.drivers.local.driver import LocalDriver
from gangline.policies.services import save
from gangline.settings.catalogue import LABEL_DOMAINS
from gangline.settings.models import Setting
from tests.support.api import ApiClient
from tests.support.world import World
from workloads.models import Attempt, Workload

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
REASON = "This machine cannot cap cores."


def test_who_may_not_create_learns_nothing_of_the_policy(world: World) -> None:
    body = world.spec_body(numWorkers=-1, nonsense=True)
    answer = ApiClient(world, "viewer-vision").post("workloads/distributed", body)
    assert answer.status_code == 403
    assert answer.json()["problems"] == []


def test_a_field_that_the_cluster_cannot_do_is_refused_when_somebody_said_it(
    world: World, researcher: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalDriver, "unsupported", {"compute.cpuCoreLimit": REASON})
    body = world.spec_body(compute={"cpuCoreRequest": 0.5, "cpuCoreLimit": 2})
    answer = researcher.post("workloads/distributed", body)
    assert answer.status_code == 400
    (problem,) = [p for p in answer.json()["problems"] if p["rule"] == "unsupported"]
    assert problem["path"] == "compute.cpuCoreLimit"
    assert problem["message"].endswith(REASON.rstrip("."))


def test_a_default_of_a_field_that_the_cluster_cannot_do_is_no_obstacle(
    world: World, researcher: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsupported: dict[str, Any] = {"terminationGracePeriodSeconds": REASON}
    monkeypatch.setattr(LocalDriver, "unsupported", unsupported)
    answer = researcher.post("workloads/distributed", world.spec_body())
    assert answer.status_code == 202, answer.content


def test_a_policy_for_clusters_of_several_kinds_is_no_obstacle(
    world: World, researcher: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its default is not used here, and nobody could take it back."""
    monkeypatch.setattr(LocalDriver, "unsupported", {"compute.cpuCoreLimit": REASON})
    save(
        actor=None,
        scope=world.vision.scope,
        text="defaults:\n  worker:\n    compute:\n      cpuCoreLimit: 2\n",
    )
    answer = researcher.post("workloads/distributed", world.spec_body())
    assert answer.status_code == 202, answer.content


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            "defaults:\n  worker:\n    nodeType: large\n"
            "rules:\n  worker:\n    nodeType:\n      canEdit: false\n",
            "is fixed, and cluster this-machine does not have it: ",
        ),
        (
            "rules:\n  worker:\n    nodeType:\n      required: true\n",
            "is required, and cluster this-machine does not have it: ",
        ),
    ],
    ids=["fixed", "required"],
)
def test_a_rule_that_the_cluster_cannot_keep_is_an_obstacle(
    world: World, researcher: ApiClient, policy: str, message: str
) -> None:
    save(actor=None, scope=world.vision.scope, text=policy)
    answer = researcher.post("workloads/distributed", world.spec_body())
    assert answer.status_code == 400, answer.content
    (problem,) = [p for p in answer.json()["problems"] if p["path"] == "nodeType"]
    assert problem["message"].startswith(message)
    assert "the only node" in problem["message"]
    assert problem["source"] == "project vision"
    assert problem["accepted"].startswith("another cluster, or a policy that ")


def test_fields_of_another_kind_of_cluster_are_refused_unless_they_ask_for_nothing(
    world: World, researcher: ApiClient
) -> None:
    compute = {"cpuCoreRequest": 0.5, "largeShmRequest": False, "extendedResources": []}
    answer = researcher.post("workloads/distributed", world.spec_body(compute=compute))
    assert answer.status_code == 202, answer.content
    body = world.spec_body(name="other", compute={"largeShmRequest": True}, nodeType="dgx")
    answer = researcher.post("workloads/distributed", body)
    refused = {p["path"] for p in answer.json()["problems"] if p["rule"] == "unsupported"}
    assert refused == {"compute.largeShmRequest", "nodeType"}


def test_a_reserved_domain_of_a_label_is_the_administrators_to_allow(
    world: World, researcher: ApiClient
) -> None:
    body = world.spec_body(labels=[{"name": "app.kubernetes.io/name", "value": "ddp"}])
    answer = researcher.post("workloads/distributed", body)
    assert answer.status_code == 400, answer.content
    told = [(p["path"], p["rule"]) for p in answer.json()["problems"]]
    assert told == [("labels.0.name", "reserved")]
    Setting.objects.create(key=LABEL_DOMAINS.key, value="kubernetes.io", updated_at=db_now())
    assert researcher.post("workloads/distributed", body).status_code == 202


def test_the_class_that_was_chosen_is_the_one_that_is_told(
    world: World, researcher: ApiClient
) -> None:
    body = world.spec_body(priorityClass="high")
    assert researcher.post("workloads/distributed", body).status_code == 202
    row = researcher.get("workloads").json()["workloads"][0]
    assert (row["priority"], row["priorityClassName"]) == (125, "high")
    unknown = researcher.post("workloads/distributed", world.spec_body(priorityClass="urgent"))
    assert "priorityClass" in [p["path"] for p in unknown.json()["problems"]]


E7 = """
defaults: {worker: {priorityClass: low}}
rules: {worker: {priorityClass: {options: [{value: very-low}, {value: low}]}}}
"""
OWN = [{"name": "urgent", "value": 1_000_000, "preempts": True, "default": False},
       {"name": "usual", "value": -10, "preempts": True, "default": True}]  # fmt: skip


def test_classes_of_the_cluster_and_of_the_product_count_on_kubernetes(
    world: World, researcher: ApiClient, loopback_admitted: None
) -> None:
    facts = {"detail": {"priorities": OWN}}
    Cluster.objects.filter(pk=world.cluster.pk).update(kind="kubernetes", host_id="", facts=facts)
    access = ClusterCredentials("https://127.0.0.1:9", token="unused")
    credentials.store(Cluster.objects.get(pk=world.cluster.pk), access, by=None)
    for name, value, gives_way, sent in (
        ("urgent", 1_000_000, False, "urgent"),
        ("high", 125, False, None),
        ("low", 40, True, None),
        (None, -10, True, None),
    ):
        body = world.spec_body(f"is-{name}".lower(), image="r.lab/x:1", priorityClass=name)
        answer = researcher.post("workloads/distributed", body)
        assert answer.status_code == 202, answer.content
        workload = Workload.objects.get(name=body["name"])
        assert (workload.priority, workload.is_preemptible) == (value, gives_way)
        rendered = json.dumps(Attempt.objects.get(workload=workload).rendered)
        found = set(re.findall(r'"priorityClassName": "([^"]+)"', rendered))
        assert found == ({sent} if sent else set())
    told = {row["name"]: row["priority"] for row in researcher.get("workloads").json()["workloads"]}
    assert told == {"is-urgent": 1_000_000, "is-high": 125, "is-low": 40, "is-none": -10}
    save(actor=None, scope=world.vision.scope, text=E7, version=None)
    locked = world.spec_body("locked", image="r.lab/x:1")
    assert researcher.post("workloads/distributed", locked).status_code == 202
    assert Workload.objects.get(name="locked").priority == 40
