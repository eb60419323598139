"""The form of a workload, filled in by a person in a browser, from Set-up to the table."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from playwright.sync_api import Page, expect

from gangline.spec.frameworks import CONFIGURATIONS, FRAMEWORKS
from tests.support.lab import CLUSTER, PATIENCE, PROJECT
from tests.support.waiting import wait_for

APPLIED = "x-gangline-apply"
"""Header of the requests by which a choice draws the rest of the step."""
_IS_SAVED = "(({changed, saving}) => !changed && !saving)(document.querySelector('draft-autosave'))"
CREATED = re.compile(r"/workloads/[0-9a-f-]{36}$")
"""Address of a workload that was just created."""
Row = Mapping[str, str]
"""One row of a list, by the labels of its cells."""


@dataclass(frozen=True)
class Typed:
    """What is typed into the fields of one role, by their paths; lists by the words of a row."""

    texts: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, Sequence[Row]] = field(default_factory=dict)


def submit(
    page: Page,
    name: str,
    *,
    framework: str,
    configuration: str,
    worker: Typed,
    master: Typed | None = None,
) -> None:
    """Create a workload on the lab's cluster; ``master`` only where its set-up differs.

    The page is the table afterwards.
    """
    page.goto("/workloads/new")
    choose_where(page, framework, configuration)
    page.locator('[name="workload.name"]').fill(name)
    press(page, "Continue to workers", "workers")
    fill(page, "worker", worker)
    if page.get_by_role("button", name="Continue to master").count():
        press(page, "Continue to master", "master")
        if master is not None:
            page.get_by_role("switch").check()
            fill(page, "master", master)
    press(page, "Continue to review", "review")
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    page.goto("/workloads")


def choose_where(page: Page, framework: str, configuration: str) -> None:
    """Take the cluster and the project of the lab, a framework and what roles it has."""
    _choose(page, "Cluster", CLUSTER)
    project = page.get_by_label("Project", exact=True)
    project.select_option(project.locator("option", has_text=PROJECT).get_attribute("value"))
    _choose(page, "Framework", FRAMEWORKS[framework].label)
    _choose(page, "Configuration", CONFIGURATIONS[configuration])


def fill(page: Page, role: str, typed: Typed) -> None:
    """Type into the fields of one step, what is folded under Advanced too."""
    for fold in page.locator("form details").all():
        fold.evaluate("fold => { fold.open = true }")
    for path, value in typed.choices.items():  # first: some fields show only with a choice
        page.locator(f'[name="{role}.{path}"]').select_option(value)
    for path, text in typed.texts.items():
        page.locator(f'[name="{role}.{path}"]').fill(text)
    for word, rows in typed.rows.items():
        for number, row in enumerate(rows, 1):
            page.get_by_role("button", name=f"Add {word}", exact=True).click()
            for label, value in row.items():
                cell = page.get_by_label(f"{label}, {word} {number}", exact=True)
                cell = cell.filter(visible=True)
                if cell.evaluate("e => e.tagName") == "SELECT":
                    cell.select_option(value)
                else:
                    cell.fill(value)


def press(page: Page, button: str, step: str) -> None:
    """Press a button that leads to another step."""
    page.get_by_role("button", name=button).click()
    page.wait_for_url(f"**/{step}*")


def _choose(page: Page, question: str, answer: str) -> None:
    """Take a card and wait until the step is drawn anew with what now can be chosen."""
    cards = page.get_by_role("group", name=question)
    card = cards.locator(".card").filter(has=page.get_by_text(answer, exact=True))
    if card.get_by_role("radio").is_checked():
        return
    with page.expect_response(lambda answered: APPLIED in answered.request.headers):
        card.click()
    expect(page.locator("[data-saved]")).to_contain_text("Saved", timeout=PATIENCE)
    expect(card.get_by_role("radio")).to_be_checked()


def everything_is_saved(page: Page) -> None:
    """Wait until the server has what was typed last: "Saved" may stand there of a save before."""
    wait_for(lambda: page.evaluate(_IS_SAVED), seconds=30, every=0.1, what="the save")
    expect(page.locator("[data-saved]")).to_contain_text("Saved", timeout=PATIENCE)
