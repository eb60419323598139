"""The pages of workloads: words and actions per status, the same strings everywhere, their cost."""

import gzip
import re
from collections.abc import Callable
from html import unescape
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client

from gangline.accounts.models import ApiToken
from gangline.db.clock import db_now
from gangline.spec.frameworks import WORKERS_AND_MASTER
from gangline.spec.sources import Value
from tests.support.api import ApiClient
from tests.support.engine import new_workload
from tests.support.queries import query_budget
from tests.support.world import IMAGE, World
from workloads.models import Attempt, Replica, Workload
from workloads.models.attempt import Outcome
from workloads.parts import HEAD
from workloads.services import intents
from workloads.statuses import STATUSES

pytestmark = pytest.mark.django_db
PERSON = "researcher-vision"
WORDS = {
    "stop": "Stop",
    "resume": "Run",
    "rerun": "Run again",
    "copy": "Copy & edit",
    "template": "Save as template",
    "delete": "Delete",
}
MAX_QUERIES = 12
MAX_GZIP = 25_000


@pytest.fixture
def person(world: World) -> Client:
    return world.client(PERSON)


@pytest.fixture
def make(world: World) -> Callable[..., Workload]:
    """A workload with the shown columns as they are given."""

    def make_(name: str = "digits", **columns: Any) -> Workload:
        row = new_workload(
            name=name,
            project=world.vision,
            owner=world.people[PERSON],
            values={"image": IMAGE, "command": "python train.py"},
            workers=columns.pop("workers", 2),
        )
        shown = {"framework": "XGBoost", "configuration": WORKERS_AND_MASTER} | columns
        Workload.objects.filter(pk=row.pk).update(**shown)
        row.refresh_from_db()
        return row

    return make_


