"""Booleans are switches of three positions: on, off, and one that says nothing."""

import pytest

from gangline.policies.services import save
from gangline.spec.workload import WAITING
from tests.support.forms import Filler
from tests.support.world import IMAGE, World
from workloads.models import Workload

pytestmark = pytest.mark.django_db
PATH = "worker.createHomeDir"
DEFAULT = "defaults: {worker: {createHomeDir: true}}"
FIXED = f"{DEFAULT}\nrules: {{worker: {{createHomeDir: {{canEdit: false}}}}}}"


def positions(filler: Filler) -> list[tuple[str, bool, bool]]:
    """Value of each position, whether it is chosen, and whether it is closed."""
    page = filler.get("workers").page
    name = PATH if page.has(name=PATH) else "f-worker-createHomeDir"
    found = [e.attributes for e in page.elements if e.attributes.get("name") == name]
    return [(a["value"] or "", "checked" in a, "disabled" in a) for a in found]


def test_each_position_is_kept_and_told_apart(filler: Filler) -> None:
    filler.fill()
    assert positions(filler) == [("", True, False), ("false", False, False), ("true", False, False)]
    for value in ("true", "false", ""):
        filler.post("workers", {PATH: value}, go="apply")
        assert [v for v, chosen, _ in positions(filler) if chosen] == [value]


def test_a_default_of_a_policy_is_shown_and_can_be_gone_back_to(
    filler: Filler, world: World
) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=DEFAULT)
    filler.fill()
    assert positions(filler) == [("false", False, False), ("true", True, False)]
    filler.post("workers", {PATH: "false"}, go="apply")
    assert positions(filler)[0] == ("false", True, False)
    filler.post("workers", go=f"reset:{PATH}")
    assert positions(filler)[1] == ("true", True, False)


def test_a_policy_locks_it_where_it_stands(filler: Filler, world: World) -> None:
    filler.fill()
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=FIXED)
    assert positions(filler) == [("false", False, True), ("true", True, True)]


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
