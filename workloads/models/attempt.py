"""Attempts and their replicas: what was launched and what became of it (R2)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Self

from django.db import models

from gangline.spec.problems import Problem
from workloads.wording import Reason

USER_CAUSES = ("submit", "resume", "rerun")
MOVED = "moved"
PREEMPTED = "preempt"
NO_TRIES = (MOVED, PREEMPTED)
"""Causes of attempts that go on with the try before them."""
"""Causes of an attempt: a person's, or the cluster's, which counts as no try."""


class CreateState(models.TextChoices):
    """How far the creation of the native object is known to have come."""

    NONE = "none"
    SENT = "sent"
    """Committed before the call: the object may exist."""
    SEEN = "seen"
    GONE = "gone"


class Outcome(models.TextChoices):
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    STOPPED = "Stopped"
    LOST = "LostExternally"
    """Removed outside the dashboard."""
    AWAY = "EndedWhileAway"
    """Gone when the dashboard came back: it finished or was removed, and nobody knows which."""


@dataclass(frozen=True, slots=True)
class Rest:
    """A run that was stopped and later asked for again, by the database's clock."""

    placed_at: datetime | None
    """When its first pod began."""
    started_at: datetime | None
    stopped_at: datetime
    resumed_at: datetime

    def as_dict(self) -> dict[str, str | None]:
        """ISO 8601 by the names of the fields."""
        return {name: at and at.isoformat() for name, at in asdict(self).items()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, str | None]) -> Self:
        return cls(**{n: datetime.fromisoformat(at) if at else None for n, at in stored.items()})  # type: ignore[arg-type]


