"""Drafts: saved by themselves, never lost between tabs, one workload each (AC-F19, F22, R25)."""

from typing import Any

import pytest

from tests.support.forms import Filler
from tests.support.world import World
from workloads.models import Draft, Workload

pytestmark = pytest.mark.postgres


def autosave(filler: Filler, step: str, changes: dict[str, str], **more: Any) -> Any:
    return filler.post(step, changes, go="autosave", **more).response


def test_saving_by_itself_inserts_the_row_and_answers_with_the_summary(filler: Filler) -> None:
    answer = autosave(filler, "setup", {"workload.name": "digits"})
    data = answer.json()
    assert answer.status_code == 200
    assert data["version"] == 1
    assert data["saved"].count(":") == 2
    assert "1 worker + 1 master" in data["summary"]
    assert filler.get("setup").page.value("workload.name") == "digits"


def test_saving_by_itself_keeps_what_is_wrong(filler: Filler) -> None:
    filler.fill()
    assert autosave(filler, "workers", {"worker.numWorkers": "many"}).status_code == 200
    assert filler.get("workers").page.value("worker.numWorkers") == "many"


def test_echoes_come_with_the_save(filler: Filler) -> None:
    filler.fill()
    data = autosave(filler, "workers", {"worker.args": "--a 'b c'"}).json()
    assert data["echoes"]["worker.args"] == ("2 words: <code>--a</code> · <code>b c</code>")
    assert data["echoes"]["worker.compute.cpuMemoryRequest"].startswith("= 100")


def test_the_same_tab_never_conflicts(filler: Filler) -> None:
    page = filler.get("setup").page
    autosave(filler, "setup", {"workload.name": "one"}, page=page)
    answer = autosave(filler, "setup", {"workload.name": "two"}, page=page)
    assert answer.status_code == 200
    assert Draft.objects.get().inputs["setup"]["name"]["text"] == "two"


@pytest.mark.parametrize("tabs", [("tab-1", "tab-2"), ("", "")], ids=["scripts", "no scripts"])
def test_a_late_tab_is_told_and_overwrites_nothing(world: World, tabs: tuple[str, str]) -> None:
    """AC-F22. Without scripts a page has no name for its tab."""
    filler, late = (Filler(world, tab=tab) for tab in tabs)
    late.draft = filler.draft
    filler.post("setup", {"workload.name": "first"})
    page = late.get("setup").page
    filler.post("setup", {"workload.name": "second"})
    answer = late.post("setup", {"workload.name": "third"}, page=page)
    assert answer.status == 409
    assert answer.page.has(data_testid="conflict")
    assert answer.page.value("workload.name") == "third"
    assert filler.get("setup").page.value("workload.name") == "second"
    by_script = autosave(late, "setup", {"workload.name": "third"}, page=page)
    assert by_script.status_code == 409
    assert "changed in another tab" in by_script.json()["conflict"]


def test_a_late_tab_may_keep_its_own_or_take_the_other(filler: Filler, world: World) -> None:
    late = Filler(world, tab="tab-2")
    late.draft = filler.draft
    filler.post("setup", {"workload.name": "first"})
    page = late.get("setup").page
    filler.post("setup", {"workload.name": "second"})
    conflict = late.post("setup", {"workload.name": "third"}, page=page).page
    theirs = late.post("setup", go="theirs", page=conflict)
    assert (theirs.status, theirs.location) == (303, late.url("setup"))
    assert filler.get("setup").page.value("workload.name") == "second"
    late.post("setup", {"workload.name": "third"}, go="mine", page=conflict)
    assert filler.get("setup").page.value("workload.name") == "third"


def test_tabs_on_different_steps_do_not_disturb_each_other(filler: Filler, world: World) -> None:
    filler.fill()
    late = Filler(world, tab="tab-2")
    late.draft = filler.draft
    page = late.get("workers").page
    filler.post("setup", {"workload.name": "renamed"})
    assert late.post("workers", {"worker.args": "--x"}, page=page).status == 303
    assert filler.get("setup").page.value("workload.name") == "renamed"


