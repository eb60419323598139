"""What the tabs Pods and Spec say of a workload: ranks, memory, values and their origins."""

import re
from html import unescape
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from assets.models import Template
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.resources.services import make
from gangline.scopes.models import Scope
from gangline.spec.frameworks import WORKERS_AND_MASTER
from gangline.spec.sources import DEFAULT, Source, copy_source, template_source
from tests.support.api import ApiClient
from tests.support.engine import new_workload
from tests.support.world import IMAGE, World
from workloads.models import Attempt, Replica, Workload
from workloads.selectors.details import expected_replicas

pytestmark = pytest.mark.django_db
OWNER = "researcher-vision"


def client_of(world: World, person: str) -> Client:
    return world.client(person)


def gang(world: World, **columns: Any) -> Workload:
    return new_workload(
        name=columns.pop("name", "digits"),
        project=world.vision,
        owner=world.people[OWNER],
        values={"image": IMAGE, "command": "python train.py"},
        workers=2,
        **columns,
    )


def replicas(workload: Workload, *rows: tuple[str, int, int], **columns: Any) -> None:
    attempt = Attempt.objects.get(workload=workload)
    Replica.objects.bulk_create(
        Replica(attempt=attempt, role=role, index=index, rank=rank, state="Running", **columns)
        for role, index, rank in rows
    )


def cells(page: str, column: str) -> dict[str, str]:
    """Text of one column of the table of pods, by pod."""
    found = re.findall(
        rf'<tr data-pod="([^"]+)".*?data-col="{column}"[^>]*>(.*?)</td>', page, re.DOTALL
    )
    return {pod: re.sub(r"<[^>]+>", "", text).strip() for pod, text in found}


@pytest.mark.parametrize(
    ("framework", "first", "of_master"), [("MPI", 0, "–"), ("PyTorch", 1, "0")]
)
@pytest.mark.parametrize("has_begun", [False, True])
def test_a_launcher_has_no_rank(
    world: World, framework: str, first: int, of_master: str, has_begun: bool
) -> None:
    """A master that trains is rank 0; a launcher is none of the ranks that it starts."""
    workload = gang(world, framework=framework, configuration=WORKERS_AND_MASTER)
    Workload.objects.filter(pk=workload.pk).update(pods_total=3)
    if has_begun:
        replicas(workload, ("master", 0, 0), ("worker", 0, first), ("worker", 1, first + 1))
    page = client_of(world, OWNER).get(f"/workloads/{workload.pk}/pods").content.decode()
    assert cells(page, "rank") == {
        "master-0": of_master, "worker-0": str(first), "worker-1": str(first + 1),
    }  # fmt: skip
    if has_begun:
        pods = ApiClient(world, OWNER).get(f"workloads/{workload.pk}/pods").json()["pods"]
        assert [pod["rank"] for pod in pods] == [
            None if framework == "MPI" else 0, first, first + 1,
        ]  # fmt: skip


def test_the_grid_names_a_launcher_without_a_rank(world: World) -> None:
    workload = gang(world, framework="MPI", configuration=WORKERS_AND_MASTER)
    Workload.objects.filter(pk=workload.pk).update(pods_total=21, num_workers=20)
    workload.refresh_from_db()
    assert len(expected_replicas(workload, Attempt.objects.get(workload=workload))) == 21
    page = client_of(world, OWNER).get(f"/workloads/{workload.pk}/pods").content.decode()
    assert 'title="master-0, Pending"' in page
    assert 'title="rank 0, worker-0, Pending"' in page


def test_memory_is_a_column_from_the_start_so_that_none_jumps(world: World) -> None:
    workload = gang(world)
    client = client_of(world, OWNER)
    replicas(workload, ("worker", 0, 0))
    before = client.get(f"/workloads/{workload.pk}/pods").content.decode()
    assert cells(before, "memory") == {"worker-0": "–"}
    replicas(workload, ("worker", 1, 1), peak_memory=64_000_000)
    page = client.get(f"/workloads/{workload.pk}/pods").content.decode()
    assert cells(page, "memory") == {"worker-0": "–", "worker-1": "64 MB"}


def test_gpus_are_a_column_of_gangs_that_have_some(world: World) -> None:
    workload = gang(world)
    client = client_of(world, OWNER)
    assert ">GPUs</th>" not in client.get(f"/workloads/{workload.pk}/pods").content.decode()
    Workload.objects.filter(pk=workload.pk).update(gpus=2)
    replicas(workload, ("worker", 0, 0), gpus=1)
    page = client.get(f"/workloads/{workload.pk}/pods").content.decode()
    assert ">GPUs</th>" in page
    assert cells(page, "gpus") == {"worker-0": "1"}


def spec_page(world: World, person: str, workload: Workload, source: Source) -> dict[str, str]:
    """HTML of the origin by field, when the image comes from ``source``."""
    attempt = Attempt.objects.get(workload=workload)
    attempt.effective["worker.image"]["source"] = source.to_json()
    Attempt.objects.filter(pk=attempt.pk).update(effective=attempt.effective)
    answer = client_of(world, person).get(f"/workloads/{workload.pk}/spec")
    assert answer.status_code == 200
    page = answer.content.decode()
    rows = re.findall(r'<th scope="row">(.*?)</th><td>.*?</td><td>(.*?)</td>', page)
    return {unescape(label): html for label, html in rows}


def template(world: World, scope: Scope) -> Template:
    made: Template = make(
        "template",
        scope=scope,
        name="digits & more",
        framework="PyTorch",
        configuration="workersOnly",
    )
    return made


