"""The audit log: who sees which entries, on the page, in the file and in the API."""

import csv
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from gangline.access.actor import Actor
from gangline.administration.resources import RESULTS
from gangline.audit import actions
from gangline.audit.models import AuditEntry
from gangline.audit.services import record
from gangline.db.clock import db_now
from gangline.resources import services
from gangline.resources.registry import get
from tests.support.world import World

pytestmark = pytest.mark.django_db
CANARY = "c4n4ry-value"


def browser(world: World, name: str = "administrator") -> Client:
    return world.client(name)


@pytest.fixture
def entries(world: World) -> dict[str, AuditEntry]:
    """One per scope, the newest first."""
    AuditEntry.objects.all().delete()
    now = db_now()
    actor = Actor(user=world.people["researcher-vision"], channel="api", address="192.0.2.7")
    scopes = {
        "everywhere": world.installation.scope,
        "research": world.department.scope,
        "vision": world.vision.scope,
        "nlp": world.nlp.scope,
        "nowhere": None,
    }
    return {
        name: record(
            actor=actor if name != "nowhere" else None,
            action="project.edit" if name != "nlp" else "workload.delete",
            object_type="project",
            object_id=str(number),
            object_name=name,
            scope=scope,
            result="ok" if name != "research" else "denied",
            detail={"gpus": {"from": 1, "to": 2}, "token": CANARY},
            at=now - timedelta(hours=number),
        )
        for number, (name, scope) in enumerate(scopes.items())
    }


def test_every_action_that_can_be_stored_has_a_word_of_its_own_in_the_filter(world: World) -> None:
    choices = dict(get("audit").choices(world.people["administrator"])["action"])
    assert choices.keys() == set(actions.known())
    assert len(set(choices.values())) == len(choices)
    assert not [word for word in choices.values() if "_" in word or ":" in word]


def listed(client: Client, **query: str) -> list[str]:
    answer: Any = client.get("/settings/audit.csv", query)
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["Result"] for row in rows} <= set(RESULTS.values()), "as the page says it"
    return [row["Object"] for row in rows]


@pytest.mark.parametrize(
    ("person", "seen"),
    [
        ("administrator", {"everywhere", "research", "vision", "nlp", "nowhere"}),
        ("head", {"research", "vision", "nlp"}),
        ("project_administrator-vision", {"vision"}),
        ("researcher-vision", set()),
        ("stranger", set()),
    ],
)
def test_everyone_sees_the_entries_of_their_scopes(
    world: World, entries: dict[str, AuditEntry], person: str, seen: set[str]
) -> None:
    client = browser(world, person)
    assert set(listed(client)) & set(entries) == seen
    rows = api(world, person, numberOfSamples=100)["audit_logs"]
    assert {one["entity_name"] for one in rows} & set(entries) == seen
    for name, entry in entries.items():
        code = client.get(f"/settings/audit/{entry.pk}").status_code
        assert code == (200 if name in seen else 404), name


@pytest.mark.parametrize(
    ("query", "seen"),
    [
        ({"person": "researcher"}, {"everywhere", "research", "vision", "nlp"}),
        ({"type": "workload"}, {"nlp"}),
        ({"action": "workload.delete"}, {"nlp"}),
        ({"result": "denied"}, {"research"}),
        ({"object": "visi"}, {"vision"}),
        ({"q": "nowhere"}, {"nowhere"}),
        ({"at_to": "2020-01-01"}, set()),
    ],
)
def test_filters(
    world: World, entries: dict[str, AuditEntry], query: dict[str, str], seen: set[str]
) -> None:
    assert set(listed(browser(world), **query)) == seen


def test_a_scope_holds_what_lies_below_it(world: World, entries: dict[str, AuditEntry]) -> None:
    below = listed(browser(world), scope=str(world.department.scope_id))
    assert set(below) == {"research", "vision", "nlp"}


