"""Every operation as data: what is sent, and how the answer is read. Nothing here waits."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote
from uuid import uuid4

from . import models

T = TypeVar("T")
Json = dict[str, Any]
MOST_ROWS = 200


def _same(body: Any) -> Any:
    return body


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request. ``is_repeatable``: sent twice it changes nothing more."""

    method: str
    path: str
    read: Callable[[Any], T] = _same
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    text: str | None = None
    """A body that is YAML."""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_repeatable(self) -> bool:
        return self.method == "GET" or "Idempotency-Key" in self.headers


@dataclass(frozen=True)
class Listing(Call[list[Json]]):
    """A list that comes in pages; ``envelope`` is the key of the rows, empty for a bare array."""

    envelope: str = ""
    is_paged: bool = True


def get(path: str, **query: Any) -> Call[Any]:
    """Anything below ``/api/``."""
    return Call("GET", path, query=query)


def me() -> Call[models.Me]:
    """Who the credentials belong to."""
    return Call("GET", "v1/me")


# Workloads


def workloads(
    *,
    project: str = "",
    status: str = "",
    name: str = "",
    search: str = "",
    filters: Sequence[str] = (),
    sort: str = "",
    descending: bool = False,
    deleted: bool = False,
    limit: int | None = None,
) -> Listing:
    """Workloads that may be seen, newest first; ``limit`` of them at most, else all.

    ``filters`` are conditions such as ``gpus>=8``; ``project`` is a name.
    """
    given = {"projectName": project, "status": status, "name": name}
    conditions = [f"{key}=={value}" for key, value in given.items() if value]
    return _listing(
        "v1/workloads",
        "workloads",
        filterBy=",".join([*conditions, *filters]),
        search=search,
        sortBy=sort,
        sortOrder="desc" if descending and sort else "",
        deleted="true" if deleted else "",
        limit=limit,
    )


def workload(workload_id: str) -> Call[models.WorkloadDetailed]:
    return Call("GET", f"v1/workloads/{quote(workload_id, safe='')}")


def submitted(workload_id: str) -> Call[models.DistributedWorkload]:
    """As it was submitted, with the values that its newest attempt runs."""
    return Call("GET", f"{_distributed(workload_id)}")


def submit(
    body: models.DistributedCreationRequest | Mapping[str, Any] | str, *, key: str = ""
) -> Call[models.DistributedWorkload]:
    """Create a workload; ``body`` as a mapping, or as the text of a YAML or JSON file.

    ``key`` makes repeating harmless: the same key and body give the same workload.
    """
    return _submission(body, {}, {"Idempotency-Key": key or uuid4().hex})


def preview(
    body: models.DistributedCreationRequest | Mapping[str, Any] | str, *, ask_cluster: bool = False
) -> Call[models.DistributedPreview]:
    """What a submission would become: nothing is stored. Raises what the submission would."""
    return _submission(body, {"dryRun": "All" if ask_cluster else "true"}, {})


def _submission(body: Any, query: Mapping[str, str], headers: Mapping[str, str]) -> Call[Any]:
    path = "v1/workloads/distributed"
    if isinstance(body, str):
        return Call("POST", path, query=query, text=body, headers=headers)
    return Call("POST", path, query=query, body=dict(body), headers=headers)


def suspend(workload_id: str) -> Call[Json]:
    """End its processes and keep the record."""
    return Call("POST", f"{_distributed(workload_id)}/suspend")


def resume(workload_id: str) -> Call[Json]:
    """Start a stopped workload as it was submitted."""
    return Call("POST", f"{_distributed(workload_id)}/resume")


def rerun(workload_id: str, *, key: str = "") -> Call[models.DistributedWorkload]:
    """A new attempt of an ended workload."""
    headers = {"Idempotency-Key": key or uuid4().hex}
    return Call("POST", f"{_distributed(workload_id)}/rerun", headers=headers)


def delete(workload_id: str) -> Call[Json]:
    """Stop it if it runs and remove everything of it."""
    return Call("DELETE", _distributed(workload_id))


def pods(workload_id: str, *, limit: int | None = None) -> Listing:
    return _listing(f"v1/workloads/{quote(workload_id, safe='')}/pods", "pods", limit=limit)


def events(workload_id: str, *, oldest_first: bool = False, limit: int | None = None) -> Listing:
    order = "asc" if oldest_first else "desc"
    path = f"v1/workloads/{quote(workload_id, safe='')}/events"
    return _listing(path, "events", sortOrder=order, limit=limit)