def test_a_value_of_a_template_names_it_and_leads_to_it(world: World) -> None:
    workload = gang(world)
    made = template(world, world.vision.scope)
    origin = spec_page(world, OWNER, workload, template_source(made.pk))["Image"]
    assert "template digits &amp; more" in origin
    address = re.search(r'href="([^"]+)"', origin)
    assert address
    page = client_of(world, OWNER).get(unescape(address[1])).content.decode()
    assert 'data-testid="page-template"' in page


def test_a_template_that_the_reader_may_not_use_is_not_named(world: World) -> None:
    workload = gang(world)
    hidden = template(world, world.nlp.scope)
    for source in (template_source(hidden.pk), template_source(UUID(int=4))):
        origin = spec_page(world, OWNER, workload, source)["Image"]
        assert re.sub(r"<[^>]+>", "", origin) == "template"
        assert "href" not in origin


def test_a_copied_value_names_the_workload_while_it_is_there(world: World) -> None:
    workload, earlier = gang(world), gang(world, name="earlier")
    source = copy_source(earlier.pk)
    origin = spec_page(world, OWNER, workload, source)["Image"]
    assert f'<a href="/workloads/{earlier.pk}">' in origin
    assert "copy of earlier" in origin
    Workload.objects.filter(pk=earlier.pk).update(deleted_at=db_now())
    assert re.sub(r"<[^>]+>", "", spec_page(world, OWNER, workload, source)["Image"]) == "copied"


def test_you_is_only_said_to_the_one_who_said_it(world: World) -> None:
    workload = gang(world)
    assert ">you<" in spec_page(world, OWNER, workload, DEFAULT)["Command"]
    others = spec_page(world, "administrator", workload, DEFAULT)
    assert f">{OWNER}<" in others["Command"]
    assert ">default<" in others["Image"]


def test_restarts_are_shown_where_there_were_any(world: World) -> None:
    workload = gang(world)
    replicas(workload, ("worker", 0, 0))
    client = client_of(world, OWNER)
    address = f"/workloads/{workload.pk}/pods"
    assert "Restarts" not in client.get(address).content.decode()
    replicas(workload, ("worker", 1, 1), restarts=3)
    assert cells(client.get(address).content.decode(), "restarts") == {
        "worker-0": "0",
        "worker-1": "3",
    }


def test_what_kubectl_calls_it_is_told_and_can_be_copied(world: World) -> None:
    """From what was frozen: a prefix that changed since does not count, and nobody is asked."""
    workload = gang(world, framework="PyTorch")
    page = client_of(world, OWNER).get(f"/workloads/{workload.pk}").content.decode()
    assert "On the cluster" not in page
    Cluster.objects.filter(pk=workload.cluster_id).update(kind="kubernetes", host_id="")
    frozen = {"namespace": "gg-vision", "job": {"kind": "PyTorchJob"}}
    Attempt.objects.filter(workload=workload).update(rendered=frozen)
    page = client_of(world, OWNER).get(f"/workloads/{workload.pk}").content.decode()
    told = re.search(r"<dt>On the cluster</dt><dd>(.*?)<button", page)
    assert told
    assert re.sub(r"<[^>]+>", "", told[1]).strip() == "pytorchjob/digits in namespace gg-vision"
    assert 'data-copy="kubectl -n gg-vision get pytorchjob/digits"' in page


@pytest.mark.parametrize("frozen", [None, {}, {"job": None}, {"job": {"kind": "MPIJob"}}])
def test_nothing_is_told_of_an_object_that_was_never_rendered(world: World, frozen: Any) -> None:
    workload = gang(world)
    Cluster.objects.filter(pk=workload.cluster_id).update(kind="kubernetes", host_id="")
    Attempt.objects.filter(workload=workload).update(rendered=frozen)
    answer = client_of(world, OWNER).get(f"/workloads/{workload.pk}")
    assert answer.status_code == 200
    assert "On the cluster" not in answer.content.decode()


@pytest.mark.parametrize(
    ("trouble", "title"),
    [
        ("", "No contact with the cluster"),
        ("Gangline may not get pods.", "The cluster does not report on this workload"),
    ],
)
def test_a_cluster_that_answers_is_not_said_to_be_away(
    world: World, trouble: str, title: str
) -> None:
    workload = gang(world)
    Workload.objects.filter(pk=workload.pk).update(contact_lost_at=db_now())
    Attempt.objects.filter(workload=workload).update(trouble=trouble)
    page = client_of(world, OWNER).get(f"/workloads/{workload.pk}").content.decode()
    assert title in page


@pytest.mark.parametrize("person", [OWNER, "viewer-vision"])
def test_a_session_that_runs_is_entered_from_its_page(world: World, person: str) -> None:
    """Who may enter has the button; everybody reads when it ends."""
    workload = gang(world, is_interactive=True, session_seconds=28800, idle_seconds=1800)
    Attempt.objects.filter(workload=workload).update(started_at=db_now())
    address = f"/workloads/{workload.pk}"
    assert "Connect" not in client_of(world, person).get(address).content.decode()
    Workload.objects.filter(pk=workload.pk).update(status="Running")
    page = client_of(world, person).get(address).content.decode()
    assert (f"{address}/terminal?connect" in page) is (person == OWNER)
    [ends] = re.findall(r'data-testid="session-ends">(.*?)</dd>', page, re.DOTALL)
    assert " ".join(re.sub(r"<[^>]+>", "", ends).split()) == "in 7 h, or 30 min after its last use"
