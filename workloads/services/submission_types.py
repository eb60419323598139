"""What goes into a submission and what comes out: plain data, without a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from gangline.access.refusals import NotVisible
from gangline.accounts.models import User
from gangline.clusters.models import Cluster
from gangline.organization.models import Project
from gangline.policies.effective import EffectivePolicy
from gangline.policies.engine import Request, Resolution
from gangline.spec.frameworks import GangRole
from gangline.spec.problems import Advice, Problem, Role
from workloads.models import Attempt, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionRequest(Request):
    """A request to run a workload, the same from form, API and command line.

    ``project_id`` and ``cluster_id`` are the texts as sent.
    """

    name: str
    is_prefix: bool = False
    """The workload gets the name with a suffix, so that it never is taken."""
    requested_name: str = ""
    """The name before it got its suffix."""
    project_id: str | int
    cluster_id: str | UUID
    template_id: str | UUID | None = None
    copied_from: UUID | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """The requests of the whole gang."""

    parts: Sequence[tuple[GangRole, int]] = ()
    """How many there are of each role."""
    gpus: int = 0
    """Devices; parts of them are added up, and the sum is rounded up."""
    gpu_devices: float = 0.0
    """The same where pods take parts of devices: 0.3."""
    gpu_parts: str = ""
    """Where parts are asked for, in words: "1.5 GPUs, 0.5 of each"."""
    cpus: float = 0.0
    memory_bytes: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """The same by the name of the role."""
        return {role.name: count for role, count in self.parts}

    @property
    def pods(self) -> int:
        return sum(count for _, count in self.parts)

    @property
    def workers(self) -> int:
        return sum(count for role, count in self.parts if role.half is Role.WORKER)

    @property
    def masters(self) -> int:
        """All that are no workers."""
        return self.pods - self.workers


@dataclass(frozen=True, slots=True)
class Forecast:
    """Whether it would start at once, judged by what is free now. Only a forecast."""

    kind: Literal["starts", "waits", "cannot", "unknown"]
    sentence: str
    quota: str = ""
    """What it makes of the project's quota."""
    over_quota: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """Everything that is known about a submission before it is sent."""

    resolution: Resolution
    problems: list[Problem]
    totals: Totals
    verdict: Forecast
    policy: EffectivePolicy
    project: Project | None
    cluster: Cluster | None
    owner: User
    """Whose personal credentials it may use."""
    advice: Sequence[Advice] = ()
    """What may be submitted as it is, and may well disappoint."""

    @property
    def framework(self) -> str:
        return self.resolution.framework

    @property
    def configuration(self) -> str:
        return self.resolution.configuration


@dataclass(frozen=True, slots=True)
class Submitted:
    """The stored workload; ``replayed`` when an earlier request with the same key made it."""

    workload: Workload
    replayed: bool
    attempt: Attempt | None = None
    """What was stored with it; None when replayed."""


class NoSuchProject(NotVisible):
    """The project is not there, or one may not see it: no address is wrong, but a value (404)."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("The project does not exist, or you do not have access to it.")
        self.problems = problems


class NameTaken(Exception):
    """Another workload of the project has the name (409)."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class IdempotencyConflict(Exception):
    """The key was used for a request with another content (422)."""


class ClusterUnreachable(Exception):
    """The cluster takes no submissions while there is no contact with it (503)."""

    def __init__(self, name: str) -> None:
        super().__init__(f"No contact with cluster {name}. Try again later.")