class Attempt(models.Model):
    """One launch: one native object or one set of processes, never reused."""

    workload = models.ForeignKey("workloads.Workload", models.CASCADE, related_name="attempts")
    no = models.PositiveIntegerField()
    cause = models.CharField(max_length=8, default="submit")
    """submit, retry, moved, preempt, resume or rerun."""
    tool_addresses = models.JSONField(default=dict)
    """Where the cluster opened the ports of tools, by their names; as last observed."""
    effective = models.JSONField(default=dict)
    """`gangline.spec.sources.Values` as JSON, frozen when submit or rerun made the attempt."""
    rendered = models.JSONField(null=True)
    spec_hash = models.CharField(max_length=64, blank=True)
    needs = models.JSONField(null=True)
    """Slots asked for, by role: {"count", "cpus", "memory", "gpus"}; filled by admission."""
    placement = models.JSONField(null=True)
    """Slots taken, as a list of `ReplicaPlacement` (R7); None: none yet."""
    placed_at = models.DateTimeField(null=True)
    """When admission gave it its slots."""
    queued_at = models.DateTimeField(null=True)
    """Since when it has its place in the queue, if another attempt had it before."""
    over_quota = models.BooleanField(default=False)
    """Placed, and its project's quota does not cover it: others may claim its slots."""
    reclaimed_at = models.DateTimeField(null=True)
    """When its slots were claimed for a workload within its quota: it ends to make room."""
    wait_code = models.CharField(max_length=40, blank=True)
    """Why it has no place yet, or waits for its next try: a code of `workloads.wording`."""
    wait_params = models.JSONField(default=dict)
    impossible = models.BooleanField(default=False)
    """It asks for more than the cluster has in total."""
    create_state = models.CharField(max_length=4, default=CreateState.NONE)
    create_answered = models.BooleanField(default=False)
    """The cluster accepted the last create; False after a crash or a lost answer."""
    sent_fence = models.BigIntegerField(default=0)
    """Fence of the pass that sent the last create."""
    released = models.BooleanField(default=False)
    ext_uid = models.CharField(max_length=100, blank=True)
    sent_at = models.DateTimeField(null=True)
    first_seen_at = models.DateTimeField(null=True)
    observed_state = models.CharField(max_length=12, default="Absent")
    observed_reason = models.CharField(max_length=400, blank=True)
    reason_code = models.CharField(max_length=40, blank=True)
    """Of ``observed_reason``: a constant of `drivers.base`, where the driver knows one."""
    reason_params = models.JSONField(default=dict)
    reason_since = models.DateTimeField(null=True)
    """First of the reads in a row that saw this code."""
    incomplete = models.BooleanField(default=False)
    """Some replicas have not been started (R7a)."""
    read_started_at = models.DateTimeField(null=True)
    """When the read began whose observation is stored: older ones are dropped."""
    absent_since = models.DateTimeField(null=True)
    """First of the strong reads in a row that saw nothing since the create was sent."""
    unknown_since = models.DateTimeField(null=True)
    """First of the reads in a row that could not tell: no contact since then."""
    trouble = models.CharField(max_length=400, blank=True)
    """What stands in the way now, in words; empty as soon as an effect or a read succeeds."""
    refusal = models.JSONField(default=list)
    """Why the cluster would not take it: problems at fields, as `Problem.as_dict` has them."""
    stop_sent_at = models.DateTimeField(null=True)
    """Committed before the first suspend: an end after it is a stop, not a failure."""
    delete_sent_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    """First time Running; after a stop that kept the object, since it was asked to run again."""
    ended_at = models.DateTimeField(null=True)
    ran_before = models.FloatField(null=True)
    """Seconds that the attempts ran from which it goes on; None: none did."""
    rests = models.JSONField(default=list)
    """Stops after which the same object went on, oldest first: `Rest.as_dict`."""
    outcome = models.CharField(max_length=16, blank=True)
    first_failure = models.CharField(max_length=40, blank=True)
    cause_code = models.CharField(max_length=40, blank=True)
    """Why it failed: a code of `workloads.causes`, or of the driver; empty: not looked yet."""
    cause_replica = models.CharField(max_length=40, blank=True)
    cause_place = models.CharField(max_length=60, blank=True)
    """Id of the log line that tells of it."""
    cause_lines = models.JSONField(default=list)
    """That line and a few before it: only for who may read logs."""
    cause_due_at = models.DateTimeField(null=True)
    """When the cause is looked for next."""
    is_preempted = models.BooleanField(default=False)
    """It failed because the cluster took its place away (R2a)."""
    next_try_at = models.DateTimeField(null=True)
    tombstone_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workload", "no"], name="attempt_no_in_workload")
        ]
        indexes = [
            models.Index(
                fields=["cause_due_at"],
                condition=models.Q(cause_due_at__isnull=False),
                name="attempt_cause_due",
            )
        ]

    def __str__(self) -> str:
        return f"attempt {self.no} of {self.workload_id}"

    @property
    def values(self) -> dict[str, Any]:
        """The effective values by qualified path, without their sources."""
        return {path: stored["value"] for path, stored in self.effective.items()}

    def value(self, path: str) -> Any:
        return self.effective[path]["value"] if path in self.effective else None

    @property
    def waits_for(self) -> Reason:
        return Reason(self.wait_code, self.wait_params)

    @property
    def rested(self) -> list[Rest]:
        """The stops of it that are over, oldest first."""
        return [Rest.from_dict(stored) for stored in self.rests]

    @property
    def ran_earlier(self) -> float | None:
        """Seconds that it ran before its present stretch; None: it did not."""
        rested = [rest for rest in self.rested if rest.started_at]
        if self.ran_before is None and not rested:
            return None
        seconds = ((r.stopped_at - r.started_at).total_seconds() for r in rested if r.started_at)
        return sum(seconds, self.ran_before or 0.0)

    def ran_until(self, end: datetime) -> float | None:
        """Seconds that it ran in all; None: it did not."""
        if self.started_at is None:
            return self.ran_earlier
        return (self.ran_earlier or 0.0) + max((end - self.started_at).total_seconds(), 0.0)

    @property
    def asked_at(self) -> datetime:
        """When its present run was asked for."""
        return self.rested[-1].resumed_at if self.rests else self.created_at

    @property
    def refusals(self) -> list[str]:
        """Why the cluster would not take it, a sentence for each field."""
        return [Problem.from_stored(stored).sentence for stored in self.refusal]


class Replica(models.Model):
    """One pod of an attempt, as last observed."""

    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="replicas")
    role = models.CharField(max_length=8)
    index = models.PositiveIntegerField()
    rank = models.PositiveIntegerField()
    pod_uid = models.CharField(max_length=100, blank=True)
    state = models.CharField(max_length=12, default="Pending")
    reason = models.CharField(max_length=400, blank=True)
    reason_code = models.CharField(max_length=40, blank=True)
    node = models.CharField(max_length=253, blank=True)
    gpus = models.FloatField(default=0)
    exit_code = models.IntegerField(null=True)
    signal = models.IntegerField(null=True)
    peak_memory = models.BigIntegerField(null=True)
    restarts = models.PositiveIntegerField(default=0)
    """How often its container was started again in the same pod."""
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["attempt", "role", "index"], name="replica_in_attempt")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """``worker-0``: also the name of its log."""
        return f"{self.role}-{self.index}"
