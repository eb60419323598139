"""A terminal from the ticket to the shell in a real pod of this machine, and who gets none."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from gangline.access.models import AccessRule
from gangline.accounts.models import User
from gangline.audit.models import AuditEntry
from gangline.clusters.connections import driver_for
from gangline.config.env import env
from gangline.db.clock import db_now
from gangline.drivers.base import AttemptRef, ObservedState, ReplicaPlacement
from gangline.drivers.local.shim import tree
from tests.support.api import ApiClient
from tests.support.engine import current_attempt, new_workload
from tests.support.local_cluster import processes_of
from tests.support.sockets import SEND, Socket, in_database, page_of
from tests.support.waiting import wait_for
from tests.support.world import World, make_world
from workloads import refs
from workloads.models import Replica, Terminal, Workload
from workloads.terminals import consumer, session, tickets
from workloads.terminals import open as terminals

pytestmark = pytest.mark.django_db(transaction=True)
PAGE, API = "/terminals", "/api/v1/terminals"


@dataclass
class Place:
    """A workload of ``researcher-vision`` whose one pod sleeps."""

    world: World
    workload: Workload
    ref: AttemptRef
    cookies: dict[str, bytes] = field(default_factory=dict)
    clients: dict[str, Client] = field(default_factory=dict)

    def client(self, person: str) -> Client:
        """Signed in as a browser is, once."""
        if person not in self.clients:
            client = self.world.client(person)
            name = next(iter(client.cookies))
            self.cookies[person] = f"{name}={client.cookies[name].value}".encode()
            self.clients[person] = client
        return self.clients[person]

    def exec_path(self, pod: str = "worker-0") -> str:
        return f"workloads/{self.workload.pk}/pods/{pod}/exec"

    def post(self, person: str, pod: str = "worker-0", **body: Any) -> Any:
        client = self.client(person)
        return client.post(f"/api/v1/{self.exec_path(pod)}", body, content_type="application/json")

    def ticket(self, person: str = "researcher-vision", **body: Any) -> str:
        answer = self.post(person, **body)
        assert answer.status_code == 201, answer.content
        assert answer.json()["url"].endswith(PAGE)
        return str(answer.json()["ticket"])


def _make() -> Place:
    world = make_world()
    workload = new_workload(
        name="shells",
        project=world.vision,
        owner=world.people["researcher-vision"],
        values={"image": "local://system", "command": "sleep 600"},
    )
    attempt = current_attempt(workload)
    slot = ReplicaPlacement("worker", 0, 0, 0.5, 10_000_000, (), (16_300,))
    ref = replace(refs.attempt_ref(workload, attempt), placement=(slot,))
    driver = driver_for(world.cluster)
    driver.create(ref)
    wait_for(lambda: driver.observe(ref).state is ObservedState.RUNNING)
    Workload.objects.filter(pk=workload.pk).update(status="Running", phase="Running")
    Replica.objects.create(attempt=attempt, role="worker", index=0, rank=0, state="Running")
    return Place(world, workload, ref)


@pytest.fixture
async def place(transactional_db: None) -> AsyncIterator[Place]:
    made = await in_database(_make)
    yield made
    await terminals.close_all()
    await in_database(_end, made)


def _end(place: Place) -> None:
    driver = driver_for(place.world.cluster)
    driver.delete(replace(place.ref, grace_seconds=0))
    wait_for(lambda: driver.observe(place.ref).state is ObservedState.ABSENT)
    wait_for(lambda: not processes_of(place.ref))


class Screen:
    """The browser's, or a program's, end of one terminal."""

    def __init__(self, socket: Socket) -> None:
        self.socket, self.out, self.opened = socket, {1: b"", 2: b""}, {}  # type: ignore[var-annotated]

    async def open(self, ticket: str, **more: Any) -> dict[str, Any]:
        await self.socket.say(type="open", ticket=ticket, columns=100, rows=30, **more)
        self.opened = await self.socket.hear("opened", "refused", seconds=15)
        return self.opened

    async def type(self, text: str | bytes) -> None:
        await self.socket.send(data=b"\0" + (text.encode() if isinstance(text, str) else text))

    async def until(
        self, text: bytes = b"", stream: int = 1, seconds: float = 15
    ) -> dict[str, Any]:
        """Until ``text`` is shown; without one until the end, which is returned."""
        deadline = time.monotonic() + seconds
        while not text or text not in self.out[stream]:
            event = await self.socket.communicator.receive_output(deadline - time.monotonic())
            assert event["type"] == SEND, (event, self.out)
            if event.get("bytes"):
                self.out[event["bytes"][0]] += event["bytes"][1:]
            elif text == b"":
                return dict(json.loads(event["text"]))
        return {}

    @property
    def received(self) -> int:
        return sum(map(len, self.out.values()))


async def audited(action: str) -> list[AuditEntry]:
    rows = AuditEntry.objects.filter(action=action).order_by("pk")
    return [row async for row in rows]


async def test_a_page_opens_types_sees_resizes_and_ends(place: Place) -> None:
    owner = place.world.people["researcher-vision"]
    ticket = await in_database(place.ticket)
    async with page_of(owner, path=PAGE, cookie=place.cookies["researcher-vision"]) as socket:
        screen = Screen(socket)
        assert (await screen.open(ticket))["pod"] == "worker-0"
        await screen.type("stty size; echo id=$((40 + 2))\r")
        await screen.until(b"id=42")
        assert b"30 100" in screen.out[1]
        await socket.say(type="resize", columns=64, rows=11)
        await screen.type("stty size; secret-word\r")
        await screen.until(b"11 64")
        await screen.type("exit 3\r")
        end = await screen.until()
        assert (end["type"], end["code"]) == ("exit", 3)
        assert await socket.close_code() == consumer.ENDED
    await in_database(wait_for, lambda: not Terminal.objects.exists())
    [opened] = await audited("workload.terminal_open")
    [closed] = await audited("workload.terminal_close")
    assert opened.detail == {"pod": "worker-0", "attempt": 1, "program": "shell"}
    assert closed.detail["exitCode"] == 3
    assert closed.detail["seconds"] > 0
    assert "secret-word" not in str(opened.detail) + str(closed.detail)


async def test_a_key_interrupts_what_runs(place: Place) -> None:
    ticket = await in_database(place.ticket)
    owner = place.world.people["researcher-vision"]
    async with page_of(owner, path=PAGE, cookie=place.cookies["researcher-vision"]) as socket:
        screen = Screen(socket)
        await screen.open(ticket)
        # One process says it and sleeps: bash loses a key between its own fork and exec.
        await screen.type("sh -c 'echo $((40 + 2))-begun; exec sleep 600'\r")
        await screen.until(b"42-begun")
        await screen.type("\x03echo $((50 + 5))-after\r")
        await screen.until(b"55-after")


async def test_a_program_runs_a_command_with_its_streams_and_its_exit_code(place: Place) -> None:
    client = await in_database(ApiClient, place.world, "researcher-vision")
    words = ["sh", "-c", "cat; echo bad >&2; exit 7"]
    answer = await in_database(
        client.post, place.exec_path("shells-worker-0"), {"command": words, "tty": False}
    )
    assert answer.status_code == 201, answer.content
    assert answer.json()["url"] == "ws://testserver/api/v1/terminals"
    async with page_of(None, origin=None, path=API) as socket:
        screen = Screen(socket)
        await screen.open(answer.json()["ticket"])
        for _ in range(40):
            await screen.type(b"x" * 10_000)
        await socket.say(type="eof")
        end = await screen.until()
        assert screen.out == {1: b"x" * 400_000, 2: b"bad\n"}
        assert (end["type"], end["code"]) == ("exit", 7)
    [opened] = await audited("workload.terminal_open")
    assert opened.detail["program"] == "sh"
    assert opened.token_kid


async def test_a_lost_connection_goes_on_where_it_was_and_a_new_page_sees_the_last_again(
    place: Place,
) -> None:
    owner, cookie = place.world.people["researcher-vision"], place.cookies
    ticket = await in_database(place.ticket)
    async with page_of(owner, path=PAGE, cookie=cookie["researcher-vision"]) as socket:
        first = Screen(socket)
        await first.open(ticket, acks=True)
        await first.type("mark=here; echo before-$mark\r")
        await first.until(b"before-here")
        await first.type("sleep 0.3; echo away-$mark\r")
    await asyncio.sleep(0.5)
    resume = {"type": "resume", "id": first.opened["id"], "key": first.opened["key"]}
    async with AsyncExitStack() as stack:
        sockets = [
            await stack.enter_async_context(
                page_of(owner, path=PAGE, cookie=cookie["researcher-vision"])
            )
            for _ in range(2)
        ]
        again, anew = map(Screen, sockets)
        again.out[1] = first.out[1]
        await sockets[0].say(**resume, received=first.received, acks=True)
        again.opened = await sockets[0].hear("opened", "refused")
        assert again.opened["offset"] == first.received
        await again.until(b"away-here")
        assert again.out[1].count(b"before-here") == 1
        # The page was loaded again elsewhere: it sees all of it, and the other one is told.
        await sockets[1].say(**resume | {"key": again.opened["key"]}, received=0)
        await anew.until(b"away-here")
        assert b"before-here" in anew.out[1]
        assert (await sockets[0].hear("refused"))["message"] == consumer.TAKEN
        assert await sockets[0].close_code() == consumer.ELSEWHERE
        # A key is good for one return.
        async with page_of(owner, path=PAGE, cookie=cookie["researcher-vision"]) as late:
            await late.say(**resume, received=0)
            assert await late.close_code() == consumer.ELSEWHERE


async def test_who_does_not_come_back_loses_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminals, "AWAY_SECONDS", 0.1)
    monkeypatch.setattr(terminals, "LOOK_SECONDS", 0.1)
    before = len(processes_of(place.ref))
    ticket = await in_database(place.ticket)
    owner = place.world.people["researcher-vision"]
    async with page_of(owner, path=PAGE, cookie=place.cookies["researcher-vision"]) as socket:
        await Screen(socket).open(ticket)
    await in_database(wait_for, lambda: not Terminal.objects.exists())
    await in_database(wait_for, lambda: len(processes_of(place.ref)) == before)
    [closed] = await audited("workload.terminal_close")
    assert closed.detail["because"] == terminals.AWAY


@pytest.mark.parametrize("how", ["reused", "forged", "old", "of another", "by token", "no page"])
async def test_a_ticket_is_good_once_soon_and_for_one(place: Place, how: str) -> None:
    ticket = await in_database(place.ticket)
    person, path = "researcher-vision", PAGE
    if how == "old":
        await in_database(Terminal.objects.update, expires_at=db_now_minus(1))
    if how == "forged":
        ticket = ticket[:-1] + ("A" if ticket[-1] != "A" else "B")
    if how == "of another":
        person = "administrator"
        await in_database(place.client, person)
    if how == "by token":
        path = API
    async with AsyncExitStack() as stack:
        if how == "reused":
            socket = await stack.enter_async_context(
                page_of(place.world.people[person], path=PAGE, cookie=place.cookies[person])
            )
            await Screen(socket).open(ticket)
        if how == "no page":
            with pytest.raises(ConnectionRefusedError):
                await stack.enter_async_context(page_of(None, path=PAGE))
            return
        socket = await stack.enter_async_context(
            page_of(place.world.people[person], path=path, cookie=place.cookies[person])
        )
        told = await Screen(socket).open(ticket)
        assert told["type"] == "refused"
        assert await socket.close_code() == consumer.FORBIDDEN


def db_now_minus(seconds: float) -> Any:
    from django.utils import timezone

    return timezone.now() - timedelta(seconds=seconds)


async def test_another_page_s_origin_is_refused_everywhere(place: Place) -> None:
    await in_database(place.ticket)
    owner, cookie = place.world.people["researcher-vision"], place.cookies["researcher-vision"]
    for origin in ("https://evil.example", "null", env().origins[0] + "0"):
        for path in (PAGE, API):
            with pytest.raises(ConnectionRefusedError):
                async with page_of(owner, path=path, cookie=cookie, origin=origin):
                    pass
    with pytest.raises(ConnectionRefusedError):
        async with page_of(owner, path=PAGE, cookie=cookie, origin=None):
            pass


def _drop_role(place: Place) -> None:
    AccessRule.objects.filter(user=place.world.people["researcher-vision"]).delete()


def _sign_out(place: Place) -> None:
    Session.objects.all().delete()


def _deactivate(place: Place) -> None:
    User.objects.filter(username="researcher-vision").update(is_active=False)


def _delete(place: Place) -> None:
    Workload.objects.update(deleted_at=db_now())


def _end_pod(place: Place) -> None:
    driver_for(place.world.cluster).suspend(replace(place.ref, grace_seconds=0))


@pytest.mark.parametrize("act", [_drop_role, _sign_out, _deactivate, _delete, _end_pod])
async def test_it_ends_when_the_person_or_the_pod_does(
    place: Place, act: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminals, "LOOK_SECONDS", 0.1)
    ticket = await in_database(place.ticket)
    owner = place.world.people["researcher-vision"]
    async with page_of(owner, path=PAGE, cookie=place.cookies["researcher-vision"]) as socket:
        screen = Screen(socket)
        await screen.open(ticket)
        await screen.type("sleep 500\r")
        await screen.until(b"sleep 500")
        await in_database(act, place)
        end = await screen.until(seconds=8)
        assert end["type"] == "exit"
        assert end["code"] is None
        assert end["reason"].endswith(".")
    line = b"sleep\x00500\x00"
    await in_database(
        wait_for, lambda: not [pid for pid in processes_of(place.ref) if _is(pid, line)]
    )


def _is(pid: int, line: bytes) -> bool:
    try:
        is_it = Path(f"/proc/{pid}/cmdline").read_bytes() == line
        return is_it and tree.start_time(pid) is not None
    except OSError:
        return False


async def test_an_idle_terminal_ends_with_the_minutes_in_words(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminals, "LOOK_SECONDS", 0.1)
    ticket = await in_database(place.ticket)
    owner = place.world.people["researcher-vision"]
    async with page_of(owner, path=PAGE, cookie=place.cookies["researcher-vision"]) as socket:
        screen = Screen(socket)
        await screen.open(ticket)
        await screen.type("echo $((40 + 2)); exec cat\r")
        await screen.until(b"42\r\n")
        await asyncio.sleep(0.2)
        _, running = terminals.find(screen.opened["id"])  # type: ignore[misc]
        running.used_at -= 30 * 60 + 1
        assert "30 minutes" in (await screen.until())["reason"]


@pytest.mark.parametrize(
    ("person", "status"),
    [("viewer", 403), ("outsider", 404), ("administrator", 201)],
)
async def test_only_who_may_run_commands_gets_a_ticket(
    place: Place, person: str, status: int
) -> None:
    names = {
        "viewer": "viewer-vision",
        "outsider": "researcher-nlp",
    }
    known = place.world.people
    name = names.get(person, person)
    assert name in known, sorted(known)
    answer = await in_database(place.post, name)
    assert answer.status_code == status, answer.content
    denied = [entry.result for entry in await audited("workload.terminal_open")]
    assert denied == (["denied"] if status == 403 else [])


async def test_bad_requests_get_words(place: Place) -> None:
    for body in (
        {"command": "ls"},
        {"command": ["ls", 1]},
        {"command": ["a\0b"]},
        {"command": ["", "x"]},
        {"command": ["x"] * 300},
        {"command": ["x" * 40_000]},
        {"tty": "yes"},
        {"shell": "bash"},
    ):
        answer = await in_database(place.post, "researcher-vision", **body)
        assert answer.status_code == 400, body
        assert answer.json()["message"]
    for pod in ("worker-1", "worker", "master-0"):
        assert (await in_database(place.post, "researcher-vision", pod)).status_code == 404
    await in_database(Replica.objects.update, state="Failed")
    assert (await in_database(place.post, "researcher-vision")).status_code == 409
    await in_database(Workload.objects.update, status="Completed")
    assert (await in_database(place.post, "researcher-vision")).status_code == 409


async def test_one_person_has_so_many_and_hears_the_number(place: Place) -> None:
    for _ in range(16):
        await in_database(place.ticket)
    answer = await in_database(place.post, "researcher-vision")
    assert answer.status_code == 429
    assert "16" in answer.json()["message"]
    await in_database(place.ticket, "administrator")
    await in_database(Terminal.objects.update, expires_at=db_now_minus(1))
    await in_database(place.ticket)


@pytest.mark.parametrize(
    "frame",
    [
        {"text": "{"},
        {"text": "[]"},
        {"text": '{"type": "resize", "columns": 0, "rows": 1000000}'},
        {"text": '{"type": "resize", "columns": "80", "rows": 24}'},
        {"text": '{"type": "open", "ticket": "x"}'},
        {"text": '{"type": "ack", "offset": 99999999}'},
        {"text": "[" * 60_000},
        {"data": b""},
        {"data": b"\x07garbage"},
        {"data": b"\0" + b"x" * consumer.LONGEST},
        {"text": "x" * (consumer.LONGEST + 1)},
    ],
    ids=range(11),
)
async def test_nonsense_ends_the_socket_and_not_the_terminal(
    place: Place, frame: dict[str, Any]
) -> None:
    ticket = await in_database(place.ticket)
    owner, cookie = place.world.people["researcher-vision"], place.cookies["researcher-vision"]
    async with page_of(owner, path=PAGE, cookie=cookie) as socket:
        screen = Screen(socket)
        await screen.open(ticket)
        await screen.type(bytes(range(128, 256)))
        await socket.send(**frame)
        assert await socket.close_code() == consumer.NONSENSE
    async with page_of(owner, path=PAGE, cookie=cookie) as socket:
        opened = screen.opened
        await socket.say(type="resume", id=opened["id"], key=opened["key"], received=0)
        assert (await socket.hear("opened"))["id"] == opened["id"]


async def test_a_page_that_does_not_draw_holds_up_the_command_and_not_our_memory(
    place: Place,
) -> None:
    ticket = await in_database(place.ticket, command=["yes"])
    owner, cookie = place.world.people["researcher-vision"], place.cookies["researcher-vision"]
    async with page_of(owner, path=PAGE, cookie=cookie) as socket:
        screen = Screen(socket)
        await screen.open(ticket, acks=True)
        await asyncio.sleep(0.5)
        _, running = terminals.find(screen.opened["id"])  # type: ignore[misc]
        held = running.received
        assert session.WINDOW <= held < 2 * session.WINDOW
        await asyncio.sleep(0.2)
        assert running.received == held
        await screen.until(b"y\r\n" * 80_000)
        await socket.say(type="ack", offset=screen.received)
        await screen.until(b"y\r\n" * 100_000)


def test_what_a_process_that_is_gone_had_open_is_closed_in_the_audit_log(db: None) -> None:
    world = make_world()
    workload = new_workload(
        name="shells",
        project=world.vision,
        owner=world.people["researcher-vision"],
        values={"image": "local://system", "command": "sleep 600"},
    )
    now = db_now()
    common = {
        "user": workload.owner,
        "workload": workload,
        "attempt_no": 1,
        "pod": "worker-0",
        "channel": "form",
        "login": "session:x",
        "password_mark": "x",
        "created_at": now - timedelta(minutes=9),
        "expires_at": now - timedelta(minutes=8),
    }
    opened = now - timedelta(minutes=8)
    for number, seen in enumerate((None, now - timedelta(minutes=3), now)):
        began = None if seen is None else opened
        Terminal.objects.create(digest=str(number), opened_at=began, seen_at=seen, **common)
    tickets.forget()
    assert [row.digest for row in Terminal.objects.all()] == ["2"]
    [entry] = AuditEntry.objects.filter(action="workload.terminal_close")
    assert entry.detail["because"] == tickets.RESTARTED
    assert entry.detail["seconds"] == 300.0
