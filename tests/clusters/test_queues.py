"""What was found on a cluster decides which queue a project may name, and what GPUs are called."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from gangline.audit.models import AuditEntry
from gangline.clusters.connections import gpu_of
from gangline.clusters.models import Cluster
from gangline.organization.models import Project
from gangline.resources.services import make
from gangline.scopes.services import found


def cluster(scheduler: str = "volcano", kind: str = "kubernetes", **detail: Any) -> Cluster:
    found(name="Test")
    made: Cluster = make("cluster", actor=None, name="lab", kind=kind)
    made.facts = {"detail": {"schedulers": [{"name": scheduler, "used": True}], **detail}}
    made.save()
    return made


def project(queue: str = "", **options: Any) -> str:
    out = StringIO()
    said = {"cluster": "lab", **({"queue": queue} if queue else {}), **options}
    call_command("project", "vision", stdout=out, **said)
    return out.getvalue()


FOUND = {"scheduler": "volcano", "names": ["default", "team-a"]}


def test_a_project_gets_its_queue_and_another_one_later(db: None) -> None:
    cluster(queues=FOUND)
    words = "Project vision: its further workloads wait in queue team-a of the cluster's scheduler."
    assert words in project("team-a").splitlines()
    assert Project.objects.get().own_queue == "team-a"
    assert "wait in queue default of" in project("default")
    assert Project.objects.get().own_queue == "default"
    entry = AuditEntry.objects.filter(action="project.edit").get()
    assert entry.detail == {"own_queue": {"from": "team-a", "to": "default"}}
    call_command("project", "vision", "--cluster", "lab", "--queue", "", stdout=StringIO())
    assert Project.objects.get().own_queue == ""


def test_a_queue_that_is_not_there_is_refused_with_those_that_are(db: None) -> None:
    cluster(queues=FOUND)
    with pytest.raises(CommandError) as refused:
        project("team-b")
    assert str(refused.value) == (
        "Volcano has no queue team-b on the cluster; there is default, team-a."
    )
    assert not Project.objects.exists()


@pytest.mark.parametrize(
    ("scheduler", "kind", "words"),
    [
        ("plain", "kubernetes", "kube-scheduler has no queues."),
        ("", "local", "Only schedulers of Kubernetes have queues."),
    ],
)
def test_where_there_are_no_queues_none_can_be_named(
    db: None, scheduler: str, kind: str, words: str
) -> None:
    cluster(scheduler, kind)
    with pytest.raises(CommandError) as refused:
        project("team-a")
    assert str(refused.value) == words


@pytest.mark.parametrize("name", ["Team", "a b", "-a", ".a"])
def test_a_name_that_no_queue_can_have_is_refused(db: None, name: str) -> None:
    cluster(queues=FOUND)
    with pytest.raises(CommandError, match="1 to 63 lowercase letters"):
        project(name)


def test_of_queues_that_were_never_counted_any_name_is_taken(db: None) -> None:
    cluster()
    project("team-z")
    assert Project.objects.get().own_queue == "team-z"


def test_nothing_but_the_queue_of_a_project_changes_later(db: None) -> None:
    cluster(queues=FOUND)
    project()
    with pytest.raises(CommandError, match="only its queue can be changed"):
        project("team-a", gpus=3)
    assert Project.objects.get().own_queue == ""


@pytest.mark.parametrize(
    ("config", "gpus", "name"),
    [
        ({}, [], "nvidia.com/gpu"),
        ({}, [("amd.com/gpu", 8)], "amd.com/gpu"),
        ({}, [("amd.com/gpu", 8), ("nvidia.com/gpu", 4), ("nvidia.com/gpu", 6)], "nvidia.com/gpu"),
        ({"gpuResource": "example.com/gpu"}, [("amd.com/gpu", 8)], "example.com/gpu"),
    ],
)
def test_gpus_are_asked_for_by_the_name_they_have_there(
    db: None, config: dict[str, str], gpus: list[tuple[str, int]], name: str
) -> None:
    found = [{"resource": resource, "total": total} for resource, total in gpus]
    made = cluster(nodes={"gpus": found})
    made.config = config
    assert gpu_of(made) == name
