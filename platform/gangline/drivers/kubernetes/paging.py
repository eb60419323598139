"""One collection page by page, and never more of it than a cluster can reasonably have.

https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
"""

from collections.abc import Iterator, Mapping
from typing import Any

from .cancellation import Cancellation
from .client import Answer, Client, Unreachable

PAGE = 500
MOST_PAGES = 500
"""Five times what one installation is made for; a list that goes on after that has no end."""


def pages(
    client: Client,
    path: str,
    query: Mapping[str, str | int],
    cancellation: Cancellation | None = None,
) -> Iterator[Answer]:
    """The answers to one list, up to the first that is no page: the caller judges each.

    Raises Unreachable, also for a server that always has one more page.
    """
    page: dict[str, str | int] = {"limit": PAGE, **query}
    for _ in range(MOST_PAGES):
        answer = client.request("GET", path, query=page, cancellation=cancellation)
        yield answer
        if not answer.ok:
            return
        page["continue"] = str((answer.body.get("metadata") or {}).get("continue") or "")
        if not page["continue"]:
            return
    raise Unreachable(f"{client.access.server} lists without an end.")


def items(page: Answer) -> list[dict[str, Any]]:
    """The objects of one page."""
    return list(page.body["items"] or ())
