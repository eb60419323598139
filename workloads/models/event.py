"""What happened, numbered per project without gaps, and the memory of answered requests."""

from django.conf import settings
from django.db import models


class ScopeSeq(models.Model):
    """Counter of shown changes of one project. Taken last in a transaction, in id order (R13)."""

    project = models.OneToOneField("organization.Project", models.CASCADE, primary_key=True)
    seq = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.project_id}: {self.seq}"


class Event(models.Model):
    """One significant event of a workload."""

    workload = models.ForeignKey("workloads.Workload", models.CASCADE, related_name="events")
    attempt_no = models.PositiveIntegerField(default=1)
    at = models.DateTimeField()
    kind = models.CharField(max_length=30)
    """A constant of `workloads.services.events`, such as ``Submitted`` or ``PhaseChanged``."""
    severity = models.CharField(max_length=8, default="info")
    """info, warning or error."""
    object = models.CharField(max_length=60, blank=True)
    """``worker-2``, or empty for the workload itself."""
    phase = models.CharField(max_length=40, blank=True)
    """Of a change of the phase: the new one. The message is then what was told of it."""
    message = models.CharField(max_length=2000)
    actor_name = models.CharField(max_length=150, blank=True)
    count = models.PositiveIntegerField(default=1)
    last_at = models.DateTimeField()
    source_key = models.CharField(max_length=200)
    """Makes a repeated delivery harmless."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workload", "source_key"], name="event_once")
        ]
        indexes = [models.Index(fields=["workload", "at", "id"], name="event_timeline")]

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        return f"{self.phase}: {self.message}" if self.phase else self.message


class IdempotencyKey(models.Model):
    """Answer to a request with an Idempotency-Key, kept for a day."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    key = models.CharField(max_length=100)
    request_hash = models.CharField(max_length=64)
    workload = models.ForeignKey("workloads.Workload", models.CASCADE)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="key_once_per_user")]

    def __str__(self) -> str:
        return self.key
