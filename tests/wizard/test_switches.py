"""Booleans are switches; one that nobody has touched says nothing."""

import pytest

from gangline.policies.services import save
from gangline.spec.workload import WAITING
from tests.support.forms import Filler
from tests.support.world import IMAGE, World
from workloads.models import Draft, Workload

pytestmark = pytest.mark.django_db
PATH = "worker.createHomeDir"
DEFAULT = "defaults: {worker: {createHomeDir: true}}"
FIXED = f"{DEFAULT}\nrules: {{worker: {{createHomeDir: {{canEdit: false}}}}}}"
REQUIRED = "rules: {worker: {createHomeDir: {required: true}}}"


def is_on(filler: Filler, path: str = PATH, step: str = "workers") -> bool:
    control = filler.get(step).page.one(id=f"f-{path.replace('.', '-')}")
    assert control.attributes["role"] == "switch"
    return "checked" in control.attributes


def said(filler: Filler, half: str = "workers") -> str | None:
    typed = Draft.objects.get().inputs.get(half, {}).get(PATH.partition(".")[2])
    return str(typed["text"]) if typed else None


def turn(filler: Filler, *, on: bool, path: str = PATH, step: str = "workers") -> None:
    """Send the step as a browser does: what stands before the checkbox, and it where it is on."""
    page = filler.get(step).page
    off_value, on_value = (e.attributes["value"] for e in page.all(name=path))
    rest = [(name, text) for name, text in page.fields() if name != path]
    sent = [(path, off_value), *([(path, on_value)] if on else [])]
    filler.send(step, [*rest, *sent, ("_go", "apply")])


def test_it_says_what_differs_from_what_holds_anyway(filler: Filler, world: World) -> None:
    filler.fill()
    assert (is_on(filler), said(filler)) == (False, None)
    for on, text in ((True, "true"), (False, None)):
        turn(filler, on=on)
        assert (is_on(filler), said(filler)) == (on, text)
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=DEFAULT)
    for on, text in ((True, None), (False, "false"), (True, None), (False, "false")):
        turn(filler, on=on)
        assert (is_on(filler), said(filler)) == (on, text)
    filler.post("workers", go=f"reset:{PATH}")
    assert (is_on(filler), said(filler)) == (True, None)


def test_the_masters_stands_as_the_workers_until_it_is_turned(filler: Filler) -> None:
    filler.fill()
    turn(filler, on=True)
    filler.post("master", {"master.different": "on"}, go="apply")
    own = {"path": "master.createHomeDir", "step": "master"}
    assert is_on(filler, **own)
    assert "On (as the workers)" in filler.get("master").page.html
    turn(filler, on=True, **own)
    assert said(filler, "master") is None
    turn(filler, on=False, **own)
    assert (is_on(filler, **own), said(filler, "master")) == (False, "false")


def test_a_policy_locks_it_where_it_stands(filler: Filler, world: World) -> None:
    filler.fill()
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=FIXED)
    assert is_on(filler)
    control = filler.get("workers").page.one(id="f-worker-createHomeDir")
    assert "disabled" in control.attributes
    assert "name" not in control.attributes


def test_where_one_must_choose_neither_position_is_chosen(filler: Filler, world: World) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=REQUIRED)
    filler.post("setup", {"workload.name": "digits"})
    page = filler.get("workers").page
    options = page.one(name=PATH).inside
    assert [(e.attributes["value"], "selected" in e.attributes) for e in options] == [
        ("", True),
        ("false", False),
        ("true", False),
    ]


def test_a_session_needs_no_command_and_has_limits_of_its_own(filler: Filler) -> None:
    """Without one its pods sleep, which the empty field says."""
    where = {"workload.name": "digits", "workload.projectId": str(filler.world.vision.pk)}
    filler.post("setup", where)
    said = {"worker.image": IMAGE, "worker.interactive": "true"}
    filler.post("workers", said, go="apply")
    page = filler.get("workers").page
    assert page.value("worker.command") == WAITING
    assert page.value("worker.sessionTimeLimitSeconds~unit") == "min"
    assert filler.post("workers", {"worker.sessionTimeLimitSeconds": "480"}).status == 303
    filler.post("master")
    filler.post("review", go="create")
    workload = Workload.objects.get()
    assert (workload.is_interactive, workload.session_seconds) == (True, 28800)
    assert workload.attempts.get().effective["worker.command"]["value"] == WAITING
