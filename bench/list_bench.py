"""The list as page and as JSON, at 1 000 and 100 000 workloads, beside a bare view and raw SQL."""

import gzip
import json
from collections.abc import Callable
from typing import Any

from bench import servers
from bench.loads import Samples, in_turns, median, row
from bench.report import Row, Target
from bench.servers import Place

SIZES = (1_000, 100_000)
ROUNDS = 60
API = "/api/v1/workloads"
CASES: dict[str, tuple[str, str, str]] = {
    "newest": ("first page", f"{API}?limit=50", "/workloads"),
    "status": ("status", f"{API}?filterBy=status==Running", "/workloads?status=running"),
    "project": ("project", f"{API}?filterBy=projectName==project-03",
                "/workloads?project=project-03"),
    "name": ("by name", f"{API}?sortBy=name&sortOrder=asc", "/workloads?sort=name"),
    "gpus": ("by GPUs", f"{API}?sortBy=gpus&sortOrder=desc", "/workloads?sort=-gpus"),
    "owner": ("by owner", f"{API}?sortBy=submittedBy&sortOrder=asc", "/workloads?sort=owner"),
    "search": ("search", f"{API}?search=bert", "/workloads?q=bert"),
    "next": ("next page", f"{API}?limit=50", "/workloads"),
}  # fmt: skip
PEOPLE = {"newest": "administrator", "two": "researcher", "small": "newcomer"}


def run() -> list[Row]:
    found: list[Row] = []
    with servers.places() as each:
        for place in each:
            by_size = [_measure(place, size) for size in SIZES]
            found += _rows(place.database, *by_size)
    return found


def _measure(place: Place, size: int) -> dict[str, Any]:
    place.inside("bench.list_bench:fill", count=size)
    return dict(place.inside("bench.list_bench:measure"))


def _rows(database: str, small: dict[str, Any], large: dict[str, Any]) -> list[Row]:
    found = []
    for name, one in large.items():
        for kind, targets in (
            ("API", (Target("ratio", 1.5),)),
            ("page", (Target("median", 25),)),
        ):
            samples = Samples(**one[kind]["times"])
            growth = median(samples.cpu) / median(small[name][kind]["times"]["cpu"])
            sizes = f"{one[kind]['raw'] / 1000:.0f} KB, {one[kind]['gzip'] / 1000:.1f} KB gzip"
            note = f"{one[kind]['queries']} queries, {sizes}, 1k→100k × {growth:.2f}"
            note += f", raw SQL {median(one['sql']['wall']):.2f} ms"
            found.append(
                row(
                    "list", f"{database} {kind}, {one['label']}", samples,
                    floor=Samples(**one["bare"]), floor_name="bare view", targets=targets,
                    note=note,
                )
            )  # fmt: skip
    return found


def fill(count: int) -> None:
    """Inside: the organisation, if it is not there yet, and so many workloads."""
    from bench import organisation, seed
    from workloads.models import Workload

    for model in _dependants(Workload, set()):
        model._default_manager.all()._raw_delete("default")
    seed.fill(organisation.make_once(), count)


def _dependants(model: Any, seen: set[Any]) -> list[Any]:
    """Models whose rows hold rows of ``model``, those first that nothing else holds; it is last."""
    seen.add(model)
    found = []
    for relation in model._meta.related_objects:
        if relation.related_model not in seen:
            found += _dependants(relation.related_model, seen)
    return [*found, model]


def measure() -> dict[str, Any]:
    """Inside: every case through the whole of Django, in turns with its raw limits."""
    from bench import organisation

    found: dict[str, Any] = {}
    for case, (label, api, page) in CASES.items():
        found[case] = _case(case, label, api, page, organisation.ADMINISTRATOR)
    for case, person in (("two", organisation.RESEARCHER), ("small", organisation.NEWCOMER)):
        found[case] = _case(case, f"first page of the {person}", API, "/workloads", person)
    return found


def _case(case: str, label: str, api: str, page: str, person: str) -> dict[str, Any]:
    from django.db import connection

    from bench import bare, organisation
    from bench.wsgi import Browser
    from workloads.api.representation import LIST_COLUMNS

    caller = Browser(HTTP_AUTHORIZATION=organisation.token(person))
    browser = Browser(HTTP_COOKIE=organisation.cookie(person))
    if case == "next":
        api += f"&cursor={json.loads(caller.get(api).body)['cursor']}"
        page = (
            browser.get(page)
            .body.decode()
            .partition('rel="next" href="')[2]
            .partition('"')[0]
            .replace("&amp;", "&")
        )
    sql, parameters = bare.case(case).values(*LIST_COLUMNS).query.sql_with_params()

    def raw() -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            cursor.fetchall()

    works: dict[str, Callable[[], object]] = {
        "API": lambda: caller.get(api),
        "bare": lambda: caller.get(f"/bench/rows/{case}"),
        "page": lambda: browser.get(page),
    }
    samples = in_turns(works, rounds=ROUNDS)
    connection.close()
    sql_samples = in_turns({"sql": raw}, rounds=ROUNDS)["sql"]
    connection.close()
    found: dict[str, Any] = {
        "label": label, "bare": samples["bare"].as_json(), "sql": sql_samples.as_json(),
    }  # fmt: skip
    for kind, who, path in (("API", caller, api), ("page", browser, page)):
        answer = who.get(path)
        found[kind] = {
            "times": samples[kind].as_json(),
            "queries": who.queries(path),
            "raw": len(answer.body),
            "gzip": len(gzip.compress(answer.body, 6)),
        }
    return found
