"""The door to the tools of this machine, with a real program behind it."""

import asyncio
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import httpx
import pytest
from aiohttp import web
from django.test import Client
from django.urls import reverse

from gangline.access.models import Group, GroupMember
from gangline.config.env import env
from gangline.db.clock import db_now
from gangline.supervisor.tool_gate import Gate
from tests.support.world import World, make_world
from workloads.models import Attempt, ToolPass, Workload
from workloads.selectors import tools
from workloads.services import bodies, tool_access, validation

RESEARCHER, OTHER = "researcher-vision", "viewer-vision"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(transactional_db: None) -> World:
    return make_world()


class Loop:
    """An event loop of its own, in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(20)

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        self.loop.close()


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.end()


@pytest.fixture
def program(loop: Loop) -> Iterator[int]:
    """A program that tells what it was sent; its port."""

    async def told(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() == "websocket":
            socket_ = web.WebSocketResponse()
            await socket_.prepare(request)
            async for message in socket_:
                await socket_.send_str(f"heard {message.data}")
            return socket_
        body = {
            "path": request.raw_path,
            "headers": {name.lower(): value for name, value in request.headers.items()},
            "body": await request.text(),
        }
        answer = web.json_response(body)
        answer.headers["Set-Cookie"] = "theme=dark; Domain=localhost; Path=/"
        return answer

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", told)
    runner = web.AppRunner(app)
    loop.run(runner.setup())
    site = web.TCPSite(runner, "127.0.0.1", 0)
    loop.run(site.start())
    yield runner.addresses[0][1]
    loop.run(runner.cleanup())


@pytest.fixture
def door(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of the door."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    monkeypatch.setattr(type(env()), "tools_listens_at", property(lambda self: port))
    gate = Gate(listener)
    loop.run(gate.start())
    yield port
    loop.run(gate.stop())


@pytest.fixture
def started(world: World, program: int) -> Callable[..., Workload]:
    """Makes a workload with one tool that runs; ``tool`` says who may open it."""

    def make(**tool: Any) -> Workload:
        said = [{"toolType": "custom", "name": "board", "container": 9000, **tool}]
        body = world.spec_body(exposedUrls=said)
        client = Client(headers=world.headers(RESEARCHER))
        answer = client.post("/api/v1/workloads/distributed", body, "application/json")
        assert answer.status_code == 202, answer.content
        workload = Workload.objects.get(name="digits")
        workload.phase = workload.status = "Running"
        workload.save()
        attempt = workload.attempts.get()
        slot = {"role": "master", "index": 0, "rank": 0, "cpus": 1, "memory": 1, "gpus": []}
        attempt.placement = [{**slot, "ports": [16000, program]}]
        attempt.save()
        return workload

    return make


def address(workload: Workload, name: str = "board") -> str:
    return tools.addresses_of(workload, workload.attempts.get())[name]


def ticketed(world: World, workload: Workload, person: str) -> tuple[Client, str]:
    """A browser of the person, and where Gangline sends it to."""
    browser = world.client(person)
    answer = browser.get(reverse("tool-open", args=[workload.pk, "board"]))
    return browser, answer.headers.get("Location", str(answer.status_code))


def fetch(url: str, door: int, **more: Any) -> httpx.Response:
    """As a browser does, which knows where names below localhost are."""
    parts = urlsplit(url)
    host = f"{parts.hostname}:{door}"
    there = url.replace(f"{parts.scheme}://{parts.netloc}", f"http://127.0.0.1:{door}", 1)
    headers = {"Host": host, **more.pop("headers", {})}
    return httpx.request(more.pop("method", "GET"), there, headers=headers, timeout=20, **more)


def let_in(world: World, workload: Workload, person: str, door: int) -> tuple[Client, str]:
    """The browser of one who may, and the cookie that the door gave it."""
    browser, there = ticketed(world, workload, person)
    answer = fetch(there, door)
    assert answer.status_code == 302, answer.text
    assert tool_access.PARAMETER not in answer.headers["Location"]
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "Domain" not in cookie
    return browser, cookie.partition(";")[0]


def test_who_may_gets_in_and_the_program_learns_who_it_is(
    world: World, started: Callable[..., Workload], door: int
) -> None:
    workload = started(authorizedUsers=[RESEARCHER])
    _, cookie = let_in(world, workload, RESEARCHER, door)
    forged = {"X-Gangline-User": "administrator", "X-Forwarded-User": "root"}
    secret = f"{cookie}; gangline_sid_8000=session; theme=dark"
    answer = fetch(
        f"{address(workload)}/a%2Fb?x=1", door, method="POST", content="hello",
        headers={"Cookie": secret, "Authorization": "Bearer mine", **forged},
    )  # fmt: skip
    assert answer.status_code == 200
    seen = answer.json()
    assert (seen["path"], seen["body"]) == ("/a%2Fb?x=1", "hello")
    assert seen["headers"]["cookie"] == "theme=dark"
    assert seen["headers"]["x-gangline-user"] == RESEARCHER
    assert not {"authorization", "x-forwarded-user"} & seen["headers"].keys()
    assert "Domain" not in answer.headers["Set-Cookie"]
    assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_web_sockets_go_through(
    world: World, started: Callable[..., Workload], door: int, loop: Loop
) -> None:
    workload = started()
    _, cookie = let_in(world, workload, RESEARCHER, door)
    host = urlsplit(address(workload)).netloc

    async def talk(origin: str) -> str:
        headers = {"Host": host, "Cookie": cookie, "Origin": origin}
        url = f"http://127.0.0.1:{door}/live"
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(url, headers=headers) as there,
        ):
            await there.send_str("ping")
            return str((await there.receive()).data)

    assert loop.run(talk(f"http://{host}")) == "heard ping"
    for origin in ("http://evil.example", "http://["):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            loop.run(talk(origin))
        assert refused.value.status == 403


def test_who_is_not_on_the_list_is_told_so_and_gets_no_ticket(
    world: World, started: Callable[..., Workload], door: int
) -> None:
    workload = started(authorizedUsers=[RESEARCHER])
    assert ticketed(world, workload, OTHER)[1] == "403"
    # What one may not even see is as unknown as what is not there.
    assert ticketed(world, workload, "researcher-nlp")[1] == "404"
    assert ticketed(world, workload, "administrator")[1] == "403"
    assert not ToolPass.objects.exists()
    assert fetch(address(workload), door, headers={"Upgrade": "websocket"}).status_code == 401


def test_who_is_taken_from_the_group_gets_403_at_the_tool_itself(
    world: World, started: Callable[..., Workload], door: int
) -> None:
    now = db_now()
    group = Group.objects.create(name="Readers", created_at=now, updated_at=now)
    member = GroupMember.objects.create(group=group, user=world.people[OTHER])
    workload = started(authorizedGroups=["readers"])
    _, cookie = let_in(world, workload, OTHER, door)
    assert fetch(address(workload), door, headers={"Cookie": cookie}).status_code == 200
    member.delete()
    assert fetch(address(workload), door, headers={"Cookie": cookie}).status_code == 403


def test_signing_out_of_gangline_ends_the_pass(
    world: World, started: Callable[..., Workload], door: int
) -> None:
    workload = started()
    browser, cookie = let_in(world, workload, RESEARCHER, door)
    browser.session.flush()
    answer = fetch(address(workload), door, method="POST", headers={"Cookie": cookie})
    assert answer.status_code == 401


def test_a_ticket_is_good_once_and_for_its_tool_alone(
    world: World, started: Callable[..., Workload], door: int
) -> None:
    workload = started()
    _, there = ticketed(world, workload, RESEARCHER)
    token = parse_qs(urlsplit(there).query)[tool_access.PARAMETER][0]
    assert tool_access.judge(workload.pk, "other", ticket=token, passes=[]).status == 404
    assert fetch(there, door).status_code == 302
    again = fetch(there, door)
    assert again.status_code == 302
    assert "/tools/" in again.headers["Location"]
    assert "Set-Cookie" not in again.headers
    # Nor is a ticket a pass.
    _, fresh = ticketed(world, workload, RESEARCHER)
    token = parse_qs(urlsplit(fresh).query)[tool_access.PARAMETER][0]
    name = tool_access.cookie_name(workload.pk, "board")
    cookie = {"Cookie": f"{name}={token}"}
    assert fetch(address(workload), door, method="POST", headers=cookie).status_code == 401


def test_a_page_without_a_pass_leads_to_gangline_and_back(
    world: World, started: Callable[..., Workload], door: int
) -> None:
    workload = started()
    wanted = f"{address(workload)}/plots?run=3&run=4&tag=loss"
    answer = fetch(wanted, door)
    there = urlsplit(answer.headers["Location"])
    assert (answer.status_code, there.path) == (302, f"/tools/{workload.pk}/board/open")
    browser = world.client(RESEARCHER)
    back = browser.get(f"{there.path}?{there.query}").headers["Location"]
    assert re.fullmatch(rf"{re.escape(wanted)}&gangline-ticket=[\w-]+", back)
    assert fetch(back, door).headers["Location"].endswith("/plots?run=3&run=4&tag=loss")
    for wanted in ("https://evil.example/", "http://["):
        home = browser.get(there.path, {"rd": wanted}).headers["Location"]
        assert urlsplit(home).netloc == urlsplit(address(workload)).netloc


def test_a_tool_that_does_not_run_or_answer_is_said_to(
    world: World, started: Callable[..., Workload], door: int
) -> None:
    workload = started()
    _, cookie = let_in(world, workload, RESEARCHER, door)
    Attempt.objects.update(placement=[])
    assert fetch(address(workload), door, headers={"Cookie": cookie}).status_code == 502
    Workload.objects.update(phase="Stopped")
    assert fetch(address(workload), door, headers={"Cookie": cookie}).status_code == 502


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "board-x.localhost", "a.example"])
def test_no_other_host_is_served(world: World, door: int, host: str) -> None:
    assert fetch(f"http://{host}:{door}/", door).status_code == 404


def test_an_ingress_is_told_what_the_door_decides(
    world: World, started: Callable[..., Workload]
) -> None:
    """The same judge, asked by a controller of another cluster for each request."""
    workload = started(authorizedUsers=[RESEARCHER])
    here = reverse("tool-auth", args=[workload.pk, "board"])
    asked = "https://board.tools.lab.example/"
    outside = Client()
    for told in (asked, "https://["):
        assert outside.get(here, headers={"X-Original-URL": told}).status_code == 401
    browser, there = ticketed(world, workload, RESEARCHER)
    query = urlsplit(there).query
    answer = outside.get(here, headers={"X-Original-URL": f"{asked}?{query}"})
    assert (answer.status_code, answer["X-Gangline-User"]) == (200, RESEARCHER)
    assert all(one["secure"] and one["httponly"] for one in answer.cookies.values())
    assert outside.get(here, headers={"X-Original-URL": asked}).status_code == 200
    world.people[RESEARCHER].username = "renamed"
    world.people[RESEARCHER].save()
    assert outside.get(here, headers={"X-Original-URL": asked}).status_code == 403
    browser.session.flush()
    assert outside.get(here, headers={"X-Original-URL": asked}).status_code == 401


@pytest.mark.parametrize("said", [5, "board", [5], {"board": {}}], ids=str)
def test_what_is_no_list_of_tools_is_a_problem_and_stops_nothing(world: World, said: Any) -> None:
    user, body = world.people[RESEARCHER], world.spec_body(exposedUrls=said)
    judged = validation.validate_submission(user, bodies.read(user, body))
    assert judged.problems
    assert not [one for one in judged.advice if one.path.startswith("exposedUrls")]


@pytest.mark.parametrize(
    ("access", "words"),
    [
        ({}, []),
        ({"authorizedUsers": [RESEARCHER]}, []),
        ({"authorizedUsers": [OTHER]}, ["You are not on the list"]),
        ({"authorizedUsers": [RESEARCHER, "nobody"]}, ["There is no person called nobody"]),
        ({"authorizedGroups": ["x"]}, ["You are not on the list", "There is no group called x"]),
    ],
)
def test_one_is_warned_before_locking_oneself_out(
    world: World, access: dict[str, list[str]], words: list[str]
) -> None:
    said = [{"name": "board", "container": 9000, **access}]
    body = world.spec_body(exposedUrls=said)
    user = world.people[RESEARCHER]
    advice = validation.validate_submission(user, bodies.read(user, body)).advice
    found = [one.sentence for one in advice if one.path.startswith("exposedUrls")]
    assert len(found) == len(words)
    assert all(sentence.startswith(word) for sentence, word in zip(found, words, strict=True))
