"""The table of workloads shows what its search and its filters say, and nothing else."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.resources.services import make
from tests.support.api import ApiClient
from tests.support.world import World
from workloads.models import Workload

pytestmark = pytest.mark.django_db
SUBMITTED: dict[str, tuple[str, dict[str, Any]]] = {
    "alpha": ("vision", {"image": "local://system", "command": "python walnut.py"}),
    "beta": ("vision", {"labels": [{"name": "team", "value": "blue"}], "args": "--cedar 3"}),
    "gamma": ("nlp", {"labels": [{"name": "team", "value": "red"}]}),
}
"""Name → project, whose researcher submits it, and what of its spec differs."""
EVERYTHING = set(SUBMITTED)


@pytest.fixture
def person(world: World) -> Client:
    examples = world.cluster.facts["runtimes"][0]
    runtimes = [examples, examples | {"reference": "local://system"}]
    Cluster.objects.update(facts=world.cluster.facts | {"runtimes": runtimes})
    for name, (project, spec) in SUBMITTED.items():
        body = world.spec_body(name, **spec) | {"projectId": str(getattr(world, project).pk)}
        answer = ApiClient(world, f"researcher-{project}").post("workloads/distributed", body)
        assert answer.status_code == 202, answer.content
    for days, name in enumerate(SUBMITTED):
        when = db_now() - timedelta(days=days)
        Workload.objects.filter(name=name).update(created_at=when)
    Workload.objects.filter(name="alpha").update(status="Failed", phase="Failed")
    return world.client("administrator")


def shown(person: Client, address: str) -> set[str]:
    page = person.get(f"/workloads?{address}").context["page"]
    assert not list(page.problems), address
    return {row.name for row in page.found.rows}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("alph", {"alpha"}),
        ("NLP", {"gamma"}),
        ("researcher-vision", {"alpha", "beta"}),
        ("local://system", {"alpha"}),
        ("walnut", {"alpha"}),
        ("researcher-vision walnut", {"alpha"}),
        ("nlp walnut", set()),
    ],
)
def test_search_finds_by_name_project_owner_image_and_command(
    person: Client, words: str, found: set[str]
) -> None:
    assert shown(person, f"q={words}") == found


def test_filters_leave_out_the_rest(person: Client, world: World) -> None:
    other = make("cluster", name="empty", kind="kubernetes")
    today, yesterday = (f"{db_now() - timedelta(days=days):%Y-%m-%d}" for days in (0, 1))
    for address, found in {
        "": EVERYTHING,
        f"cluster={world.cluster.pk}": EVERYTHING,
        f"cluster={other.pk}": set(),
        f"cluster={other.pk},{world.cluster.pk}": EVERYTHING,
        "label=team": {"beta", "gamma"},
        "label=team=blue": {"beta"},
        "image=system": {"alpha"},
        f"created_from={today}": {"alpha"},
        f"created_to={yesterday}": {"beta", "gamma"},
        f"created_from={yesterday}&created_to={yesterday}": {"beta"},
        "status=Failed": {"alpha"},
        "status=Failed,Creating,Pending": EVERYTHING,
        f"project={world.vision.pk}": {"alpha", "beta"},
        f"project={world.vision.pk}&project={world.nlp.pk}": EVERYTHING,
        "owner=researcher-nlp&label=team": {"gamma"},
        "owner=researcher-nlp,researcher-vision&status=Failed": {"alpha"},
        "gpus_min=1": set(),
    }.items():
        assert shown(person, address) == found, address
