"""Changing a cluster that is connected: settings, removal, and what was left on it."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from gangline.audit.models import AuditEntry
from gangline.clusters import connections
from gangline.clusters.models import Cluster, ConnectionCheck, Credential, Orphan
from gangline.clusters.services import store_health
from gangline.db.clock import db_now
from gangline.db.models import SystemNotice
from gangline.drivers.facts import Health
from gangline.organization.models import Project
from gangline.people.services import give
from gangline.resources.services import make
from gangline.scopes.models import Scope
from tests.support.api import ApiClient
from tests.support.connected import Post, seen
from tests.support.world import World
from workloads.models import Workload
from workloads.services import orphans

pytestmark = pytest.mark.usefixtures("loopback_admitted", "checks_at_once")


def wanted(cluster: Cluster, **changes: Any) -> dict[str, Any]:
    """What the page of ``cluster`` posts after somebody made ``changes`` on it."""
    shown = {
        "name": cluster.name, "scheduler": "", "namespace_prefix": "gangline", "gpu_resource": "",
        "when_unreachable": "queue", "description": "", "version": cluster.version,
    }  # fmt: skip
    return {**shown, **changes}


# Settings


def test_settings_are_changed_and_audited(world: World, post: Post, lab: Cluster) -> None:
    address = f"/clusters/{lab.pk}/edit"
    page = seen(world, address)
    assert "not there: the cluster does not serve kueue.x-k8s.io" in page
    changes = {
        "name": "zurich", "scheduler": "plain", "namespace_prefix": "lab",
        "gpu_resource": "amd.com/gpu", "when_unreachable": "reject",
    }  # fmt: skip
    assert post(address, **wanted(lab, **changes)).status_code == 302
    now = Cluster.objects.select_related("scope").get(pk=lab.pk)
    assert (now.name, now.scope.name, now.when_unreachable) == ("zurich", "zurich", "reject")
    assert (now.config["scheduler"], now.config["namespacePrefix"]) == ("plain", "lab")
    assert (now.config["gpuResource"], now.version) == ("amd.com/gpu", lab.version + 1)
    assert now.credential_at == lab.credential_at
    entry = AuditEntry.objects.get(action="cluster.edit")
    assert entry.detail["namespacePrefix"] == {"from": "gangline", "to": "lab"}
    assert set(entry.detail) == {
        "name", "scheduler", "namespacePrefix", "gpuResource", "when_unreachable",
    }  # fmt: skip
    page = seen(world, f"/clusters/{lab.pk}")
    assert "zurich" in page
    assert "lab-…" in page
    assert "amd.com/gpu" in page
    assert connections.scheduler_of(now) == "plain"


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "this-machine"},
        {"name": "\x07"},
        {"scheduler": "magic"},
        {"scheduler": "kai"},
        {"namespace_prefix": "Not it"},
        {"namespace_prefix": "kube-x"},
        {"gpu_resource": "gpus"},
        {"gpu_resource": "amd.com/gpu/x"},
        {"when_unreachable": "explode"},
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(
    world: World, post: Post, lab: Cluster, change: dict[str, str]
) -> None:
    answer = post(f"/clusters/{lab.pk}/edit", **wanted(lab, **change))
    assert answer.status_code == 422
    assert f'href="#f-{next(iter(change))}"' in answer.content.decode()
    now = Cluster.objects.get(pk=lab.pk)
    assert (now.name, now.config, now.version) == (lab.name, lab.config, lab.version)


@pytest.mark.parametrize(
    "domain", ["lab.example", "gangline.lab.example", "t.gangline.lab.example"]
)
def test_tools_get_no_domain_that_shares_cookies_with_gangline(
    world: World, post: Post, lab: Cluster, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = settings.GANGLINE.model_copy(update={"public_url": "https://gangline.lab.example"})
    monkeypatch.setattr(settings, "GANGLINE", here)
    answer = post(f"/clusters/{lab.pk}/edit", **wanted(lab, tools_domain=domain))
    assert (answer.status_code, 'href="#f-tools_domain"' in answer.content.decode()) == (422, True)
    body = json.dumps({"name": lab.name, "connection": {"toolsDomain": domain}})
    refused = ApiClient(world, "administrator").request("PUT", f"clusters/{lab.pk}", body)
    assert refused.status_code == 400
    assert [one["path"] for one in refused.json()["problems"]] == ["toolsDomain"]
    assert Cluster.objects.get(pk=lab.pk).config == lab.config


def test_of_two_administrators_the_second_is_told_and_loses_nothing(
    world: World, post: Post, lab: Cluster
) -> None:
    address = f"/clusters/{lab.pk}/edit"
    assert post(address, **wanted(lab, namespace_prefix="first")).status_code == 302
    late = post(address, **wanted(lab, name="mine", gpu_resource="amd.com/gpu"))
    page = late.content.decode()
    assert late.status_code == 409
    assert "administrator saved changes" in page
    assert 'value="mine"' in page
    assert 'value="amd.com/gpu"' in page
    now = Cluster.objects.get(pk=lab.pk)
    assert (now.name, now.config["namespacePrefix"]) == ("lab", "first")
    again = wanted(now, name="mine", gpu_resource="amd.com/gpu", namespace_prefix="first")
    assert f'name="version" value="{now.version}"' in page
    assert post(address, **again).status_code == 302
    now.refresh_from_db()
    assert (now.name, now.config["namespacePrefix"]) == ("mine", "first")


def test_only_those_who_manage_the_cluster_change_it(
    world: World, post: Post, lab: Cluster
) -> None:
    department = make("department", cluster=lab, name="far")
    project = make("project", department=department, name="away")
    give(actor=None, user=world.people["stranger"], role="researcher", scope=project.scope)
    for page in ("edit", "credential", "delete"):
        answer = post(f"/clusters/{lab.pk}/{page}", "stranger", **wanted(lab, name="x"))
        assert answer.status_code == 403
    assert Cluster.objects.get(pk=lab.pk).name == "lab"


# How it is


def test_the_list_and_the_page_say_how_a_cluster_is(world: World, lab: Cluster) -> None:
    def said() -> tuple[str, str]:
        return seen(world, "/clusters"), seen(world, f"/clusters/{lab.pk}")

    assert all("Connected" in page for page in said())
    row = ConnectionCheck.objects.get(cluster=lab)
    bad = {"name": "Permissions", "state": "failed", "sentence": (
        "Gangline does not have permission to list pods."
    ),
           "fix": "", "copy": ""}  # fmt: skip
    ConnectionCheck.objects.filter(pk=row.pk).update(steps=[*row.steps, bad])
    assert all("Missing permission" in page for page in said())
    Cluster.objects.filter(pk=lab.pk).update(watch_trouble="Gangline may not watch pods.")
    assert all("Not watched" in page and "may not watch pods" in page for page in said())
    Cluster.objects.filter(pk=lab.pk).update(
        health="Unreachable", health_reason="It is gone.", heard_at=db_now(),
        health_since=db_now() - timedelta(minutes=5),
    )  # fmt: skip
    for page in said():
        assert "Not reachable" in page
        assert "It is gone." in page
        assert "5 min ago" in page
    answers = {
        "name": "Reachability",
        "state": "ok",
        "sentence": "It answers.",
        "fix": "",
        "copy": "",
    }
    wrong = bad | {"name": "Certificate", "sentence": "It is for another name."}
    ConnectionCheck.objects.filter(pk=row.pk).update(steps=[answers, wrong], ended_at=db_now())
    for page in said():
        assert "Not connected" in page
        assert "Not reachable" not in page
    assert "1 step failed; 9 were not checked." in seen(world, f"/clusters/{lab.pk}/checks")


def test_old_news_are_told_where_workloads_are_shown(world: World, lab: Cluster) -> None:
    """F-27: amber once the watch has begun anew in vain."""
    Project.objects.update(cluster=lab)
    pages = ("/clusters", f"/clusters/{lab.pk}", "/workloads")
    Cluster.objects.filter(pk=lab.pk).update(heard_at=db_now() - timedelta(seconds=95))
    assert not any("updates delayed" in seen(world, page).lower() for page in pages)
    Cluster.objects.filter(pk=lab.pk).update(heard_at=db_now() - timedelta(seconds=105))
    assert all("updates delayed" in seen(world, page).lower() for page in pages)
    told = seen(world, "/workloads")
    assert "Its workloads are shown in their last known state." in told
    assert f'href="/clusters/{lab.pk}"' in told
    Cluster.objects.filter(pk=lab.pk).update(health="Unreachable", health_reason="It is gone.")
    assert "not reachable" in seen(world, "/workloads")
    Cluster.objects.filter(pk=lab.pk).update(health="Connected", heard_at=db_now())
    assert "in their last known state" not in seen(world, "/workloads")


# Orphans on the page


def orphan(lab: Cluster, name: str, **values: Any) -> Orphan:
    now = db_now()
    given = {
        "cluster": lab, "ext_uid": f"uid-{name}", "kind": "PyTorchJob", "name": name,
        "namespace": "gangline-far", "why": "Its workload is unknown here.", "pods": 3,
        "gpus": 6, "first_seen_at": now, "seen_at": now, "is_sure": True, **values,
    }  # fmt: skip
    return Orphan.objects.create(**given)


def test_orphans_are_listed_with_what_they_use_and_may_be_put_away(
    world: World, post: Post, lab: Cluster
) -> None:
    address = f"/clusters/{lab.pk}"
    assert "Unmanaged objects" in seen(world, f"{address}/checks")
    lost = orphan(lab, "lost")
    orphan(lab, "maybe", is_sure=False)
    page = seen(world, f"{address}/checks")
    assert "3 pods, 6 GPUs" in page
    assert "lost" in page
    assert "maybe" not in page
    assert "1 unmanaged object" in seen(world, "/clusters")
    question = seen(world, f"{address}/orphans/{lost.pk}/delete")
    assert "Delete PyTorchJob lost?" in question
    assert "gangline-far on lab is deleted with its 3 pods and their 6 GPUs." in question
    post(f"{address}/orphans/{lost.pk}/ignore")
    page = seen(world, f"{address}/checks")
    assert "1 ignored" in page
    assert "List lost again" in page
    assert "unmanaged object" not in seen(world, "/clusters")
    post(f"{address}/orphans/{lost.pk}/list")
    assert "Ignore lost" in seen(world, f"{address}/checks")
    assert post(f"{address}/orphans/{lost.pk}/delete", "stranger").status_code in (403, 404)
    actions = AuditEntry.objects.filter(object_type="orphan").values_list("action", flat=True)
    assert list(actions) == ["orphan.ignore", "orphan.list"]


def test_what_one_look_has_found_is_counted_until_it_is_sure(world: World, lab: Cluster) -> None:
    address = f"/clusters/{lab.pk}"
    Cluster.objects.filter(pk=lab.pk).update(searched_at=db_now())
    assert "None found" in seen(world, f"{address}/checks")
    maybe = orphan(lab, "maybe", is_sure=False)
    page = seen(world, f"{address}/checks")
    assert "1 found, to be confirmed by the next search." in page
    assert "None found" not in page
    Orphan.objects.filter(pk=maybe.pk).update(is_sure=True)
    assert "to be confirmed" not in seen(world, f"{address}/checks")


def test_what_has_no_pods_is_not_said_to_lose_any(world: World, lab: Cluster) -> None:
    lost = orphan(lab, "lost", pods=0)
    question = seen(world, f"/clusters/{lab.pk}/orphans/{lost.pk}/delete")
    assert "is deleted. Its workload is unknown here. It has no pods now." in question


def test_what_somebody_asked_to_delete_is_going_until_a_look_finds_it_again(
    world: World, lab: Cluster
) -> None:
    address = f"/clusters/{lab.pk}"
    lost = orphan(lab, "lost", decision="delete", decided_at=db_now())
    page = seen(world, f"{address}/checks")
    assert "Being deleted" in page
    assert "Delete lost" not in page
    Orphan.objects.filter(pk=lost.pk).update(seen_at=db_now() + timedelta(minutes=1))
    page = seen(world, f"{address}/checks")
    assert "it still exists" in page
    assert "Delete lost" in page


def test_after_a_deletion_the_next_look_is_soon(lab: Cluster) -> None:
    lost = orphan(lab, "lost", decision="delete", decided_at=db_now())
    Cluster.objects.filter(pk=lab.pk).update(searched_at=db_now() - timedelta(seconds=12))
    assert orphans.take_turn(lab)
    assert not orphans.take_turn(lab)
    Cluster.objects.filter(pk=lab.pk).update(searched_at=db_now() - timedelta(seconds=12))
    lost.decided_at = db_now() - timedelta(minutes=3)
    lost.save()
    assert not orphans.take_turn(lab), "one that does not go is not looked for all the time"


# Removal


def test_a_cluster_that_nothing_uses_goes_with_its_credential(
    world: World, post: Post, lab: Cluster
) -> None:
    address = f"/clusters/{lab.pk}/delete"
    assert "erases its credential" in seen(world, address)
    assert post(address, name="Lab").status_code == 422
    store_health(lab, Health(reachable=False, is_login_refused=True))
    assert SystemNotice.objects.exists()
    assert post(address, name="lab").status_code == 302
    assert not SystemNotice.objects.exists(), "nobody is warned of it any more"
    assert not Cluster.objects.filter(pk=lab.pk).exists()
    assert not Credential.objects.exists()
    assert not Scope.objects.filter(name="lab").exists()
    assert AuditEntry.objects.filter(action="cluster.delete", object_name="lab").exists()


def test_what_is_on_it_is_named_and_forgotten_only_in_so_many_words(
    world: World, post: Post, lab: Cluster, django_capture_on_commit_callbacks: Any
) -> None:
    department = make("department", cluster=lab, name="far")
    project = make("project", department=department, name="away")
    running = _workload(world, project, "runs", "Running")
    ended = _workload(world, project, "ended", "Completed")
    logs = Path(settings.GANGLINE.data_dir) / "logs" / str(ended.pk)
    logs.mkdir(parents=True)
    refused = post(f"/clusters/{lab.pk}/delete", name="lab")
    assert refused.status_code == 409
    for user in ("far", "runs"):
        assert f">{user}</a>" in refused.content.decode()
    address = f"/clusters/{lab.pk}/forget"
    for fields in ({}, {"forget": "1"}, {"name": "lab"}):
        post(address, **fields)
        assert Workload.objects.filter(pk=running.pk).exists()
    post(address, person="researcher-vision", name="lab", forget="1")
    assert logs.exists()
    with django_capture_on_commit_callbacks(execute=True):
        assert post(address, name="lab", forget="1").status_code == 302
    assert not Cluster.objects.filter(pk=lab.pk).exists()
    assert not Workload.objects.filter(pk__in=[running.pk, ended.pk]).exists()
    assert not Project.objects.filter(pk=project.pk).exists()
    assert not Scope.objects.filter(name__in=["lab", "far", "away"]).exists()
    assert not logs.exists()
    assert not Credential.objects.exists()
    assert Project.objects.filter(pk=world.vision.pk).exists()


def test_this_machine_is_not_removed(world: World, post: Post) -> None:
    for page in ("delete", "forget"):
        post(f"/clusters/{world.cluster.pk}/{page}", name="this-machine", forget="1")
    assert Cluster.objects.filter(pk=world.cluster.pk).exists()
    assert Project.objects.filter(pk=world.vision.pk).exists()


def _workload(world: World, project: Project, name: str, status: str) -> Workload:
    """Submitted to this machine as people do, then moved: the page only counts it."""
    answer = Client().post(
        "/api/v1/workloads/distributed",
        world.body(name),
        content_type="application/json",
        headers=world.headers("researcher-vision"),
    )
    assert answer.status_code == 202, answer.content
    row = Workload.objects.get(name=name)
    Workload.objects.filter(pk=row.pk).update(
        project=project, cluster=project.cluster, status=status
    )
    return row
