"""Home: its numbers are those of the lists that they lead to, and its first steps go away."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client

from assets.models import Template
from assets.services.templates import create_template
from gangline.db.clock import db_now
from gangline.people.services import give
from gangline.policies.services import save
from gangline.scopes.selectors import tenant_scope
from gangline.spec.frameworks import WORKERS_AND_MASTER
from tests.support.forms import Filler
from tests.support.world import IMAGE, World
from workloads.models import Workload

pytestmark = pytest.mark.django_db
RUNNING, DAY = "Running", timedelta(days=1)


@pytest.fixture
def sample(world: World) -> Template:
    return create_template(
        actor=None,
        scope=tenant_scope(),
        name="digits-xgboost",
        description="",
        framework="XGBoost",
        configuration=WORKERS_AND_MASTER,
        master="same",
        values={"worker.image": IMAGE, "worker.command": "python train.py"},
    )


def browser(world: World, person: str) -> Client:
    client = Client()
    client.force_login(world.people[person])
    return client


def steps(client: Client, strip: str) -> dict[str, bool]:
    """The steps of a strip on Home by their words, each with whether it is done."""
    page = client.get("/").content.decode()
    found = re.search(rf'aria-labelledby="{strip}".*?</ol>', page, re.DOTALL)
    rows = re.findall(r"<li( data-done)?>(.*?)</li>", found[0] if found else "", re.DOTALL)
    words = ((re.sub(r"<[^>]+>", " ", row).split(), bool(done)) for done, row in rows)
    return {" ".join(word for word in row if word != "done"): done for row, done in words}


def tiles(client: Client) -> dict[str, tuple[str, str]]:
    """Number and address of each tile."""
    page = client.get("/").content.decode()
    found = re.findall(
        r'class="tile[^"]*" href="([^"]+)">\s*<span[^>]*>([^<]+)</span> <b[^>]*>([^<]+)<', page
    )
    return {label: (value, unescape(url)) for url, label, value in found}


@pytest.mark.parametrize(
    ("person", "expected"),
    [
        (
            "researcher-vision",
            {"Running": 2, "Waiting": 3, "Needs attention": 2, "Done in 24 hours": 1},
        ),
        ("administrator", {"Waiting over 1 hour": 1, "Failed in 24 hours": 1}),
    ],
)
def test_a_number_is_the_number_of_rows_of_its_list(
    world: World, person: str, expected: dict[str, int]
) -> None:
    now = db_now()
    for status, age, count in (
        (RUNNING, DAY, 2),
        ("Pending", timedelta(minutes=59), 2),
        ("Pending", timedelta(minutes=61), 1),
        ("Failed", timedelta(hours=23), 1),
        ("Failed", timedelta(hours=25), 1),
        ("Completed", timedelta(hours=1), 1),
        ("Completed", 2 * DAY, 3),
    ):
        for _ in range(count):
            row = world.workload(status=status)
            at = now - age
            ended = at if status in ("Failed", "Completed") else None
            Workload.objects.filter(pk=row.pk).update(
                created_at=at, phase_since=at, ended_at=ended
            )
    client = browser(world, person)
    found = tiles(client)
    assert {name: found[name][0] for name in expected} == {k: str(v) for k, v in expected.items()}
    for name, count in expected.items():
        page = client.get(found[name][1]).content.decode()
        assert page.count('data-testid="row-') == count, name
