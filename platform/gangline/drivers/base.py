"""The one driver protocol (R5): what every kind of cluster can do and how it answers.

Drivers are pure: no Django, no database, no globals. They see a ``Submission`` and an
``AttemptRef``, never a row; they report observations and never compute a phase. An exception out of
a driver is a bug: refusals, outages and doubt are values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

from gangline.drivers.facts import Capacity, Facts, FieldNote, Health
from gangline.lib.problems import Problem as Refusal
from gangline.spec.frameworks import GangRole, framework_of
from gangline.spec.problems import Advice, Problem, Role
from gangline.spec.typed import typed, value_at
from gangline.spec.workload import ReplicaSpec, WorkerSpec

GPU_COUNT = "RUNAI_NUM_OF_GPUS"
"""The variable in which programs that were written for Run:ai find how many GPUs they have."""


class ObservedState(StrEnum):
    """State of one attempt on its cluster."""

    ABSENT = "Absent"
    UNKNOWN = "Unknown"
    HELD = "Held"
    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    TERMINATING = "Terminating"
    CONFLICT = "Conflict"

    @property
    def is_terminal(self) -> bool:
        return self in (ObservedState.SUCCEEDED, ObservedState.FAILED)

    @property
    def is_over(self) -> bool:
        """Nothing of it runs, nor will until it is wanted again."""
        return self.is_terminal or self in (ObservedState.SUSPENDED, ObservedState.ABSENT)


class ReplicaState(StrEnum):
    """State of one replica (pod, Slurm task, local process)."""

    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    STOPPED = "Stopped"
    """Ended because it was told to, or because another replica failed first."""
    UNKNOWN = "Unknown"

    @property
    def is_terminal(self) -> bool:
        return self in (ReplicaState.SUCCEEDED, ReplicaState.FAILED, ReplicaState.STOPPED)


@dataclass(frozen=True, slots=True)
class Submission:
    """All a driver needs to make a workload; values are effective ones.

    ``worker`` also holds what exists once per workload. ``master`` is None without a master role.
    """

    name: str
    project: str
    framework: str
    configuration: str
    num_workers: int
    worker: WorkerSpec
    master: ReplicaSpec | None
    identifiers: Mapping[str, str] = field(default_factory=dict)
    """Names and ids for GANGLINE_* and RUNAI_* variables and for labels."""
    queue: str = ""
    """Queue of the cluster's scheduler that the project names; empty: the scheduler's default."""
    node_pools: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Those of the cluster: label and value of the nodes of each. The default one has no label."""
    namespace: str = ""
    """Namespace that the project names; empty: the one that the cluster makes for it."""

    volumes_elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Namespace of each existing claim that is another project's, by the name of its volume."""

    def gpus_of(self, role: str) -> int:
        """Whole GPUs of each pod of the role."""
        part = next((part for part in self.parts if part.role.name == role), None)
        if part is None or not part.role.has_gpus:
            return 0
        return part.spec.compute.gpu_devices_request or 0

    @property
    def halves(self) -> tuple[tuple[Role, ReplicaSpec], ...]:
        """What people set up: the workers, and the rest of the gang where there is one."""
        workers = (Role.WORKER, self.worker)
        return (workers,) if self.master is None else (workers, (Role.MASTER, self.master))

    @property
    def parts(self) -> tuple["Part", ...]:
        """Every role of its gang, in the order in which replicas are numbered."""
        set_up = dict(self.halves)
        return tuple(
            Part(role, self._count(role), _spec_of(role, set_up[role.half]))
            for role in framework_of(self.framework).gang(self.configuration)
            if role.half in set_up
        )

    def _count(self, role: GangRole) -> int:
        said = {path: value_at(self.worker, path) for path in role.counts}
        return role.count(said | {"numWorkers": self.num_workers})


class Part(NamedTuple):
    """One role of a gang: how many pods it has, and what each of them is."""

    role: GangRole
    pods: int
    spec: ReplicaSpec