def test_an_entry_shows_before_and_after_and_no_secret(
    world: World, entries: dict[str, AuditEntry]
) -> None:
    page = browser(world).get(f"/settings/audit/{entries['vision'].pk}").content.decode()
    assert 'data-fact="Before"><code>1</code>' in page
    assert 'data-fact="After"><code>2</code>' in page
    assert CANARY not in page
    assert CANARY not in str(api(world))


def test_a_page_tells_the_last_changes_of_its_object(world: World) -> None:
    department = get("department")
    for number in range(6):
        services.update(
            department,
            actor=world.actor("administrator"),
            obj=world.department,
            values={"description": f"number {number}"},
        )
    page = browser(world).get(department.url(world.department)).content.decode()
    assert page.count(": description") == 5
    assert "/settings/audit?" in page
    assert "Edit: description" not in browser(world, "viewer-vision").get(
        department.url(world.department)
    ).content.decode()  # fmt: skip


# The API


def api(world: World, person: str = "administrator", path: str = "", **query: Any) -> Any:
    now = db_now()
    given = {
        "start": (now - timedelta(days=1)).isoformat(),
        "end": (now + timedelta(hours=1)).isoformat(),
        **query,
    }
    answer = Client().get(
        f"/api/v1/audit/log{path}",
        {name: value for name, value in given.items() if value is not None},
        headers=world.headers(person),
    )
    if answer.status_code != 200 or path:
        return answer
    return answer.json()


def test_programs_page_through_the_log(world: World, entries: dict[str, AuditEntry]) -> None:
    body = api(world, numberOfSamples=2, filterBy="entity_type==project")
    assert (body["total"], body["next"], len(body["audit_logs"])) == (5, 2, 2)
    row = body["audit_logs"][0]
    assert (row["subject"], row["subject_type"], row["source_ip"]) == (
        "researcher-vision", "User", "192.0.2.7",
    )  # fmt: skip
    assert (row["action"], row["result"], row["entity_name"]) == (
        "update", "Succeeded", "everywhere",
    )  # fmt: skip
    assert row["metadata"]["gpus"] == "1 → 2"
    last = api(world, numberOfSamples=2, offset=4, filterBy="entity_type==project")
    assert "next" not in last
    assert last["audit_logs"][0]["subject_type"] == "App"


@pytest.mark.parametrize(
    ("condition", "seen"),
    [
        ("action==delete", {"nlp"}),
        ("result==Failed", {"research"}),
        ("cluster_name==this-machine", {"research", "vision", "nlp"}),
        ("subject==system", {"nowhere"}),
        ("subject_type==App", {"nowhere"}),
        ("entity_name=@visi", {"vision"}),
    ],
)
def test_programs_filter_the_log(
    world: World, entries: dict[str, AuditEntry], condition: str, seen: set[str]
) -> None:
    rows = api(world, filterBy=f"{condition},entity_type==project")["audit_logs"]
    assert {one["entity_name"] for one in rows} == seen


@pytest.mark.parametrize(
    "query",
    [
        {"start": None},
        {"end": None},
        {"start": "yesterday"},
        {"start": "2020-01-01T00:00:00Z"},
        {"end": "2020-01-01T00:00:00Z"},
        {"numberOfSamples": 1001},
        {"offset": -1},
        {"sortBy": "colour"},
        {"filterBy": "colour==red"},
        {"colour": "red"},
    ],
)
def test_bad_queries_are_refused(world: World, query: dict[str, Any]) -> None:
    assert api(world, **query).status_code == 400


def test_the_log_as_a_file(world: World, entries: dict[str, AuditEntry]) -> None:
    answer = api(world, path="/file", filterBy="entity_type==project", fileType="CSV")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["entity_name"] for row in rows] == list(entries)
    answer = api(world, path="/file", filterBy="entity_type==project", file_type="JSON")
    assert [row["entity_name"] for row in json.loads(answer.content)] == list(entries)
    assert api(world, path="/file", file_type="XML").status_code == 400
