"""The WebSocket of a page: who is let in, what it hears, and how it is kept from drowning."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import psutil
import pytest
from django.contrib.sessions.models import Session

from gangline.access.models import AccessRule
from gangline.accounts.models import User
from gangline.accounts.services import rights_changed
from gangline.live import consumers, hub, notify
from tests.support.engine import new_workload
from tests.support.sockets import Socket, in_database, page_of
from tests.support.world import IMAGE, World, make_world
from workloads.live import WorkloadListFeed
from workloads.models import ScopeSeq, Workload
from workloads.services import intents

pytestmark = pytest.mark.django_db(transaction=True)
VALUES = {"image": IMAGE, "command": "python train.py"}


@dataclass
class Place:
    """Two projects with two workloads each, and what people do to them."""

    world: World
    vision: list[str]
    nlp: list[str]

    @property
    def researcher(self) -> User:
        return self.world.people["researcher-vision"]

    async def toggle(self, workload_id: str) -> None:
        """One change that everybody who may see it is told of."""
        await in_database(_toggle, workload_id)


def _toggle(workload_id: str) -> None:
    row = Workload.objects.get(pk=workload_id)
    act = intents.resume if row.desired == "Stopped" else intents.stop
    act(workload_id=row.pk, by="somebody")


def _make() -> Place:
    world = make_world()
    made = {}
    for project in (world.vision, world.nlp):
        owner = world.people[f"researcher-{project.name}"]
        made[project.name] = [
            str(new_workload(name=f"{project.name}-{n}", project=project, owner=owner,
                             values=VALUES).pk)
            for n in range(2)
        ]  # fmt: skip
    return Place(world, made["vision"], made["nlp"])


@pytest.fixture
async def place(transactional_db: None) -> AsyncIterator[Place]:
    yield await in_database(_make)
    await hub.stop()


def ids_of(frame: dict[str, Any]) -> set[str]:
    return {item["id"] for item in frame["items"]}


async def test_a_page_is_welcomed_told_and_told_on(place: Place) -> None:
    async with page_of(place.researcher) as page:
        welcome = await page.hello(ids=place.vision)
        scope = str(place.world.vision.pk)
        assert list(welcome["heads"]) == [scope], "only projects that the person may see"
        await place.toggle(place.vision[0])
        first = await page.delta()
        assert first["from"] == welcome["heads"]
        assert first["to"][scope] == welcome["heads"][scope] + 1
        assert ids_of(first) == {place.vision[0]}
        assert "Stop" in first["items"][0]["cells"]["status"]
        await page.say(type="ack")
        await place.toggle(place.vision[1])
        second = await page.delta()
        assert second["from"] == first["to"]
        assert ids_of(second) == {place.vision[1]}


async def test_what_a_person_may_not_see_is_not_told(place: Place) -> None:
    async with page_of(place.researcher) as page:
        await page.hello(ids=[*place.vision, *place.nlp])
        await place.toggle(place.nlp[0])
        assert await page.hears_nothing()
        await place.toggle(place.vision[0])
        assert ids_of(await page.delta()) == {place.vision[0]}


@pytest.mark.parametrize(
    "changes",
    [
        {"feed": "secrets"},
        {"feed": None},
        {"query": 7},
        {"query": "q" * 4001},
        {"since": "yesterday"},
        {"since": "2026-01-01T00:00:00"},
        {"since": "0001-01-01T00:00:00+23:59"},
        {"since": "9999-12-31T23:59:59-23:59"},
        {"ids": "all"},
        {"ids": ["not-an-id"]},
        {"ids": ["x"] * 201},
        {"feed": "workload", "query": "00000000-0000-4000-8000-000000000000/overview"},
        {"feed": "workload", "query": "../../etc/passwd"},
    ],
)
async def test_a_hello_that_makes_no_sense_is_refused(
    place: Place, changes: dict[str, Any]
) -> None:
    async with page_of(place.researcher) as page:
        answer = await page.hello(**changes)
        assert answer["type"] == "refused"
        assert answer["message"].endswith(".")
        assert await page.close_code() == consumers.FORBIDDEN


async def test_a_workload_of_another_project_cannot_be_followed(place: Place) -> None:
    async with page_of(place.researcher) as page:
        answer = await page.hello(feed="workload", query=f"{place.nlp[0]}/overview")
        assert answer["type"] == "refused"
    async with page_of(place.researcher) as page:
        answer = await page.hello(feed="workload", query=f"{place.vision[0]}/overview")
        assert answer["type"] == "welcome"
        await place.toggle(place.vision[0])
        (item,) = (await page.delta())["items"]
        parts = {"title", "actions", "facts", "note", "timeline", "tools", "pods", "usage"}
        assert set(item["cells"]) == parts


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example.org",
        None,
        "https://127.0.0.1:8000",
        "http://127.0.0.1:8000.evil.example.org",
        "http://[::1",
    ],
)
async def test_pages_of_other_origins_are_refused(place: Place, origin: str | None) -> None:
    """security N 123."""
    with pytest.raises(ConnectionRefusedError):
        async with page_of(place.researcher, origin=origin):
            pass


async def test_the_signed_out_are_refused(place: Place) -> None:
    with pytest.raises(ConnectionRefusedError):
        async with page_of(None):
            pass


async def test_at_most_two_frames_are_on_their_way(place: Place) -> None:
    async with page_of(place.researcher) as page:
        await page.hello(ids=place.vision)
        await place.toggle(place.vision[0])
        first = await page.delta()
        await place.toggle(place.vision[0])
        second = await page.delta()
        await place.toggle(place.vision[0])
        await place.toggle(place.vision[1])
        assert await page.hears_nothing(), "two frames wait to be drawn"
        await page.say(type="ack")
        third = await page.delta()
        assert third["from"] == second["to"] != first["to"]
        assert ids_of(third) == set(place.vision), "what came meanwhile is gathered in one frame"


async def test_a_page_that_never_draws_is_closed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "ACK_SECONDS", 0.2)
    monkeypatch.setattr(consumers, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(consumers, "HELLO_SECONDS", 0.3)
    async with page_of(place.researcher) as page:
        await page.hello(ids=place.vision)
        await place.toggle(place.vision[0])
        await page.delta()
        assert await page.close_code() == consumers.SLOW


@pytest.mark.thorough
async def test_f48_of_fifty_pages_one_never_draws_and_the_others_hear_everything(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pages' half of the burst; the cluster's half is in test_kubernetes_watch_faults."""
    monkeypatch.setattr(consumers, "ACK_SECONDS", 1.0)
    monkeypatch.setattr(consumers, "BEAT_SECONDS", 0.1)
    memory, scope = psutil.Process().memory_info().rss, place.world.vision.pk
    stands: dict[int, object] = {}

    async def draw(page: Socket, number: int) -> None:
        while True:
            stands[number] = (await page.delta(seconds=120))["to"]
            await page.say(type="ack")

    async with AsyncExitStack() as opened:
        pages = [await opened.enter_async_context(page_of(place.researcher)) for _ in range(50)]
        welcomes = [await page.hello(ids=place.vision) for page in pages]
        slow, *fast = pages
        drawing = [asyncio.create_task(draw(page, n)) for n, page in enumerate(fast)]
        for number in range(100):
            await place.toggle(place.vision[number % 2])
        head = {str(scope): (await in_database(ScopeSeq.objects.get, project_id=scope)).seq}
        async with asyncio.timeout(10):
            while stands != dict.fromkeys(range(49), head):
                await asyncio.sleep(0.05)
        for task in drawing:
            task.cancel()
        assert await slow.close_code() == consumers.SLOW
        back = await opened.enter_async_context(page_of(place.researcher))
        await back.hello(ids=place.vision, after=welcomes[0]["heads"])
        frame = await back.delta()
        assert (frame["to"], ids_of(frame)) == (head, set(place.vision))
    assert psutil.Process().memory_info().rss - memory < 150 << 20


