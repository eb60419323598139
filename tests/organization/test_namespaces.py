"""A project may work in a namespace that its cluster has already, and in nobody else's."""

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from gangline.drivers.base import Submission
from gangline.drivers.kubernetes import names
from gangline.lib.problems import Refused
from gangline.organization.models import Project
from gangline.resources.registry import get
from gangline.resources.services import update
from gangline.spec.workload import WorkerSpec
from tests.support.world import World
from workloads import refs

pytestmark = pytest.mark.django_db

URL = "/api/v1/org-unit/projects"


@pytest.fixture
def client(world: World) -> Client:
    """An administrator, and a cluster that has namespaces."""
    cluster = world.cluster
    cluster.kind, cluster.host_id, cluster.config = "kubernetes", "", {"namespacePrefix": "lab"}
    cluster.save(update_fields=["kind", "host_id", "config"])
    return Client(headers=world.headers("administrator"))


def body(world: World, name: str, namespace: str) -> dict[str, str]:
    return {"name": name, "clusterId": str(world.cluster.pk), "requestedNamespace": namespace}


def test_its_workloads_go_there_and_it_is_kept(world: World, client: Client) -> None:
    made = client.post(URL, body(world, "speech", "team-speech"), "application/json")
    assert made.status_code == 201, made.content
    assert made.json()["status"]["namespace"] == "team-speech"
    project = Project.objects.select_related("cluster").get(name="speech")
    submission = refs.submission(
        name="a", uid="", project=project, framework="PyTorch", configuration="workersOnly",
        values={},
    )  # fmt: skip
    assert names.namespace_of(submission, "lab") == "team-speech"
    assert names.namespace_of(
        Submission("a", "nlp", "PyTorch", "workersOnly", 1, WorkerSpec(), None), "lab"
    )
    moved = body(world, "speech", "elsewhere")
    version = {"If-Match": str(project.version)}
    answer = client.put(f"{URL}/{project.pk}", moved, "application/json", headers=version)
    assert answer.status_code == 400
    assert answer.json()["problems"][0]["path"] == "requestedNamespace"


@pytest.mark.parametrize(
    ("namespace", "status", "rule"),
    [("kube-system", 400, "reserved"), ("Not A Name", 400, "name"), ("lab-vision", 409, "unique")],
)
def test_a_namespace_of_somebody_else_is_refused(
    world: World, client: Client, namespace: str, status: int, rule: str
) -> None:
    answer = client.post(URL, body(world, "speech", namespace), "application/json")
    assert answer.status_code == status
    problem = answer.json()["problems"][0]
    assert (problem["path"], problem["rule"]) == ("requestedNamespace", rule)
    assert not Project.objects.filter(name="speech").exists()


def test_the_database_keeps_a_namespace_to_one_project_of_a_cluster(world: World) -> None:
    Project.objects.filter(pk=world.vision.pk).update(own_namespace="shared")
    with pytest.raises(IntegrityError), transaction.atomic():
        Project.objects.filter(pk=world.nlp.pk).update(own_namespace="shared")


def test_a_new_project_does_not_get_what_another_took(world: World, client: Client) -> None:
    client.post(URL, body(world, "speech", "lab-audio"), "application/json")
    answer = client.post(URL, body(world, "audio", "lab-audio"), "application/json")
    assert answer.status_code == 409
    assert answer.json()["problems"][0]["rule"] == "unique"


def test_a_cluster_without_namespaces_has_no_such_field(world: World) -> None:
    client = Client(headers=world.headers("administrator"))
    answer = client.post(URL, body(world, "speech", "team-speech"), "application/json")
    assert answer.status_code == 400
    assert answer.json()["problems"][0]["path"] == "requestedNamespace"


def test_what_others_made_is_named_by_who_may_edit_the_cluster(
    world: World, client: Client
) -> None:
    """Volumes and variables of a workload may hold the secrets of its namespace."""
    head = Client(headers=world.headers("head"))
    answer = head.post(URL, body(world, "speech", "monitoring"), "application/json")
    assert answer.status_code == 400
    problem = answer.json()["problems"][0]
    assert (problem["path"], problem["rule"]) == ("requestedNamespace", "cluster")
    actor = world.actor("head")
    with pytest.raises(Refused):
        update(get("project"), actor=actor, obj=world.vision, values={"own_queue": "default"})
    assert (
        head.post(URL, body(world, "speech", "lab-speech"), "application/json").status_code == 201
    )