def test_saving_the_same_again_is_no_conflict(filler: Filler, world: World) -> None:
    late = Filler(world, tab="tab-2")
    late.draft = filler.draft
    filler.post("setup", {"workload.name": "first"})
    page = late.get("setup").page
    filler.post("setup", {"workload.name": "second"})
    assert late.post("setup", {"workload.name": "second"}, page=page).status == 303


def test_nothing_is_saved_into_a_submitted_draft(filler: Filler) -> None:
    filler.fill()
    page = filler.get("workers").page
    filler.post("review", go="create")
    before = Draft.objects.get().inputs
    answer = filler.post("workers", {"worker.args": "--late"}, page=page)
    assert (answer.status, answer.location) == (303, f"/workloads/{Workload.objects.get().pk}")
    assert Draft.objects.get().inputs == before


def test_unfinished_drafts_are_offered_on_a_fresh_form(filler: Filler, world: World) -> None:
    filler.post("setup", {"workload.name": "digits"}, go="leave")
    fresh = Filler(world).get("setup").page
    links = [e.attributes.get("href") for e in fresh.elements if e.tag == "a"]
    assert filler.url("setup") in links


def test_a_draft_holds_no_more_than_what_was_typed(filler: Filler) -> None:
    filler.post("setup", {"workload.name": "digits", "csrf": "canary", "password": "canary"})
    assert "canary" not in str(Draft.objects.get().inputs)


def test_a_typed_escape_sequence_is_text_like_any_other(filler: Filler) -> None:
    filler.fill()
    typed = r"printf a\u0000b\\u0000"
    assert filler.post("workers", {"worker.command": typed}, go="leave").status in (302, 303)
    assert filler.get("workers").page.value("worker.command") == typed


@pytest.mark.parametrize(("field", "text"), [("args", "a\0b"), ("workingDir", "/a\0b")])
def test_text_that_cannot_be_stored_is_refused_and_shown_again(
    filler: Filler, field: str, text: str
) -> None:
    filler.ready()
    answer = filler.post("workers", {f"worker.{field}": text}, go="step:review")
    assert answer.status == 422
    assert answer.page.links == [f"f-worker-{field}"]
    assert answer.page.value(f"worker.{field}") == text
    assert field not in str(Draft.objects.get().inputs)


def test_a_tab_may_call_itself_anything(world: World) -> None:
    """Also what PostgreSQL does not store."""
    strange = Filler(world, tab="a\0b")
    assert autosave(strange, "setup", {"workload.name": "digits"}).status_code == 200
    assert Draft.objects.get().versions["setup"]["tab"] == "ab"


def test_a_draft_is_thrown_away_after_a_question(filler: Filler, world: World) -> None:
    filler.post("setup", {"workload.name": "digits"})
    address = f"/workloads/drafts/{filler.draft}/discard"
    assert address in filler.client.get("/").content.decode()
    assert address in filler.get("workers").page.html
    other = Filler(world, person=filler.person)
    assert address in other.get("setup").page.html
    assert "Discard the draft digits?" in filler.client.get(address).content.decode()
    assert Draft.objects.exists(), "a question throws nothing away"
    assert filler.client.post(address).headers["Location"] == "/"
    assert not Draft.objects.exists()


def test_what_was_sent_or_is_somebody_elses_is_not_thrown_away(
    filler: Filler, world: World
) -> None:
    filler.post("setup", {"workload.name": "digits"})
    address = f"/workloads/drafts/{filler.draft}/discard"
    other = Filler(world, person="viewer-vision")
    assert other.client.post(address).status_code == 404
    filler.fill()
    filler.post("review", go="create")
    workload = Workload.objects.get()
    assert filler.client.post(address).headers["Location"] == f"/workloads/{workload.pk}"
    assert Draft.objects.exists()