async def test_a_page_that_says_nothing_is_closed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "HELLO_SECONDS", 0.1)
    async with page_of(place.researcher) as page:
        assert await page.close_code() == consumers.NONSENSE


async def test_a_page_hears_a_heartbeat(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(consumers, "HELLO_SECONDS", 0.2)
    async with page_of(place.researcher) as page:
        await page.hello()
        assert await page.hear("beat")
        assert await page.hear("beat")


async def test_a_page_that_acknowledges_every_frame_of_a_second_is_no_flood(place: Place) -> None:
    async with page_of(place.researcher) as page:
        await page.hello(ids=place.vision)
        for _ in range(int(1.5 / hub.GATHER_SECONDS)):
            await page.say(type="ack")
        await place.toggle(place.vision[0])
        assert ids_of(await page.delta()) == {place.vision[0]}


async def test_a_flood_is_closed_and_others_hear_on(place: Place) -> None:
    """security N 125."""
    async with page_of(place.researcher) as calm, page_of(place.researcher) as flooding:
        await calm.hello(ids=place.vision)
        await flooding.hello(ids=place.vision)
        for _ in range(consumers.MESSAGES_PER_SECOND + 5):
            await flooding.say(type="ack")
        assert await flooding.close_code() == consumers.FLOOD
        await place.toggle(place.vision[0])
        assert ids_of(await calm.delta()) == {place.vision[0]}


@pytest.mark.parametrize(
    "message",
    [
        {"text": ""},
        {"text": "{"},
        {"text": "7"},
        {"text": '{"type": "sudo"}'},
        {"text": '{"type": ["hello"]}'},
        {"text": "[" * 50_000},
        {"text": '{"type": "hello", "query": "' + "x" * (10 << 20) + '"}'},
        {"data": b"\xff\xfe\x00"},
    ],
    ids=["empty", "cut", "number", "unknown", "list", "deep", "ten MiB", "bytes"],
)
async def test_nonsense_is_closed(place: Place, message: dict[str, Any]) -> None:
    """security N 125."""
    async with page_of(place.researcher) as page:
        await page.send(**message)
        assert await page.close_code() == consumers.NONSENSE


async def test_a_page_that_missed_something_asks_again(place: Place) -> None:
    """Saying hello once more, from where it stands, brings what lies between."""
    async with page_of(place.researcher) as page:
        welcome = await page.hello(ids=place.vision)
        for workload_id in place.vision:
            await place.toggle(workload_id)
            await page.delta()
            await page.say(type="ack")
        await page.hello(ids=place.vision, after=welcome["heads"])
        again = await page.delta()
        assert again["from"] == welcome["heads"]
        assert ids_of(again) == set(place.vision)


async def test_a_page_ahead_of_a_restored_database_starts_from_its_head(place: Place) -> None:
    scope = str(place.world.vision.pk)
    async with page_of(place.researcher) as page:
        welcome = await page.hello(ids=place.vision, after={scope: 10**9})
        await place.toggle(place.vision[0])
        assert (await page.delta())["from"] == welcome["heads"]


async def test_equal_pages_share_one_computation(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R12: once per view, not once per socket."""
    computed: list[object] = []
    original = WorkloadListFeed.delta

    def counted(self: WorkloadListFeed, view: Any, after: Any) -> Any:
        computed.append(view)
        return original(self, view, after)

    monkeypatch.setattr(WorkloadListFeed, "delta", counted)
    since = "2026-01-01T00:00:00+00:00"
    pages: list[Socket] = []
    async with page_of(place.researcher) as one, page_of(place.researcher) as two:
        pages += [one, two]
        for page in pages:
            await page.hello(ids=place.vision, since=since)
        await place.toggle(place.vision[0])
        frames = [await page.delta() for page in pages]
        assert frames[0] == frames[1]
        assert len(computed) == 1
        async with page_of(place.researcher) as other:
            await other.hello(ids=place.vision, since=since, query="status=running")
            for page in pages:
                await page.say(type="ack")
            await place.toggle(place.vision[0])
            await asyncio.gather(*(page.delta() for page in [*pages, other]))
        assert len(computed) == 3, "another query is another view"


async def test_a_view_that_fails_silences_no_other(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = WorkloadListFeed.delta

    def failing(self: WorkloadListFeed, view: Any, after: Any) -> Any:
        if view.data.query.search == "broken":
            raise ZeroDivisionError
        return original(self, view, after)

    monkeypatch.setattr(WorkloadListFeed, "delta", failing)
    async with page_of(place.researcher) as broken, page_of(place.researcher) as sound:
        await broken.hello(ids=place.vision, query="q=broken")
        await sound.hello(ids=place.vision)
        for _ in range(3):
            await place.toggle(place.vision[0])
            assert ids_of(await sound.delta()) == {place.vision[0]}
            await sound.say(type="ack")


async def test_a_filter_that_nothing_passes_counts_nothing(place: Place) -> None:
    async with page_of(place.researcher) as page:
        await page.hello(ids=place.vision, query="framework=nonsense")
        await place.toggle(place.vision[0])
        frame = await page.delta()
        assert set(frame["counts"].values()) == {"0"}


async def test_a_lost_doorbell_costs_one_poll(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R12: the hub reads the heads itself."""
    monkeypatch.setattr(hub, "POLL_SECONDS", 0.4)
    monkeypatch.setattr(notify, "announce", lambda project, seq: None)
    async with page_of(place.researcher) as page:
        await page.hello(ids=place.vision)
        await place.toggle(place.vision[0])
        frame = await page.delta(seconds=3)
        assert ids_of(frame) == {place.vision[0]}


async def test_a_lost_right_ends_the_page_at_the_next_poll(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """security N 126, for pages; whoever comes back follows only what they may still see."""
    monkeypatch.setattr(hub, "POLL_SECONDS", 0.2)
    monkeypatch.setattr(consumers, "HELLO_SECONDS", 60)  # no beat, and so no look at the session
    async with (
        page_of(place.researcher) as page,
        page_of(place.world.people["viewer-vision"]) as other,
    ):
        await page.hello(ids=place.vision)
        await other.hello()
        await in_database(_lose_role, place.researcher)
        assert await page.close_code() == consumers.CHANGED
        assert await other.hears_nothing()
    async with page_of(place.researcher) as page:
        welcome = await page.hello(ids=place.vision)
        assert welcome["heads"] == {}
        await place.toggle(place.vision[0])
        assert await page.hears_nothing()


async def test_a_session_that_ended_closes_the_page(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.1)
    monkeypatch.setattr(consumers, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(consumers, "HELLO_SECONDS", 0.2)
    async with page_of(place.researcher) as page:
        await page.hello(ids=place.vision)
        await in_database(Session.objects.all().delete)
        assert await page.close_code() == consumers.FORBIDDEN


def _lose_role(user: User) -> None:
    AccessRule.objects.filter(user=user).delete()
    rights_changed(user.pk)
