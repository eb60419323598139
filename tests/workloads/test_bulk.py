"""An action on all that a list shows: ids are frozen, rights are those of the moment, once each."""

import signal
from uuid import UUID, uuid4

import pytest
from django.db.models import QuerySet
from django.test import Client

from gangline.access.actor import Actor
from gangline.access.models import AccessRule
from gangline.audit import actions
from gangline.audit.models import AuditEntry
from tests.support.api import ApiClient
from tests.support.engine import worker
from tests.support.world import World, copies, make_world
from workloads.models import BulkAction, Workload
from workloads.services import bulk, lifecycle
from workloads.statuses import ENDED, statuses_with

pytestmark = pytest.mark.django_db
PERSON = "researcher-vision"


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@pytest.fixture
def ids(world: World) -> list[str]:
    client = ApiClient(world, PERSON)
    names = [f"digits-{n}" for n in range(4)]
    for name in names:
        assert client.post("workloads/distributed", world.spec_body(name)).status_code == 202
    return names


def rows(world: World) -> QuerySet[Workload]:
    return Workload.objects.filter(project=world.vision)


def states(action: BulkAction) -> list[str]:
    return list(action.items.order_by("workload__name").values_list("state", flat=True))


def test_what_is_frozen_is_done_once_and_by_the_rights_of_the_moment(
    world: World, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    actor, key = world.actor(PERSON), uuid4()
    made = bulk.begin(actor=actor, key=key, action="stop", rows=rows(world))
    again = bulk.begin(actor=actor, key=key, action="stop", rows=rows(world).none())
    assert (again.pk, made.total) == (made.pk, 4)
    late = ApiClient(world, PERSON).post("workloads/distributed", world.spec_body("late"))
    assert late.status_code == 202
    Workload.objects.filter(name="digits-1").update(status="Completed", phase="Completed")
    monkeypatch.setattr(bulk, "ROWS_A_TURN", 2)
    bulk.turn()
    done = Workload.objects.get(name="digits-0")
    assert (done.desired, done.desired_gen) == ("Stopped", 2)
    AccessRule.objects.filter(user=world.people[PERSON]).delete()
    while bulk.is_due():
        bulk.turn()
    made.refresh_from_db()
    assert made.due_at is None
    assert states(made).count("ok") + states(made).count("skipped") == 4
    assert states(made)[2:] == ["skipped", "skipped"], "what one may not see is not there"
    assert Workload.objects.get(name="digits-3").desired == "Running"
    assert Workload.objects.get(name="late").desired == "Running"


def test_nothing_is_begun_for_too_many(
    world: World, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MOST", 3)
    with pytest.raises(bulk.TooMany):
        bulk.begin(actor=world.actor(PERSON), key=uuid4(), action="stop", rows=rows(world))
    assert not BulkAction.objects.exists()


def test_the_page_counts_begins_and_tells_only_its_owner(
    world: World, ids: list[str], client: Client
) -> None:
    client.force_login(world.people[PERSON])
    since = client.get("/workloads").context["live_since"]
    posted = {"action": "stop", "all": "1", "address": "q=digits-1", "since": since}
    question = client.post("/workloads/bulk", posted).context["question"]
    assert "1 workload" in question.title
    sure = dict(question.fields())
    result = client.post("/workloads/bulk", sure, follow=True)
    twice = client.post("/workloads/bulk", sure, follow=True)
    assert result.redirect_chain == twice.redirect_chain
    made = BulkAction.objects.get()
    assert made.total == 1
    bulk.turn()
    address = f"/workloads/actions/{made.pk}"
    assert client.get(address).context["counts"]["ok"] == 1
    client.force_login(world.people["administrator"])
    assert client.get(address).status_code == 404
    assert client.post("/workloads/bulk", posted | {"since": "x"}).status_code == 400


def test_all_is_all_that_the_person_may_see(world: World, ids: list[str], client: Client) -> None:
    """However the address is widened by hand, and whatever the person may stop elsewhere."""
    other = ApiClient(world, "researcher-nlp")
    body = {**world.spec_body("digits-nlp"), "projectId": str(world.nlp.pk)}
    assert other.post("workloads/distributed", body).status_code == 202
    for person, seen in ((PERSON, 4), ("researcher-nlp", 1), ("stranger", 0)):
        client.force_login(world.people[person])
        since = client.get("/workloads").context["live_since"]
        wide = f"q=digits&project={world.vision.pk}&project={world.nlp.pk}"
        posted = {"action": "stop", "all": "1", "address": wide, "since": since}
        answer = client.post("/workloads/bulk", posted)
        if seen:
            sure = dict(answer.context["question"].fields())
            client.post("/workloads/bulk", {**sure, "address": wide})
        made = BulkAction.objects.filter(actor=world.people[person]).first()
        assert (made.total if made else 0) == seen, person
    bulk.turn()
    bulk.turn()
    assert Workload.objects.get(name="digits-nlp").desired == "Stopped"
    own = BulkAction.objects.get(actor=world.people[PERSON]).items
    assert {one.workload.project_id for one in own.select_related("workload")} == {world.vision.pk}


def test_a_row_that_breaks_is_told_and_holds_up_nobody(
    world: World, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Workload.objects.get(name="digits-1").pk

    def stop(*, actor: Actor, workload_id: UUID) -> Workload:
        stopped = lifecycle.stop(actor=actor, workload_id=workload_id)
        if workload_id == broken:
            raise LookupError("a bug")
        return stopped

    monkeypatch.setitem(bulk.VERBS, "stop", stop)
    made = bulk.begin(actor=world.actor(PERSON), key=uuid4(), action="stop", rows=rows(world))
    bulk.turn()
    made.refresh_from_db()
    assert (made.due_at, states(made)) == (None, ["ok", "refused", "ok", "ok"])
    assert Workload.objects.get(pk=broken).desired == "Running"


def test_the_question_tells_what_a_deletion_ends(
    world: World, ids: list[str], client: Client
) -> None:
    """For each status alone, and counted on both ways to choose several."""
    client.force_login(world.people["administrator"])
    one, *_ = found = list(rows(world).order_by("name"))
    texts = {}
    for status in statuses_with("delete"):
        rows(world).filter(pk=one.pk).update(status=status)
        texts[status] = client.get(f"/workloads/{one.pk}/delete").context["question"].text
    plain = texts["Completed"]
    assert {status for status, text in texts.items() if text == plain} == ENDED
    running = {status for status, text in texts.items() if "is running" in text}
    assert running == {"Running", "Degraded", "Initializing"}
    assert not [text for status, text in texts.items() if status == "Stopping" and "will" in text]
    for workload, status in zip(found, ("Running", "Running", "Pending", "Completed"), strict=True):
        rows(world).filter(pk=workload.pk).update(status=status)
    since = client.get("/workloads").context["live_since"]
    checked = {"action": "delete", "id": [str(one.pk) for one in found]}
    everything = {"action": "delete", "all": "1", "address": "q=digits", "since": since}
    for posted in (checked, everything):
        text = client.post("/workloads/bulk", posted).context["question"].text
        assert "2 running workloads will be stopped. 1 that is waiting will not start." in text


@pytest.mark.parametrize(("verb", "point"), [("stop", "before"), ("delete", "after")])
@pytest.mark.parametrize(
    ("count", "killed"),
    [(60, 25), pytest.param(4000, 1500, marks=pytest.mark.thorough)],
)
def test_killed_in_the_middle_it_is_done_once_each(
    transactional_db: None, client: Client, count: int, killed: int, verb: str, point: str
) -> None:
    """All rows that match are chosen on the page; who carries it out dies at one of them."""
    world = make_world()
    sent = ApiClient(world, PERSON).post("workloads/distributed", world.spec_body("copy"))
    copies(Workload.objects.get(pk=sent.json()["workloadId"]), count - 1)
    client.force_login(world.people[PERSON])
    since = client.get("/workloads").context["live_since"]
    posted = {"action": verb, "all": "1", "address": "q=copy", "since": since}
    sure = dict(client.post("/workloads/bulk", posted).context["question"].fields())
    address = client.post("/workloads/bulk", sure)["Location"]
    assert client.get(address).context["made"].total == count

    with worker("bulk", fail_points=f"bulk.{point}_commit:kill@{killed}") as first:
        assert first.wait(120) == -signal.SIGKILL
    counts = client.get(address).context["counts"]
    assert counts["ok"] == killed - (point == "before")
    assert sum(counts.values()) == count

    with worker("bulk") as second:
        assert second.wait(300) == 0
    counts = client.get(address).context["counts"]
    assert counts == {"ok": count, "waiting": 0, "skipped": 0, "refused": 0}
    assert set(Workload.objects.values_list("desired_gen", flat=True)) == {2}
    asked = getattr(actions, f"WORKLOAD_{verb.upper()}")
    named = list(AuditEntry.objects.filter(action=asked).values_list("object_id", flat=True))
    assert len(named) == len(set(named)) == count
