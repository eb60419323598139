"""Query budgets: `tests/query_counts.json` says how many statements a page or endpoint may send.

A test that needs more fails; one that needs fewer fails too, so that the budget is tightened.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection
from django.test.utils import CaptureQueriesContext

BUDGETS = Path(__file__).parents[1] / "query_counts.json"
_OVERHEAD = ("SAVEPOINT", "RELEASE SAVEPOINT", "BEGIN", "COMMIT", "SELECT clock_timestamp()")
"""Differ between the two databases and between tests and the product."""


@contextmanager
def query_budget(name: str) -> Iterator[None]:
    """Hold the block to the budget ``name`` of `query_counts.json`."""
    allowed = json.loads(BUDGETS.read_text())[name]
    with CaptureQueriesContext(connection) as captured:
        yield
    sent = [q["sql"] for q in captured if not q["sql"].startswith(_OVERHEAD)]
    if len(sent) != allowed:
        listed = "\n".join(f"  {n}. {sql[:300]}" for n, sql in enumerate(sent, start=1))
        verb = "needs" if len(sent) > allowed else "needs only"
        raise AssertionError(f"{name} may send {allowed} queries and {verb} {len(sent)}:\n{listed}")