def _spec_of(role: GangRole, half: ReplicaSpec) -> ReplicaSpec:
    if not role.fixed:
        return half
    own = typed(ReplicaSpec, role.fixed)
    return half.model_copy(update={"compute": own.compute, "exposed_urls": None, "ports": None})


@dataclass(frozen=True, slots=True)
class ReplicaPlacement:
    """Slots taken for one replica by our own admission (R7). CPUs in cores, memory in bytes."""

    role: str
    index: int
    rank: int
    cpus: float
    memory: int
    gpus: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    gpu_share: float = 1.0
    """Of each of ``gpus``."""

    @property
    def name(self) -> str:
        """``worker-0``."""
        return f"{self.role}-{self.index}"


@dataclass(frozen=True, slots=True)
class AttemptRef:
    """Identity of one attempt: enough to observe, create or end it from any process."""

    install: str
    workload: str
    attempt: int
    name: str
    namespace: str = ""
    submission: Submission | None = None
    rendered: Any = None
    placement: tuple[ReplicaPlacement, ...] = ()
    ext_uid: str = ""
    grace_seconds: int = 30
    goes_on: bool = False
    """The workload outlives this attempt: ``delete`` leaves the volumes that it keeps."""
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    """What the credentials hold, by their names and keys; only for ``create`` of a kind that takes
    them. It goes into processes, and into no plan, file, log or answer."""


@dataclass(frozen=True, slots=True)
class ReplicaObservation:
    """What is known of one replica. Times are the cluster's own, timezone-aware."""

    role: str
    index: int
    rank: int
    state: ReplicaState
    reason: str = ""
    pod_uid: str = ""
    node: str = ""
    exit_code: int | None = None
    signal: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    peak_memory: int | None = None
    """Bytes."""
    reason_code: str = ""
    """Of ``reason``, for programs: `MEMORY_LIMIT`, or empty."""
    restarts: int = 0
    """How often the cluster started it again in its place, without a new attempt."""

    @property
    def name(self) -> str:
        """``worker-0``."""
        return f"{self.role}-{self.index}"


@dataclass(frozen=True, slots=True)
class OwnedObject:
    """One object on a cluster that bears the label of an installation, whatever it belongs to."""

    ref: AttemptRef
    """What its labels name; ``workload`` may be empty or unknown. ``ext_uid`` tells it from any
    other object of its name."""
    kind: str
    """The cluster's own word for it: ``PyTorchJob``, ``run``."""
    labels: Mapping[str, str] = field(default_factory=dict)
    gpus: int = 0
    """GPU devices that all of its replicas ask for together."""
    created_at: datetime | None = None
    is_going: bool = False
    """Somebody deletes it, and it is not gone yet."""


