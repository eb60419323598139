"""The tools of a workload, and the pages that belong to it elsewhere."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gangline.clusters.connections import site
from gangline.drivers import tools
from gangline.spec.problems import Role
from gangline.spec.tools import EVERYONE, GROUPS, TOOLS, ExposedUrl, resolved
from workloads import refs
from workloads.models import Attempt, Workload

_LISTS = ("exposedUrls", "ports", "relatedUrls")


@dataclass(frozen=True, slots=True)
class ToolLink:
    """One tool as people see it. ``address`` is its own; through Gangline one gets in."""

    name: str
    label: str
    kind: str
    address: str
    who: str
    authorization: str


@dataclass(frozen=True, slots=True)
class PortLink:
    """A port that the cluster opens; no address before the cluster has told it."""

    name: str
    label: str
    address: str


@dataclass(frozen=True, slots=True)
class RelatedLink:
    """A page elsewhere; no address where a variable in it is not known."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Links:
    tools: tuple[ToolLink, ...] = ()
    ports: tuple[PortLink, ...] = ()
    related: tuple[RelatedLink, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tools or self.ports or self.related)


def links_of(workload: Workload, attempt: Attempt) -> Links:
    """Everything that the newest attempt has to open."""
    values = attempt.values
    if not any(values.get(f"{role}.{path}") for role in Role for path in _LISTS):
        return Links()
    submission = refs.submission_of(workload, values)
    addresses = addresses_of(workload, attempt)
    opened: Mapping[str, str] = attempt.tool_addresses
    return Links(
        tuple(
            ToolLink(
                one.tool.name, one.tool.label, one.tool.tool_type or "custom",
                addresses.get(one.tool.name, ""), who(one.tool), one.tool.access[0],
            )
            for one in tools.urls(submission)
        ),
        tuple(
            PortLink(one.tool.name, one.tool.label, opened.get(one.tool.name, ""))
            for one in tools.ports(submission)
        ),
        tuple(_related(values)),
    )  # fmt: skip


def addresses_of(workload: Workload, attempt: Attempt) -> Mapping[str, str]:
    """The address of each tool by its name."""
    return workload.cluster.engine.tools(attempt.rendered or {}, str(workload.pk), site())


def tool_of(workload: Workload, attempt: Attempt, name: str) -> tools.Placed[ExposedUrl] | None:
    """One tool and the replica that it runs in."""
    every = tools.urls(refs.submission_of(workload, attempt.values))
    return next((one for one in every if one.tool.name == name), None)


def port_here(attempt: Attempt, placed: tools.Placed[ExposedUrl]) -> int | None:
    """Where a tool of this machine listens; None before it has its slots."""
    for slot in attempt.placement or ():
        if slot["role"] == placed.role.name and slot["index"] == 0:
            own = slot["ports"][1:]
            return int(own[placed.place]) if placed.place < len(own) else None
    return None


def who(tool: ExposedUrl) -> str:
    """Who may open it, in words."""
    kind, names = tool.access
    if kind == EVERYONE:
        return "Everyone who is signed in"
    listed = ", ".join(names)
    return f"Members of {listed}" if kind == GROUPS else listed


def word(kind: str) -> str:
    """What people call a type of tools."""
    return TOOLS[kind][0]


def _related(values: Mapping[str, Any]) -> Iterator[RelatedLink]:
    seen: set[str] = set()
    for role in (Role.MASTER, Role.WORKER):
        own = values.get(f"{role}.environmentVariables") or ()
        known = {one["name"]: one["value"] for one in own if one.get("value") is not None}
        for item in values.get(f"{role}.relatedUrls") or ():
            if item["name"] not in seen:
                seen.add(item["name"])
                yield RelatedLink(item["name"], resolved(item["url"], known) or "")
