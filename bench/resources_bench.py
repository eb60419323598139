"""Every list of a resource, as page and as JSON, at 10 000 rows beside a bare view.

Walks the registry, and makes rows with the samples of the contract: no resource is named here.
"""

from collections.abc import Callable, Iterator
from typing import Any

from bench import servers
from bench.loads import Samples, in_turns, median, row
from bench.report import Row, Target

COUNT, ORIGINALS, ROUNDS, PAGE = 10_000, 3, 20, 50


def run() -> list[Row]:
    found: list[Row] = []
    with servers.places() as each:
        for place in each:
            for key, one in place.inside("bench.resources_bench:measure").items():
                found += _rows(place.database, key, one)
    return found


def _rows(database: str, key: str, one: dict[str, Any]) -> Iterator[Row]:
    for kind, limit in (("page", 40), ("API", 25)):
        if kind not in one["times"]:
            continue
        samples = Samples(**one["times"][kind])
        note = f"{one['queries'][kind]} queries, {one['rows']} rows"
        note += f", 1 %→all × {median(samples.cpu) / median(one['few'][kind]['cpu']):.2f}"
        yield row(
            "resources", f"{database} {kind}, {key}", samples,
            floor=Samples(**one["times"]["bare"]), floor_name="bare view",
            targets=(Target("cpu", limit),), note=note,
        )  # fmt: skip


def measure() -> dict[str, Any]:
    """Inside: every resource at a hundredth of its rows and at all of them, which are gone then."""
    from bench.copies import Copies
    from gangline.resources.registry import resources
    from tests.resources.samples import SAMPLES
    from tests.support.world import make_world

    world, found = make_world(), {}
    for resource in resources():
        if resource.key not in SAMPLES:
            continue
        name = resource.key.replace("_", "-")
        made = (SAMPLES[resource.key].make(world, f"{name}-{n}") for n in range(ORIGINALS))
        with Copies(made) as copies:
            copies.fill(COUNT // 100)
            few, _ = _times(resource)
            copies.fill(COUNT)
            times, queries = _times(resource)
            found[resource.key] = {
                "times": times, "few": few, "queries": queries,
                "rows": resource.model._default_manager.count(),
            }  # fmt: skip
    return found


def _times(resource: Any) -> tuple[dict[str, Any], dict[str, int]]:
    from django.db import connection

    from bench import organisation
    from bench.wsgi import Browser

    caller = Browser(HTTP_AUTHORIZATION=organisation.token(organisation.ADMINISTRATOR))
    browser = Browser(HTTP_COOKIE=organisation.cookie(organisation.ADMINISTRATOR))
    asked = {
        "bare": (caller, f"/bench/resource/{resource.key}"),
        "page": (browser, resource.list_url()),
    }
    wire = resource.wire
    # One without pages answers every row: there is no first page to measure.
    if wire is not None and "list" in wire.methods and wire.is_paged:
        asked["API"] = (caller, f"/api/v1/{wire.path}?limit={PAGE}")
    works: dict[str, Callable[[], object]] = {
        name: lambda who=who, path=path: who.get(path)  # type: ignore[misc]
        for name, (who, path) in asked.items()
    }
    samples = in_turns(works, rounds=ROUNDS, warm=2)
    queries = {name: who.queries(path) for name, (who, path) in asked.items()}
    connection.close()
    return {name: one.as_json() for name, one in samples.items()}, queries
