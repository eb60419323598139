"""The one interface to what schedules pods on a cluster.

An adapter adds to the job what its scheduler wants to read there, names the objects that must exist
beside it, says what lets it go and what holds it back, and tells in one sentence why a gang waits.
It asks nobody: everything is given to it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gangline.drivers.base import Submission
from gangline.drivers.kubernetes import placement
from gangline.drivers.kubernetes.kinds import parts_of
from gangline.drivers.kubernetes.resources import Resource
from gangline.spec.problems import Problem, Role
from gangline.spec.typed import value_at

from .room import Room

Object = dict[str, Any]
Objects = Sequence[Mapping[str, Any]]
TOPOLOGY = ("podAffinity.key", "podAffinity.type")


@dataclass(frozen=True, slots=True)
class Gang:
    """What must start together. ``name`` is the workload's."""

    name: str
    framework: str
    pods: int
    """Replicas, masters and launchers counted."""
    resources: Mapping[str, str]
    """Quantities that all pods ask for together, by resource."""
    queue: str = ""
    """Queue of the scheduler that the project names; empty: the adapter's own default."""
    priority: str = ""
    """Name of a PriorityClass; every pod has it already."""
    preemptibility: str = ""
    """``preemptible`` or ``non-preemptible``; empty: as the scheduler does it."""
    topologies: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Label and ``Required`` or ``Preferred``, by role as the job names it."""
    topology: tuple[str, str] | None = None
    """That of the workers, for a scheduler that keeps the whole gang together."""
    shares: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Annotations of `sharing`, by role as the job names it."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A released workload that does not run yet, in raw JSON of its cluster."""

    job: Mapping[str, Any]
    pods: Objects = ()
    objects: Mapping[str, Objects] = field(default_factory=dict)
    """What ``reads`` names, by plural: the workload's own, and every cluster-wide one."""
    room: Room | None = None
    """None: nobody has counted."""


@dataclass(frozen=True, slots=True)
class Change:
    """Merge patches that let a job go, or hold it back."""

    job: Object = field(default_factory=dict)
    suspend: bool | None = None
    """How the job's own switch is to stand; None: it is left as it is."""
    theirs: Mapping[Resource, Object] = field(default_factory=dict)
    """For the objects that the scheduler keeps of the job, which come first."""
    without_theirs: Object = field(default_factory=dict)
    """For the job in addition, where the scheduler keeps nothing of it yet."""


class SchedulerAdapter(Protocol):
    """See the module. Adapters have no state."""

    name: str
    title: str
    """As people call it."""
    api: str
    """Group and version whose presence tells that the cluster has it; empty for the plain one."""
    is_proven: bool
    """Whether it was run against the real scheduler. What was not is used only when asked for."""
    places_alone: frozenset[str]
    """Frameworks whose pods it cannot bind into a gang: they are placed one by one."""
    reads: tuple[Resource, ...]
    """Objects that ``pending_reason`` wants to see."""
    queues: Resource | None
    """What an administrator makes for projects to wait in; None: it has nothing of the kind."""
    default_queue: str
    """The one for projects that name none."""

    unsupported: Mapping[str, str]
    """Reason by field path for what it cannot do; the form shows the reason."""

    def check(self, submission: Submission) -> Iterator[Problem]:
        """Values that it cannot keep to, of fields that it has."""

    def decorate(self, job: Object, gang: Gang) -> None:
        """Write into ``job``, a whole custom resource, what the scheduler reads there."""

    def objects(self, gang: Gang) -> list[Object]:
        """Objects to make before the job is released, without labels, namespace and owner."""

    def let_go(self, queue: str) -> Change:
        """What starts a job that is held or stopped; ``queue`` as in `Gang`."""

    def hold_back(self) -> Change:
        """What stops it, so that it can be let go again."""

    def leaves(self, queues: Objects) -> Objects:
        """Those of ``queues`` that take workloads."""

    def pending_reason(self, waiting: Waiting) -> str:
        """Why it waits, as one sentence; empty when nothing is known."""

    def never(self, waiting: Waiting) -> str:
        """Why its queue could not hold the gang even when empty; empty: it could, or who knows."""

    def bound_to(self, waiting: Waiting) -> str:
        """Label of nodes whose value all its pods must share; empty: no such bond."""


class Suspending:
    """What most schedulers have in common: the job's own switch, no queues, no bond."""

    places_alone: frozenset[str] = frozenset()
    reads: tuple[Resource, ...] = ()
    queues: Resource | None = None
    default_queue = ""
    unsupported: Mapping[str, str] = {}

    def check(self, submission: Submission) -> Iterator[Problem]:
        return iter(())

    def let_go(self, queue: str) -> Change:
        return Change(suspend=False)

    def hold_back(self) -> Change:
        return Change(suspend=True)

    def leaves(self, queues: Objects) -> Objects:
        return queues

    def never(self, waiting: Waiting) -> str:
        return ""

    def bound_to(self, waiting: Waiting) -> str:
        return ""

    def objects(self, gang: Gang) -> list[Object]:
        return []


def templates(job: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The pod template of every role of a job."""
    return (template for _, template in by_role(job))


def by_role(job: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every role of a job and its pod template."""
    for role, _, template in parts_of(job):
        yield role, template


def keep_pods_together(job: Mapping[str, Any], gang: Gang) -> None:
    """Each role's topology as affinity between pods, for a scheduler that places them singly.

    The first pod chooses for all of them, whether the rest has room there or not.
    https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
    """
    for role, template in by_role(job):
        if topology := gang.topologies.get(role):
            placement.keep_together(template, topology)


def of_the_whole_gang(submission: Submission, title: str) -> Iterator[Problem]:
    """Refuses a master whose topology differs from the workers'."""
    for path in TOPOLOGY if submission.master is not None else ():
        workers, own = value_at(submission.worker, path), value_at(submission.master, path)
        if own == workers:
            continue
        message = f"must be as the workers have it: {title} keeps the whole gang together"
        accepted = str(workers or "no value")
        yield Problem.of(Role.MASTER, path, "scheduler", message, own, accepted)


def schedule_with(job: Mapping[str, Any], scheduler: str) -> None:
    """Name the scheduler in every role."""
    for template in templates(job):
        template["spec"]["schedulerName"] = scheduler


def mark(place: dict[str, Any], kind: str, **marks: str) -> None:
    """Add ``marks`` to the ``kind`` (labels or annotations) of an object or a template."""
    place.setdefault("metadata", {}).setdefault(kind, {}).update(marks)


def condition(found: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """The condition of this type of an object; empty when it has none."""
    conditions = found.get("status", {}).get("conditions") or ()
    return next((c for c in conditions if c.get("type") == kind), {})


def without_children(queues: Objects, parent: str) -> Objects:
    """Queues that no other one names in its ``parent``."""
    parents = {str((queue.get("spec") or {}).get(parent) or "") for queue in queues}
    return [queue for queue in queues if queue["metadata"]["name"] not in parents]
