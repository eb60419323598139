"""Environment variables, labels and annotations: rows with an id of their own."""

import pytest

from gangline.policies.services import save
from tests.support.forms import Answer, Filler, Page
from tests.support.world import World
from workloads.models import Workload

LIST = "worker.environmentVariables"
POLICY = """
defaults:
  worker:
    environmentVariables:
      instances:
        - {name: WANDB_MODE, value: offline}
        - {name: SEED, value: "1"}
rules:
  worker:
    environmentVariables:
      instances: {locked: [WANDB_MODE]}
"""


def rows(page: Page, path: str = LIST) -> list[str]:
    """Ids of the rows that can be changed."""
    return [value for name, value in page.fields() if name == f"{path}~rows" and value]


def add(filler: Filler, name: str, value: str, step: str = "workers", path: str = LIST) -> Answer:
    filler.post(step, go=f"add:{path}")
    row = rows(filler.get(step).page, path)[-1]
    return filler.post(step, {f"{path}~{row}.name": name, f"{path}~{row}.value": value})


@pytest.fixture
def ready(filler: Filler) -> Filler:
    filler.fill()
    return filler


def test_add_gives_a_row_and_leads_to_it(ready: Filler) -> None:
    answer = ready.post("workers", go=f"add:{LIST}")
    assert answer.status == 303
    anchor = answer.location.partition("#")[2]
    assert ready.get("workers").page.has(id=anchor)


def test_rows_are_sent_in_their_order(ready: Filler) -> None:
    add(ready, "A", "1")
    add(ready, "B", "$(A)/x")
    ready.post("review", go="create")
    said = Workload.objects.get().given[LIST]["value"]
    assert said == [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)/x"}]


def test_a_problem_stands_at_its_row_though_an_empty_row_is_before_it(ready: Filler) -> None:
    ready.post("workers", go=f"add:{LIST}")
    answer = add(ready, "1A", "x")
    assert answer.status == 422
    row = rows(answer.page)[-1]
    shown = answer.page.one(data_testid=f"row-f-worker-environmentVariables-{row}")
    assert "must" in shown.text
    name = answer.page.one(id=f"f-worker-environmentVariables-{row}-name")
    assert name.attributes["aria-invalid"] == "true"
    assert name.attributes["value"] == "1A"


def test_the_same_name_twice_is_said_at_the_second_row(ready: Filler) -> None:
    add(ready, "A", "1")
    answer = add(ready, "A", "2")
    first, second = rows(answer.page)
    wrong = answer.page.one(data_testid=f"row-f-worker-environmentVariables-{second}")
    assert "used twice" in wrong.text
    fine = answer.page.one(data_testid=f"row-f-worker-environmentVariables-{first}")
    assert "used twice" not in fine.text


def test_a_removed_row_can_be_brought_back_until_the_step_is_left(ready: Filler) -> None:
    add(ready, "A", "1")
    row = rows(ready.get("workers").page)[0]
    assert ready.get("workers").page.has(aria_label="Remove A")
    ready.post("workers", go=f"remove:{LIST}~{row}")
    page = ready.get("workers").page
    assert rows(page) == []
    assert page.has(aria_label="Bring back A")
    ready.post("workers", go=f"restore:{LIST}~{row}")
    assert ready.get("workers").page.value(f"{LIST}~{row}.value") == "1"
    ready.post("workers", go=f"remove:{LIST}~{row}")
    ready.post("workers")
    assert not ready.get("workers").page.has(aria_label="Bring back A")


def test_default_items_can_be_changed_left_out_and_brought_back(
    ready: Filler, world: World
) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    page = ready.get("workers").page
    (seed,) = rows(page)
    assert page.value(f"{LIST}~{seed}.value") == "1"
    ready.post("workers", go=f"remove:{LIST}~{seed}")
    assert "left out" in ready.get("workers").page.html
    ready.post("workers", go=f"restore:{LIST}~{seed}")
    ready.post("workers", {f"{LIST}~{seed}.value": "7"})
    ready.post("review", go="create")
    values = Workload.objects.get().attempts.get().effective[LIST]["value"]
    assert values == [
        {"name": "WANDB_MODE", "value": "offline"},
        {"name": "SEED", "value": "7"},
    ]


def test_a_left_out_default_item_is_not_in_the_workload(ready: Filler, world: World) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    (seed,) = rows(ready.get("workers").page)
    ready.post("workers", go=f"remove:{LIST}~{seed}")
    ready.post("review", go="create")
    values = Workload.objects.get().attempts.get().effective[LIST]["value"]
    assert values == [{"name": "WANDB_MODE", "value": "offline"}]


def test_a_locked_item_is_shown_without_a_name_and_a_forged_one_is_ignored(
    ready: Filler, world: World
) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    page = ready.get("workers").page
    locked = [e for e in page.elements if e.attributes.get("value") == "offline"]
    assert [("readonly" in e.attributes, "name" in e.attributes) for e in locked] == [(True, False)]
    assert "Fixed by project vision" in page.html
    row = locked[0].attributes["id"].split("-")[-2]
    forged = {f"{LIST}~rows": row, f"{LIST}~{row}.name": "WANDB_MODE", f"{LIST}~{row}.value": "on"}
    assert ready.post("workers", forged).status == 303
    ready.post("review", go="create")
    values = Workload.objects.get().attempts.get().effective[LIST]["value"]
    assert {"name": "WANDB_MODE", "value": "offline"} in values


def test_the_masters_list_follows_the_workers_until_it_says_something(ready: Filler) -> None:
    add(ready, "A", "1")
    add(ready, "B", "2")
    master = "master.environmentVariables"
    ready.post("master", {"master.different": "on"})
    page = ready.get("master").page
    assert [page.value(f"{master}~{row}.name") for row in rows(page, master)] == ["A", "B"]
    first = rows(page, master)[0]
    ready.post("master", go=f"remove:{master}~{first}")
    add(ready, "C", "3", "master", master)
    add(ready, "D", "4")
    ready.post("review", go="create")
    effective = Workload.objects.get().attempts.get().effective
    names = [item["name"] for item in effective[master]["value"]]
    assert names == ["B", "D", "C"]