def text(html: str) -> str:
    """What people read of a piece of HTML."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


@pytest.mark.parametrize("word", STATUSES)
def test_every_status_has_its_shape_its_words_and_its_actions(
    person: Client, make: Callable[..., Workload], word: str
) -> None:
    """AC-D01, on the page and in the row of the table."""
    status = STATUSES[word]
    workload = make(status=word, reason="Because of <this>.", pods_total=2)
    page = person.get(f"/workloads/{workload.pk}/events").content.decode()
    title = re.search(r'data-part="title">(.*?)</div>', page, re.DOTALL)
    assert title
    assert f"#s-{status.shape}" in title[1]
    assert f"tone-{status.tone}" in title[1]
    assert text(title[1]) == f"{word} Because of <this>."
    actions = re.search(r'data-part="actions">(.*?)</span></form>', page, re.DOTALL)
    assert actions
    offered = set(re.findall(r"</svg>([^<]+)<", actions[1]))
    assert {unescape(one) for one in offered} == {WORDS[name] for name in status.actions}
    table = person.get("/workloads").content.decode()
    cell = re.search(r'data-testid="cell-status">(.*?)</td>', table, re.DOTALL)
    assert cell
    # How long it took to complete stands in a column of its own.
    assert text(cell[1]) == word + (" Because of <this>." if word != "Completed" else "")
    menu = re.search(r'data-testid="cell-more">(.*?)</td>', table, re.DOTALL)
    assert menu
    entries = {unescape(one) for one in re.findall(r"</svg>([^<]+)<", menu[1])}
    assert entries == {WORDS[name] for name in status.actions}


def test_no_contact_is_a_badge_beside_the_last_status(
    person: Client, make: Callable[..., Workload]
) -> None:
    workload = make(status="Running", contact_lost_at=db_now(), observed_at=db_now())
    page = person.get(f"/workloads/{workload.pk}").content.decode()
    assert "No contact since" in page
    assert "No contact with the cluster" in page
    assert "#s-running" in page


def test_list_details_and_api_say_the_same(
    person: Client, world: World, make: Callable[..., Workload]
) -> None:
    """AC-D02."""
    reason = "worker-1 failed first: exit code 3."
    workload = make(status="Failed", phase="Failed", reason=reason)
    api = ApiClient(world, PERSON).get(f"workloads/{workload.pk}").json()
    shown = f"{api['status']} {api['phaseMessage']}"
    assert shown == f"Failed {reason}"
    for address in ("/workloads", f"/workloads/{workload.pk}/events", "/"):
        assert shown in text(person.get(address).content.decode()), address


def test_a_row_says_its_project_owner_and_pods(
    person: Client, make: Callable[..., Workload]
) -> None:
    make(status="Running", pods_ready=2, pods_total=3, gpus=4, gpus_in_use=4)
    row = text(person.get("/workloads").content.decode())
    for words in ("vision", PERSON, "2/3 pods ready", "XGBoost"):
        assert words in row


def test_large_gangs_are_a_grid_with_a_table_in_pages(
    person: Client, make: Callable[..., Workload]
) -> None:
    """AC-D07: names of the cells, and the same pods in the table."""
    workload = make(status="Running", pods_total=240, num_workers=240)
    attempt = Attempt.objects.get(workload=workload)
    Replica.objects.bulk_create(
        Replica(attempt=attempt, role="worker", index=n, rank=n, state="Running")
        for n in range(240)
    )
    page = person.get(f"/workloads/{workload.pk}/pods?from=200").content.decode()
    assert page.count('class="pod-grid-cell') == 240
    assert "rank 17, worker-17, Running</span>" in page
    assert re.findall(r'<tr data-pod="([^"]+)"', page) == [f"worker-{n}" for n in range(200, 240)]
    overview = person.get(f"/workloads/{workload.pk}").content.decode()
    assert overview.count('class="pod-grid-cell') == 240
    assert "<tr data-pod=" not in overview
    for nonsense in ("-1", "x", "9" * 30, "٣"):
        assert person.get(f"/workloads/{workload.pk}/pods?from={nonsense}").status_code == 200


def test_pages_that_ask_get_the_frame_of_the_socket(
    person: Client, make: Callable[..., Workload]
) -> None:
    workload = make(status="Running", reason="All 3 pods are ready.")
    address = f"/workloads/{workload.pk}/changes"
    answer = person.get(address, {"query": f"{workload.pk}/events/0"})
    (item,) = answer.json()["items"]
    assert set(item["cells"]) == {*HEAD, "events"}
    tag = answer.headers["ETag"]
    again = person.get(
        address, {"query": f"{workload.pk}/events/0"}, headers={"If-None-Match": tag}
    )
    assert again.status_code == 304
    other = make("other")
    for query in ("", "x", f"{other.pk}/events/0", f"{workload.pk}/nothing/0"):
        assert person.get(address, {"query": query}).status_code == 404, query


@pytest.mark.parametrize(
    ("referer", "back"),
    [
        ("http://testserver/workloads?status=running&q=a", "/workloads?status=running&q=a"),
        ("http://testserver/workloads/{id}/pods", "/workloads/{id}/pods"),
        ("http://evil.example.org/workloads", "/workloads/{id}"),
        ("http://testserver//evil.example.org", "/workloads/{id}"),
        ("http://testserver/workloads/{id}/stop", "/workloads/{id}"),
        ("javascript:alert(1)", "/workloads/{id}"),
        ("", "/workloads/{id}"),
    ],
)
def test_a_question_leads_back_to_where_it_was_asked(
    person: Client, make: Callable[..., Workload], referer: str, back: str
) -> None:
    workload = make(status="Running")
    address = f"/workloads/{workload.pk}/stop"
    headers = {"Referer": referer.format(id=workload.pk)} if referer else {}
    page = unescape(person.get(address, headers=headers).content.decode())
    expected = back.format(id=workload.pk)
    assert f'name="next" value="{expected}"' in page
    assert f'href="{expected}" data-close' in page


@pytest.mark.parametrize(
    "name", ["-" * 36, "a" * 36, "0" * 35 + "-", "a" * 8 + "-" + "a" * 27, "A" * 36]
)
def test_an_address_that_names_no_workload_is_not_found(person: Client, name: str) -> None:
    for action in ("stop", "resume", "rerun", "delete"):
        assert person.get(f"/workloads/{name}/{action}").status_code == 404
        assert person.post(f"/workloads/{name}/{action}").status_code == 404


def test_an_address_that_names_nonsense_is_still_a_page(person: Client) -> None:
    for query in (
        "sort=-nonsense", "size=7", "status=nothing", "after=!!", "before=e30", "q=%0a%E2%80%AE",
        "project=" + "p," * 500, "framework=nothing", "owner=%F0%9F%92%A9", "q=" + "x" * 5000,
        "unknown=kept",
    ):  # fmt: skip
        assert person.get(f"/workloads?{query}", follow=True).status_code == 200, query


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("page home", "/"),
        ("page list", "/workloads"),
        ("page list filtered", "/workloads?status=running&project=vision&sort=-gpus"),
        ("page overview", "/workloads/{}"),
        ("page pods", "/workloads/{}/pods"),
        ("page events", "/workloads/{}/events"),
        ("page spec", "/workloads/{}/spec"),
        ("page policies", "/policies"),
        ("page policy", "/policies/{scope}"),
        ("page clusters", "/clusters"),
        ("page templates", "/templates"),
        ("page tokens", "/account/tokens"),
        ("changes list", "/workloads/changes?since=2026-01-01T00:00:00%2B00:00&after="),
        ("changes details", "/workloads/{0}/changes?query={0}/overview/0"),
    ],
)
def test_pages_stay_within_their_queries(
    person: Client, world: World, make: Callable[..., Workload], name: str, address: str
) -> None:
    first = make("first", status="Running")
    make("second", status="Failed")
    address = address.format(first.pk, scope=world.vision.scope_id)
    # The first page of a process fills what is kept for all of them.
    assert person.get(address).status_code == 200
    with query_budget(name):
        assert person.get(address).status_code == 200


def test_fifty_rows_are_small_and_cost_no_more_queries_than_two(
    person: Client, make: Callable[..., Workload]
) -> None:
    for number in range(50):
        make(
            f"a-workload-with-a-name-{number:02d}",
            status=list(STATUSES)[number % len(STATUSES)],
            reason=f"Needs {number} CPUs; {number} of 64 are free; 3 workloads are ahead.",
            pods_total=9, pods_ready=number % 9, gpus=8, started_at=db_now(),
        )  # fmt: skip
    assert person.get("/workloads").status_code == 200
    with query_budget("page list"):
        page = person.get("/workloads")
    assert page.content.count(b'data-testid="row-') == 50
    assert len(gzip.compress(page.content, 6)) <= MAX_GZIP


@pytest.mark.parametrize(
    ("action", "before", "said"),
    [
        ("rerun", "", "has not ended"),
        ("stop", "ended", "had already finished"),
        ("rerun", "deleted", "is being deleted"),
        ("resume", "deleted", "is being deleted"),
    ],
)
def test_an_action_that_comes_too_late_says_so(
    person: Client, make: Callable[..., Workload], action: str, before: str, said: str
) -> None:
    typed = {"worker.image": IMAGE, "worker.command": "python train.py"}
    row = make(given={path: Value(value).to_json() for path, value in typed.items()})
    if before == "ended":
        Attempt.objects.filter(workload=row).update(outcome=Outcome.FAILED)
    if before == "deleted":
        intents.delete(workload_id=row.pk, by=PERSON)
    answer = person.post(f"/workloads/{row.pk}/{action}", {"next": "/workloads"}, follow=True)
    assert answer.status_code == 200
    assert said in text(answer.content.decode())


def test_what_is_done_to_several_is_said_once(
    person: Client, make: Callable[..., Workload]
) -> None:
    rows = [make(f"one-{n}", given={}) for n in range(3)]
    intents.delete(workload_id=rows[0].pk, by=PERSON)
    posted = {"action": "delete", "sure": "1", "id": [row.pk for row in rows], "next": "/workloads"}
    page = person.post("/workloads/bulk", posted, follow=True)
    said = [str(message) for message in page.context["messages"]]
    assert said == ["3 workloads are being deleted."]
    posted["action"] = "stop"
    said = [str(m) for m in person.post("/workloads/bulk", posted, follow=True).context["messages"]]
    assert said == [f"{row.name} is being deleted." for row in rows], (
        "what was not done, one by one"
    )


@pytest.mark.parametrize(("count", "last"), [(3, "one-02"), (12, "and 2 more")])
def test_the_question_about_several_names_them(
    person: Client, make: Callable[..., Workload], count: int, last: str
) -> None:
    rows = [make(f"one-{n:02}", given={}) for n in range(count)]
    posted = {"action": "delete", "id": [row.pk for row in rows], "next": "/workloads"}
    page = person.post("/workloads/bulk", posted).content.decode()
    assert f"Delete {count} workloads?" in page
    listed = page[page.index('class="dialog-list"') :].partition("</ul>")[0]
    said = [" ".join(one.split()) for one in re.findall(r"<li>([^<]*)</li>", listed)]
    assert said == [*(row.name for row in rows[:10]), *([last] if count > 10 else [])]
    assert page.count('aria-label="Breadcrumbs"') == 1


def test_the_question_is_only_about_those_that_it_can_be_done_to(
    person: Client, make: Callable[..., Workload]
) -> None:
    runs, over = make("runs", status="Running"), make("over", status="Completed")
    posted = {"action": "stop", "id": [runs.pk, over.pk], "next": "/workloads"}
    page = person.post("/workloads/bulk", posted)
    question = page.context["question"]
    assert (question.verb, question.items) == ("Stop 1 workload", ["runs"])
    assert [value for name, value in question.fields() if name == "id"] == [str(runs.pk)]
    posted["id"] = [over.pk]
    assert person.post("/workloads/bulk", posted).status_code == 302


def test_the_question_about_several_names_nobody_elses(
    world: World, make: Callable[..., Workload]
) -> None:
    row = make("secretly", given={})
    stranger = world.client("stranger")
    page = stranger.post("/workloads/bulk", {"action": "delete", "id": [row.pk]}).content.decode()
    assert "secretly" not in page


def test_a_reason_that_the_table_cuts_can_be_read_in_full(
    person: Client, make: Callable[..., Workload]
) -> None:
    make(reason="2 of 2 pods wait for a node; none has 8 free GPUs.")
    page = person.get("/workloads").content.decode()
    assert 'title="2 of 2 pods wait for a node; none has 8 free GPUs."' in page


def test_the_page_of_tokens_leads_to_the_contract_of_the_api(person: Client) -> None:
    pages = ["/account/tokens", "/api/v1/docs", "/api/v1/openapi.yaml"]
    for page, leads_to in pairwise(pages):
        assert f'href="{leads_to}"' in person.get(page).content.decode()
    assert person.get(pages[-1]).content.startswith(b"openapi: 3.1")


@pytest.mark.parametrize("days", ["", "91", "-7", "seven", "٣٠", "9" * 5000])
def test_a_token_lives_no_longer_than_is_allowed(person: Client, days: str) -> None:
    answer = person.post("/account/tokens/new", {"name": "ci", "days": days})
    assert answer.status_code == 422
    assert not ApiToken.objects.exists()


def test_this_machine_has_no_credential_to_replace(world: World) -> None:
    client = world.client("administrator")
    assert client.get(f"/clusters/{world.cluster.pk}/credential").status_code == 404
