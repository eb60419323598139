"""The badge of a workload whose cluster does not answer: it has room, and no row grows for it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from gangline.db.clock import db_now
from tests.support.engine import new_workload
from tests.support.screens import violations
from tests.support.world import IMAGE, World
from workloads.models import Workload

Opener = Callable[..., Page]
PERSON = "researcher-vision"
WORDS = "No contact since"
REASON = "All 3 pods are ready, and this goes on for longer than any column is wide."
# What is drawn of a badge outside of the cell that it stands in, and how tall the rows are.
MEASURE = """() => [...document.querySelectorAll("td[data-col=status]")].map((cell) => {
  const box = cell.getBoundingClientRect();
  const inside = [...cell.querySelectorAll(".status")].map((e) => e.getBoundingClientRect());
  return {
    over: Math.max(...inside.map((one) => one.right)) - box.right,
    height: Math.round(cell.parentElement.getBoundingClientRect().height),
  };
})"""


@pytest.fixture
def gangs(world: World) -> None:
    for name, lost in (("here", None), ("away", db_now())):
        row = new_workload(
            name=name,
            project=world.vision,
            owner=world.people[PERSON],
            values={"image": IMAGE, "command": "python train.py"},
            workers=2,
        )
        Workload.objects.filter(pk=row.pk).update(
            status="Initializing", reason=REASON, contact_lost_at=lost, pods_total=3
        )


@pytest.mark.usefixtures("gangs")
@pytest.mark.parametrize(("address", "width"), [("/workloads", 1024), ("/", 390)])
def test_the_badge_covers_nothing(open_page: Opener, address: str, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 900})
    page.goto(address)
    badge = page.locator("td[data-col=status] .status").filter(has_text=WORDS)
    expect(badge).to_be_visible()
    page.evaluate("document.fonts.ready")
    found = page.evaluate(MEASURE)
    assert len(found) == 2
    assert max(one["over"] for one in found) <= 0
    if width > 900:
        # The last row has no line below it.
        assert abs(found[0]["height"] - found[1]["height"]) <= 1
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert violations(page) == []
