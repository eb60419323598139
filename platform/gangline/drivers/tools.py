"""The tools of a gang: which replica each of them runs in, and what programs learn of it."""

from collections.abc import Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from gangline.drivers.base import Submission
from gangline.spec.frameworks import GangRole
from gangline.spec.problems import Role
from gangline.spec.tools import ExposedPort, ExposedUrl, Tool
from gangline.spec.workload import ReplicaSpec

T = TypeVar("T", bound=Tool)
PORT_VARIABLE = "GANGLINE_TOOL_PORT_"


class Placed(NamedTuple, Generic[T]):
    """A tool of the first replica of ``role``; ``place`` is its index in the list there."""

    role: GangRole
    place: int
    tool: T


def urls(submission: Submission) -> list[Placed[ExposedUrl]]:
    """Each name once: what the master has goes before what the workers have alike."""
    return _placed([(p.role, p.spec.exposed_urls or ()) for p in submission.parts])


def ports(submission: Submission) -> list[Placed[ExposedPort]]:
    return _placed([(p.role, p.spec.ports or ()) for p in submission.parts])


def variable(name: str) -> str:
    """What programs find the port of the tool in."""
    return PORT_VARIABLE + name.upper().replace("-", "_")


def all_of(spec: ReplicaSpec) -> Iterator[Tool]:
    yield from spec.exposed_urls or ()
    yield from spec.ports or ()


def _placed(lists: Sequence[tuple[GangRole, Sequence[T]]]) -> list[Placed[T]]:
    found: dict[str, Placed[T]] = {}
    for role, items in sorted(lists, key=lambda one: one[0].half is Role.WORKER):
        for index, tool in enumerate(items):
            found.setdefault(tool.name, Placed(role, index, tool))
    return list(found.values())