IMAGE_PULL = "image.pull"
"""An image cannot be pulled: ``pod`` (``worker-0``) and ``image``, where they are known."""
MEMORY_LIMIT = "memory.limit"
"""Of a replica: it was killed for using too much memory."""
POD_REFUSED = "pod.refused"
"""An admission rule of the cluster, such as a quota, refuses the pods."""
POD_MISSING = "pod.missing"
"""A pod names what does not exist, such as a claim."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What one strong read saw of a whole attempt (R6a)."""

    workload: str
    attempt: int
    state: ObservedState
    reason: str = ""
    ext_uid: str = ""
    replicas: tuple[ReplicaObservation, ...] = ()
    incomplete: bool = False
    """Starting, and not every replica has been started: ``create`` must be called again (R7a)."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    first_failure: str = ""
    """``worker-2``: the replica that failed first, the cause of a Failed attempt."""
    is_preempted: bool = False
    """It failed because the cluster took its place away; no fault of its own (R2a). It may have
    been seen only while it ended."""
    is_impossible: bool = False
    """Pending for ever: it asks for more than the cluster has in total."""
    is_cut_off: bool = False
    """UNKNOWN because the cluster does not answer, or no longer accepts our login: so it is for
    everything on it."""
    retry_after: float | None = None
    """UNKNOWN because the whole cluster wants to be left alone for so many seconds."""
    reason_code: str = ""
    """Of ``reason``, for programs: one of the constants above, or empty."""
    reason_params: Mapping[str, str] = field(default_factory=dict)
    tool_addresses: Mapping[str, str] | None = None
    """Where the cluster opened the ports of tools, by their names; None: not looked at."""
    read_monotonic: float | None = field(default=None, compare=False)
    """``time.monotonic()`` just before the read, set by ``watch``, whose reads begin unseen."""


@dataclass(frozen=True, slots=True)
class Done:
    """The effect is complete as far as the driver can know at once."""


@dataclass(frozen=True, slots=True)
class NotYet:
    """The cluster accepted it; the next observation has the result."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """No telling whether it happened. Only the next observation resolves it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The cluster will not do it, in its own (cleaned) words. Repeating does not help."""

    reason: str
    problems: tuple[Problem, ...] = ()
    """The same at the fields that the cluster objects to, as far as it can be told."""


@dataclass(frozen=True, slots=True)
class Busy:
    """Try again after ``retry_after`` seconds; not a failure."""

    retry_after: float
    reason: str = ""
    is_for_all: bool = False
    """The cluster wants no call at all before that, whatever it is about."""


Result = Done | NotYet | Unknown | Refused | Busy


@dataclass(frozen=True, slots=True)
class DryRunResult:
    """The result of a dry run. What could not be checked is no acceptance."""

    problems: tuple[Problem, ...] = ()
    """Its objections in its own (cleaned) words; without a path where no field can be told."""
    asked: tuple[str, ...] = ()
    """What it looked at and would take, such as "the PyTorchJob"."""
    doubts: tuple[str, ...] = ()
    """Sentences: what could not be asked, and why."""


NO_FACTS = Facts("")
"""Of a cluster that was never probed."""


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Bytes of CRI lines (`<RFC 3339> <stream> <P|F> <text>`) and where to go on reading."""

    data: bytes
    next_offset: int
    end: bool
    """Nothing more will ever come: the replica ended and all was read."""
    first_offset: int = 0
    """Oldest offset still kept; smaller offsets were dropped by the cap."""


TellTrouble = Callable[[str], None]
"""Gets a sentence; an empty one when everything can be followed."""


def ignore_trouble(trouble: str) -> None:
    """For callers that do not need the value."""


def ignore_all_told() -> None:
    """For callers that do not need the value."""


@dataclass(frozen=True, slots=True)
class KeptObject:
    """An object that Gangline keeps on a cluster beside workloads, such as a queue."""

    kind: str
    namespace: str
    name: str
    wanted: Mapping[str, Any] = field(repr=False)
    """Its manifest, with ``apiVersion``, and nothing that others decide."""

    @property
    def is_others(self) -> bool:
        """It has no content: others make it, and Gangline only looks whether it is there."""
        return self.wanted.keys() <= {"apiVersion", "kind", "metadata"}


@dataclass(frozen=True, slots=True)
class Kept:
    """How it is now: ``ok``, ``conflict``, ``forbidden``, ``failed``, ``deleting`` or ``gone``."""

    state: str
    problem: Refusal | None = None


@runtime_checkable
class ObjectKeeper(Protocol):
    """A driver whose cluster takes objects beside workloads."""

    def apply(self, wanted: KeptObject) -> Kept:
        """Make the object what it should be. Fields of another manager are a conflict."""

    def remove(self, wanted: KeptObject) -> Kept:
        """Delete the object; ``gone`` where there is none."""


