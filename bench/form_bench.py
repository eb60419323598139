"""The form of a workload: its pages and its automatic save, beside a bare view of the draft.

One draft says what most do and one every field, on a Kubernetes that has them all, under 50 rules
in four scopes.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

from bench import rules, servers
from bench.loads import Samples, in_turns, row
from bench.report import Row, Target

ROUNDS = 30
STEPS = ("setup", "workers", "review")
SAVE, BARE = "autosave of workers", "bare view"
TARGETS = {"workers": 40, SAVE: 25}
USUAL, WHOLE = "usual", "every field"


def run() -> list[Row]:
    found: list[Row] = []
    with servers.places() as each:
        for place in each:
            for name, one in place.inside("bench.form_bench:measure").items():
                found += _rows(f"{place.database}, {name}", one)
    return found


def _rows(where: str, one: dict[str, Any]) -> Iterator[Row]:
    floor = Samples(**one["times"].pop(BARE))
    for name, times in one["times"].items():
        yield row(
            "form", f"{where}: {name}", Samples(**times), floor=floor, floor_name=BARE,
            targets=(Target("cpu", TARGETS[name]),) if name in TARGETS else (),
            note=f"{one['queries'][name]} queries, {one['values']} values under"
            f" {rules.count()} rules",
        )  # fmt: skip


def measure() -> dict[str, Any]:
    """Inside: every step and the save of each draft, in turns."""
    from bench import organisation

    world = organisation.make_once()
    organisation.rule(world.projects[0])
    organisation.has_everything(world.cluster)
    return {USUAL: _of_draft(world, rules.usual()), WHOLE: _of_draft(world, rules.full())}


def _of_draft(world: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    from django.db import connection

    from bench import organisation
    from bench.wsgi import Browser
    from tests.support.forms import Page

    draft = _draft(world, values)
    browser = Browser(HTTP_COOKIE=organisation.cookie(organisation.ADMINISTRATOR))
    pages = {step: f"/workloads/new/{draft}/{step}" for step in STEPS}
    shown = Page(browser.get(f"{pages['workers']}?check=1").body.decode())
    if errors := [one.text for one in shown.all(**{"class": "errors-link"})]:
        raise AssertionError(errors)
    typed = [pair for pair in shown.fields() if pair[0] not in ("worker.args", "_tab")]
    numbers = count()

    def save() -> None:
        more = {"worker.args": f"--epochs {next(numbers)}", "_tab": "bench", "_go": "autosave"}
        browser.post(pages["workers"], [*typed, *more.items()])

    works: dict[str, Callable[[], object]] = {
        step: lambda path=path: browser.get(path)  # type: ignore[misc]
        for step, path in pages.items()
    }
    works |= {SAVE: save, BARE: lambda: browser.get(f"/bench/draft/{draft}")}
    samples = in_turns(works, rounds=ROUNDS)
    queries = {name: browser.queries(work) for name, work in works.items()}
    connection.close()
    return {
        "times": {name: one.as_json() for name, one in samples.items()},
        "queries": queries, "values": len(values),
    }  # fmt: skip


def _draft(world: Any, values: Mapping[str, Any]) -> Any:
    """A draft that says these values, and can be created."""
    from bench.organisation import ADMINISTRATOR
    from gangline.db.clock import db_now
    from gangline.spec.frameworks import WORKERS_AND_MASTER
    from workloads.models import Draft, Workload
    from workloads.wizard.prefill import copy_of

    said = Workload(
        project=world.projects[0], cluster=world.cluster, framework="PyTorch",
        master="own" if any(path.startswith("master.") for path in values) else "same",
        configuration=WORKERS_AND_MASTER,
        given={path: {"value": value} for path, value in values.items()},
    )  # fmt: skip
    now = db_now()
    made = Draft.objects.create(
        owner=world.by_name[ADMINISTRATOR], inputs=copy_of(said, name="whole").to_json(),
        created_at=now, updated_at=now,
    )  # fmt: skip
    return made.pk
