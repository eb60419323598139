"""An action on all that a list shows: ids are frozen, rights are those of the moment, once each."""

from uuid import uuid4

import pytest
from django.db.models import QuerySet
from django.test import Client

from gangline.access.models import AccessRule
from tests.support.api import ApiClient
from tests.support.world import World, make_world
from workloads.models import BulkAction, Workload
from workloads.services import bulk

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
