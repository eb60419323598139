"""The log over HTTP: who may read it, what is refused, and what a download holds."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import AsyncClient, Client
from django.urls import reverse

from gangline.audit.models import AuditEntry
from gangline.db.clock import db_now
from tests.support.engine import new_workload
from tests.support.logs import WrittenLog
from tests.support.world import World, make_world
from workloads.models import Attempt, Workload

PODS = ("worker-0", "worker-1", "worker-2")


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@pytest.fixture
def workload(world: World) -> Workload:
    return new_workload(
        name="digits",
        project=world.vision,
        owner=world.people["researcher-vision"],
        values={"image": "local://examples", "command": "python train.py"},
        workers=3,
    )


@pytest.fixture
def logs(workload: Workload) -> dict[str, WrittenLog]:
    folder = Path(settings.GANGLINE.data_dir) / "logs" / str(workload.pk) / "1"
    return {name: WrittenLog(folder, name) for name in PODS}


def client_of(world: World, person: str) -> Client:
    return world.client(person)


@pytest.fixture
def client(world: World) -> Client:
    return client_of(world, "researcher-vision")


def address(workload: Workload, name: str = "workload-log") -> str:
    return reverse(name, args=[workload.pk])


def ask(client: Client, workload: Workload, **query: Any) -> Any:
    response = client.get(address(workload), query)
    assert response.status_code == 200, response.content
    return response.json()


def words(page: Any) -> list[str]:
    return ["".join(text for text, _ in line["parts"]) for line in page["lines"]]


def finish(workload: Workload, logs: dict[str, WrittenLog]) -> None:
    for log in logs.values():
        log.end()
    Attempt.objects.filter(workload=workload).update(ended_at=db_now())


def test_following_gives_each_line_once_and_nothing_costs_nothing(
    client: Client, workload: Workload, logs: dict[str, WrittenLog]
) -> None:
    logs["worker-0"].print("one\n", at=1)
    page = ask(client, workload)
    assert words(page) == ["one"]
    assert client.get(address(workload), {"after": page["after"]}).status_code == 204
    logs["worker-1"].print("two\n", at=2)
    page = ask(client, workload, after=page["after"])
    assert words(page) == ["two"]
    finish(workload, logs)
    page = ask(client, workload, after=page["after"])
    assert (words(page), page["ended"]) == ([], True)


def test_older_lines_and_the_start(
    client: Client, workload: Workload, logs: dict[str, WrittenLog]
) -> None:
    for number in range(100):
        logs[PODS[number % 3]].print(f"{number}\n", at=number)
    page = ask(client, workload, limit=10)
    assert words(page) == [str(number) for number in range(90, 100)]
    above = ask(client, workload, before=page["before"], limit=10)
    assert words(above) == [str(number) for number in range(80, 90)]
    assert words(ask(client, workload, start=1, limit=3)) == ["0", "1", "2"]


def test_one_pod_or_role(client: Client, workload: Workload, logs: dict[str, WrittenLog]) -> None:
    for name, log in logs.items():
        log.print(f"{name}\n", at=1)
    assert words(ask(client, workload, pod="worker-1")) == ["worker-1"]
    assert words(ask(client, workload, pod="worker")) == [*PODS]


def test_a_place_opens_centred_and_a_whole_line_can_be_had(
    client: Client, workload: Workload, logs: dict[str, WrittenLog]
) -> None:
    for number in range(50):
        logs["worker-0"].print(f"line {number}\n", at=number)
        logs["worker-1"].print("y" * 9_000 + "\n", at=number)
    (hit,) = ask(client, workload, q="LINE 25")["hits"]
    page = ask(client, workload, at=hit["id"], limit=20)
    assert page["at"] == hit["id"] == page["lines"][10]["id"]
    cut = page["lines"][11]
    assert cut["cut"] is True
    whole = ask(client, workload, line=cut["id"])
    assert len(whole["parts"][0][0]) == 9_000
    text = client.get(address(workload), {"line": cut["id"], "text": "1"})
    assert (text["Content-Type"], len(text.content)) == ("text/plain; charset=utf-8", 9_001)
    assert text["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"pod": "../../x"}, 404),
        ({"pod": "worker-7"}, 404),
        ({"pod": "worker-0/../../.."}, 404),
        ({"pod": "worker-٣"}, 404),
        ({"pod": "\x00"}, 400),
        ({"attempt": "2"}, 404),
        ({"attempt": "-1"}, 400),
        ({"attempt": "1e3"}, 400),
        ({"limit": "0"}, 400),
        ({"limit": "2001"}, 400),
        ({"limit": str(10**9)}, 400),
        ({"limit": "-1"}, 400),
        ({"after": "abc"}, 400),
        ({"before": "§"}, 400),
        ({"at": "worker-0"}, 400),
        ({"at": "worker-0:-1"}, 400),
        ({"at": "worker-0:" + "9" * 16}, 400),
        ({"at": "worker-9:1"}, 404),
        ({"line": "worker-0:5"}, 404),
        ({"q": ""}, 400),
        ({"q": "a\nb"}, 400),
        ({"q": "x" * 201}, 400),
        ({"q": "x", "reached": "nonsense"}, 400),
    ],
    ids=str,
)
def test_134_parameters_that_cannot_be_are_refused(
    client: Client, workload: Workload, logs: dict[str, WrittenLog], query: Any, status: int
) -> None:
    logs["worker-0"].print("text\n")
    assert client.get(address(workload), query).status_code == status


def test_a_place_beyond_the_end_shows_the_end(
    client: Client, workload: Workload, logs: dict[str, WrittenLog]
) -> None:
    logs["worker-0"].print("text\n", at=1)
    assert words(ask(client, workload, at="worker-0:999999")) == ["text"]


@pytest.mark.parametrize("name", ["workload-log", "workload-log-download"])
@pytest.mark.parametrize(
    ("person", "status"),
    [
        ("researcher-vision", 200),
        ("administrator", 200),
        ("viewer-vision", 403),
        ("researcher-nlp", 404),
        ("stranger", 404),
    ],
)
def test_logs_are_a_right_of_their_own(
    world: World,
    workload: Workload,
    logs: dict[str, WrittenLog],
    name: str,
    person: str,
    status: int,
) -> None:
    logs["worker-0"].print("secret\n", at=1)
    response = client_of(world, person).get(address(workload, name))
    assert response.status_code == status
    page = client_of(world, person).get(reverse("workload-tab", args=[workload.pk, "logs"]))
    assert (b"secret" in page.content) == (status == 200)


def test_who_has_not_signed_in_is_sent_to_sign_in(workload: Workload) -> None:
    assert Client().get(address(workload))["Location"].startswith("/login")


def test_a_cluster_of_another_host_says_where_its_logs_are(
    client: Client, world: World, workload: Workload
) -> None:
    world.cluster.host_id = "elsewhere"
    world.cluster.save()
    response = client.get(address(workload))
    assert response.status_code == 409
    assert "machine of cluster this-machine" in response.json()["message"]
    page = client.get(reverse("workload-tab", args=[workload.pk, "logs"]))
    assert b"machine of cluster this-machine" in page.content


def downloaded(response: Any) -> bytes:
    return b"".join(response.streaming_content)


def test_l08_the_download_is_what_was_printed(
    client: Client, workload: Workload, logs: dict[str, WrittenLog]
) -> None:
    printed = dict.fromkeys(PODS, b"")
    for number in range(400):
        name = PODS[number % 3]
        text = b"%d \xff \x1b[31m%s\r\x00 %s\n" % (number, name.encode(), b"z" * (number * 50))
        logs[name].print(text)
        printed[name] += text
    finish(workload, logs)
    for name in PODS:
        one = client.get(address(workload, "workload-log-download"), {"pod": name})
        assert downloaded(one) == printed[name]
    whole = downloaded(client.get(address(workload, "workload-log-download")))
    assert len(whole) == sum(len(text) for text in printed.values())
    assert sorted(whole.split(b"\n")) == sorted(b"".join(printed.values()).split(b"\n"))


def test_a_download_with_times_and_pods_says_them_on_every_line(
    client: Client, workload: Workload, logs: dict[str, WrittenLog]
) -> None:
    logs["worker-1"].print("b\n", at=2)
    logs["worker-0"].print("a\n", at=1)
    response = client.get(address(workload, "workload-log-download"), {"prefix": "1"})
    assert downloaded(response).decode().splitlines() == [
        "2026-01-01T00:00:01.000000000Z worker-0 a",
        "2026-01-01T00:00:02.000000000Z worker-1 b",
    ]


def test_133_the_headers_of_a_download_let_nothing_run(
    client: Client, workload: Workload, logs: dict[str, WrittenLog]
) -> None:
    logs["worker-0"].print("<script>alert(1)</script>\n", at=1)
    response = client.get(address(workload, "workload-log-download"), {"pod": "worker-0"})
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]
    bad = {"pod": 'a";filename="x.html'}
    assert client.get(address(workload, "workload-log-download"), bad).status_code == 404


@pytest.mark.parametrize(
    ("asked", "end"),
    [
        ({}, ""),
        ({"prefix": "1"}, "-times"),
        ({"pod": "worker-0"}, "-worker-0"),
        ({"pod": "worker"}, "-worker"),
        ({"pod": "worker-1", "prefix": "1"}, "-worker-1-times"),
    ],
)
def test_every_kind_of_download_has_a_file_name_of_its_own(
    client: Client,
    workload: Workload,
    logs: dict[str, WrittenLog],
    asked: dict[str, str],
    end: str,
) -> None:
    response = client.get(address(workload, "workload-log-download"), asked)
    name = f"{workload.name}-attempt1{end}.log"
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'


def test_a_download_is_audited(
    client: Client, world: World, workload: Workload, logs: dict[str, WrittenLog]
) -> None:
    client.get(address(workload, "workload-log-download"), {"pod": "worker-1"})
    entry = AuditEntry.objects.get(action="workload.log_download")
    assert (entry.actor_name, entry.object_id) == ("researcher-vision", str(workload.pk))
    assert entry.detail == {"attempt": 1, "pods": "worker-1"}


@pytest.mark.django_db(transaction=True)
async def test_the_server_streams_a_download_piece_by_piece(transactional_db: None) -> None:
    from asgiref.sync import sync_to_async

    def make() -> tuple[World, Workload]:
        made = make_world()
        owner = made.people["researcher-vision"]
        values = {"image": "local://examples", "command": "python train.py"}
        row = new_workload(name="digits", project=made.vision, owner=owner, values=values)
        folder = Path(settings.GANGLINE.data_dir) / "logs" / str(row.pk) / "1"
        log = WrittenLog(folder, "worker-0")
        for number in range(20_000):
            log.print(f"line {number}\n")
        return made, row

    world, workload = await sync_to_async(make)()
    client = AsyncClient()
    await client.aforce_login(
        world.people["researcher-vision"], backend="django.contrib.auth.backends.ModelBackend"
    )
    response = await client.get(address(workload, "workload-log-download"))
    assert response.is_async  # type: ignore[attr-defined]
    pieces = [piece async for piece in response.streaming_content]  # type: ignore[attr-defined]
    assert len(pieces) > 3
    assert b"".join(pieces).count(b"\n") == 20_000


@pytest.fixture
def tab(workload: Workload) -> str:
    return reverse("workload-tab", args=[workload.pk, "logs"])


def test_the_page_has_the_newest_lines_and_the_way_to_older_ones(
    client: Client, tab: str, logs: dict[str, WrittenLog]
) -> None:
    for number in range(1_200):
        logs[PODS[number % 3]].print(f"line {number}.\n", at=number)
    content = client.get(tab).content.decode()
    assert content.count("<li data-id=") == 500
    assert "line 700." in content
    assert "line 699." not in content
    older = content.split('class="log-step no-script"><a href="')[1].split('"')[0]
    content = client.get(tab + older.replace("&amp;", "&")).content.decode()
    assert "line 699." in content
    assert "line 200." in content
    assert "line 700." not in content


def test_the_page_finds_a_line_without_scripts(
    client: Client, tab: str, logs: dict[str, WrittenLog]
) -> None:
    for number in range(1_200):
        logs["worker-0"].print(f"line {number}.\n", at=number)
    content = client.get(tab, {"q": "line 7."}).content.decode()
    link = content.split('<ol class="no-script">')[1].split('href="')[1].split('"')[0]
    opened = client.get(tab + link.replace("&amp;", "&")).content.decode()
    assert "<mark>line 7.</mark>" in opened
    assert 'aria-current="true"' in opened.split("data-log-rows")[1]


def test_the_page_survives_a_place_that_is_gone(
    client: Client, tab: str, logs: dict[str, WrittenLog]
) -> None:
    logs["worker-0"].print("still here\n", at=1)
    for query in ({"before": "AAAA"}, {"at": "worker-9:1"}, {"at": "x"}, {"limit": "0"}):
        content = client.get(tab, query).content.decode()
        assert "still here" in content
        assert "is not in this log" in content


def test_found_text_cannot_leave_its_script_element(
    client: Client, tab: str, logs: dict[str, WrittenLog]
) -> None:
    logs["worker-0"].print("</script><script>alert(1)</script>\n", at=1)
    content = client.get(tab, {"q": "</script>"}).content.decode()
    assert "<script>alert(1)" not in content
    data = content.split('id="log-found-data" type="application/json">')[1].split("</script>")[0]
    assert json.loads(data)["hits"][0]["text"] == "</script><script>alert(1)</script>"


def test_the_overview_has_the_last_lines(
    client: Client, workload: Workload, logs: dict[str, WrittenLog]
) -> None:
    for number in range(30):
        logs["worker-0"].print(f"line {number}.\n", at=number)
    content = client.get(reverse("workload-detail", args=[workload.pk])).content.decode()
    assert content.count("<li data-id=") == 12
    assert "line 29." in content