def log(
    workload_id: str,
    *,
    pod: str = "",
    attempt: int | None = None,
    after: str | None = None,
    before: str | None = None,
    start: bool = False,
    limit: int | None = None,
) -> Call[models.Log]:
    """Lines of all pods in the order of their times: the newest, or those at a place."""
    query = {
        "pod": pod,
        "attempt": attempt,
        "after": after,
        "before": before,
        "start": "true" if start else "",
        "limit": limit,
    }
    path = f"v1/workloads/{quote(workload_id, safe='')}/logs"
    return Call("GET", path, query=_given(query))


def _distributed(workload_id: str) -> str:
    return f"v1/workloads/distributed/{quote(workload_id, safe='')}"


# Policy


def policy(scope: str, scope_id: str = "") -> Call[models.DistributedPolicy]:
    """The policy of a scope (tenant, cluster, department, project), and what holds there."""
    query = {"scope": scope} | ({f"{scope}Id": scope_id} if scope_id else {})
    return Call("GET", "v2/policy/distributed", query=query)


# Resources


@cache
def resources() -> Mapping[str, Json]:
    """Every kind of thing that the API lists, by its key, as the server declares it."""
    text = files(__package__).joinpath("resources.json").read_text(encoding="utf-8")
    return {one["key"]: one for one in json.loads(text)}


def resource(key: str) -> Json:
    """One of them. Raises LookupError with those that there are."""
    found = resources().get(key)
    if found is None:
        raise LookupError(f"There is no resource {key!r}. Resources: {', '.join(resources())}.")
    return found


def rows(
    key: str,
    *,
    filters: Sequence[str] = (),
    search: str = "",
    limit: int | None = None,
) -> Listing:
    """Rows of a resource, such as ``rows("project", filters=["name==vision"])``."""
    one = resource(key)
    query = {"filterBy": ",".join(filters), "search": search}
    made = _listing(f"v1/{one['path']}", one["envelope"], limit=limit, **query)
    return Listing(
        made.method,
        made.path,
        query=made.query if one["paged"] else {k: v for k, v in made.query.items() if k != "limit"},
        envelope=one["envelope"],
        is_paged=one["paged"],
    )


def row(key: str, row_id: str) -> Call[Json]:
    return Call("GET", f"v1/{resource(key)['path']}/{quote(row_id, safe='')}")


def create_row(key: str, body: Mapping[str, Any]) -> Call[Json]:
    return Call("POST", f"v1/{resource(key)['path']}", body=dict(body))


def update_row(key: str, row_id: str, body: Mapping[str, Any]) -> Call[Json | None]:
    """Change what ``body`` says of it; where the API only knows replacements, replace it."""
    one = resource(key)
    method = "PATCH" if "patch" in one["verbs"] else "PUT"
    return Call(method, f"v1/{one['path']}/{quote(row_id, safe='')}", body=dict(body))


def delete_row(key: str, row_id: str) -> Call[Json | None]:
    return Call("DELETE", f"v1/{resource(key)['path']}/{quote(row_id, safe='')}")


def _listing(path: str, envelope: str, *, limit: int | None = None, **query: Any) -> Listing:
    size = {"limit": min(limit, MOST_ROWS) if limit else MOST_ROWS}
    return Listing("GET", path, query=_given(query) | size, envelope=envelope)


def _given(query: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in query.items() if value is not None and value != ""}


def rows_of(listing: Listing, body: Any) -> list[Json]:
    """The rows in an answer, whatever its envelope."""
    found = body.get(listing.envelope) if listing.envelope else body
    if isinstance(found, dict):
        found = found.get(listing.envelope)
    return [one for one in cast("list[Any]", found or []) if isinstance(one, dict)]


def next_page(listing: Listing, body: Any) -> Listing | None:
    """The listing of the page after this one; None on the last."""
    if not listing.is_paged or not isinstance(body, dict):
        return None
    if body.get("cursor"):
        own = {k: v for k, v in listing.query.items() if k != "offset"}
        return _with(listing, {**own, "cursor": body["cursor"]})
    if body.get("next") is not None:
        return _with(listing, {**listing.query, "offset": body["next"]})
    return None


def _with(listing: Listing, query: Mapping[str, Any]) -> Listing:
    return Listing(listing.method, listing.path, query=query, envelope=listing.envelope)
