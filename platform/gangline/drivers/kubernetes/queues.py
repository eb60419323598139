"""Queues of a cluster's scheduler: which ones it has, and whether a project's is among them. Pure.

Administrators make them; Gangline puts workloads into them and reads why they wait.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangline.drivers.base import Submission
from gangline.drivers.facts import Facts
from gangline.spec.problems import Problem, Role

from .schedulers import ADAPTERS, SchedulerAdapter

MANAGED = re.compile(r"gl-[0-9a-f]{8}-p[0-9]+")
"""Names of the queues that Gangline keeps itself: named only once they are there."""
MOST = 1_000
"""Of more queues none is kept, and any name is taken on trust."""
SHOWN = 8


def detail(adapter: SchedulerAdapter, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a probe keeps: names, with the namespace in front where a queue belongs to one."""
    names = []
    for raw in adapter.leaves(found):
        meta = raw["metadata"]
        inside = adapter.queues is not None and adapter.queues.namespaced
        names.append(f"{meta['namespace']}/{meta['name']}" if inside else str(meta["name"]))
    if len(names) > MOST:
        return {}
    return {"scheduler": adapter.name, "names": sorted(names)}


def in_words(names: list[str]) -> str:
    """ "default, team-a and 3 more"."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more if names else "none"


def problem(facts: Facts, scheduler: str, queue: str, namespace: str) -> str:
    """Why workloads of a namespace cannot be put into ``queue``, as a sentence; else empty.

    ``queue`` is empty for the scheduler's default. What was never counted is taken on trust.
    """
    adapter = ADAPTERS.get(scheduler)
    if adapter is None:
        return ""
    if adapter.queues is None:
        return f"{adapter.title} has no queues." if queue else ""
    kept: Mapping[str, Any] = facts.detail.get("queues") or {}
    if kept.get("scheduler") != scheduler:
        return ""
    name = queue or adapter.default_queue
    there = _inside(kept["names"], namespace) if adapter.queues.namespaced else kept["names"]
    if name in there:
        return ""
    place = f"in namespace {namespace}" if adapter.queues.namespaced else "on the cluster"
    return f"{adapter.title} has no queue {name} {place}; there is {in_words(there)}."


def problems(
    submission: Submission, facts: Facts, scheduler: str, namespace: str
) -> Iterator[Problem]:
    """The same of a submission. A scheduler without queues does with any name of one."""
    adapter = ADAPTERS.get(scheduler)
    if adapter is None or adapter.queues is None or MANAGED.fullmatch(submission.queue):
        return
    if why := problem(facts, scheduler, submission.queue, namespace):
        accepted = "a project whose queue exists; an administrator can name another one for it"
        yield Problem.of(
            Role.WORKLOAD, "projectId", "cluster:queue", why=why, value=submission.queue or None,
            accepted=accepted, label="Project",
        )  # fmt: skip


def _inside(names: list[str], namespace: str) -> list[str]:
    return [name.partition("/")[2] for name in names if name.partition("/")[0] == namespace]