class Driver(Protocol):
    """See the module. Every method is idempotent and returns within its time budget, 30 s."""

    kind: str
    unsupported: Mapping[str, str]
    """Reason by field path for what this kind of cluster cannot do; the form shows the reason."""
    mapped: frozenset[str]
    """Paths that change what runs. With ``unsupported`` and ``mapping.OURS``: the catalogue."""
    in_flight_max: float
    """Seconds after which a create that was never seen cannot land any more."""

    def probe(self) -> Health: ...

    def capacity(self) -> Capacity | None:
        """What the cluster has in total; None when it does not tell now."""

    def check(self, submission: Submission, facts: Facts) -> list[Problem]:
        """Refusals by value, such as a container image on the local cluster. No side effect."""

    def advise(self, submission: Submission, facts: Facts) -> list[Advice]:
        """What ``check`` lets pass and may well disappoint. No side effect."""

    def field_notes(
        self,
        *,
        framework: str,
        role: Role,
        has_own_master: bool,
        launcher: str = "",
        facts: Facts = NO_FACTS,
    ) -> Mapping[str, FieldNote]:
        """What ``check`` will ask for and the cluster offers, by field path, before typing.

        ``launcher`` is the chosen one.
        """

    def render(self, submission: Submission) -> Any:
        """Native form without late-bound values (placement), as JSON data. No side effect."""

    def dry_run(self, ref: AttemptRef) -> DryRunResult:
        """What the cluster would say to ``create`` and ``commit``. Changes nothing, anywhere.

        ``ref`` has a submission and its rendered form. Doubt is told as doubt, an outage included.
        """

    def observe(self, ref: AttemptRef) -> Observation:
        """One strong read. ABSENT only when certain; UNKNOWN on any doubt."""

    def create(self, ref: AttemptRef) -> Result:
        """Make what is missing of the attempt from ``rendered`` and ``placement``; start it or not.

        NotYet: accepted, ``observe`` will show it, HELD where ``commit`` must follow. Refused: it
        can never start, in words for the row. Unknown, Busy: called again after an ``observe``. A
        second call makes nothing twice, and one after ``delete`` makes nothing at all.
        """

    def commit(self, ref: AttemptRef) -> Result:
        """Release a HELD attempt, and no other. Done where ``create`` starts things itself."""

    def suspend(self, ref: AttemptRef) -> Result:
        """End what runs: a request first, ``ref.grace_seconds`` later by force.

        Keeps logs and records. NotYet while anything lives; Done when nothing does, or never did.
        """

    def resume(self, ref: AttemptRef) -> Result:
        """Let a SUSPENDED attempt go on. Refused where a stopped attempt cannot: make a new one."""

    def delete(self, ref: AttemptRef) -> Result:
        """End everything as ``suspend`` does and let no late ``create`` start anything any more.

        NotYet until nothing is left; Done from then on, however often it is asked. Needs no more of
        ``ref`` than the identity, ``ext_uid`` where it is known, the grace, and ``goes_on``.
        """

    def owned_objects(self, install: str) -> Sequence[OwnedObject] | Unknown:
        """What is there of this installation, also of no workload: all of it, or Unknown."""

    def delete_object(self, owned: OwnedObject) -> Result:
        """Delete this one object and what belongs to it, and nothing that took its name since.

        NotYet while it is still there; Refused where Gangline may not, or it is another's.
        """

    def watch(
        self,
        install: str,
        cursor: str,
        tell: TellTrouble = ignore_trouble,
        all_told: Callable[[], None] = ignore_all_told,
    ) -> Iterator[Sequence[Observation]]:
        """Batches of observations as they happen; an empty batch now and then as a sign of life.

        ``tell`` gets, between two batches, why a part of the cluster cannot be followed, whenever
        that changes. ``all_told`` is called once, between two batches: every attempt that was there
        when the watch began has been told, by strong reads. Over an outage that takes as long.
        """

    def silent_for(self) -> float | None:
        """Seconds since every stream of the watch had an event; None: no watch runs."""

    def read_log(self, ref: AttemptRef, replica: str, offset: int, limit: int) -> LogChunk:
        """Log of ``replica`` (``worker-0``) from logical byte ``offset``, at most ``limit`` bytes.

        A negative offset counts from the end and moves on to the next start of a line. Go on at
        ``next_offset``, which may lie further on than the data is long.
        """
