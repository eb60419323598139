"""The workload: what a person asked for, who acts on it now, and the status people see."""

import uuid
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import models


class Desired(models.TextChoices):
    RUNNING = "Running"
    STOPPED = "Stopped"
    DELETED = "Deleted"


# What a list is sorted by, then what it is filtered by: rows that do not fit cost no look at the
# table. The last two indexes are for one project alone.
_TEXTS = ("owner_name", "search_text")
_LIST_ORDERS = {
    "created": ("created_at", "id", "deleted_at", "project", "status", "framework", *_TEXTS),
    "name": ("name", "created_at", "id", "project"),
    "gpus": ("gpus", "created_at", "id", "project"),
    "project": ("project_name", "created_at", "id", "project"),
    "owner": ("owner_name", "created_at", "id", "project"),
    "duration": ("ran_seconds", "created_at", "id", "project"),
    "ended": ("ended_at", "status", "project"),
    "status": ("status", "created_at", "id", "deleted_at", "project", "framework", *_TEXTS),
    "project_created": ("project", "created_at", "id"),
    "project_status": ("project", "status", "created_at", "id", "deleted_at"),
}


MOST_SEARCHED = 400
NOT_STARTED, RUNNING = -1, 10**11


def sortable_duration(ran: float | None, since: datetime | None = None) -> int:
    """Seconds that it ran, as an index can keep them: what runs is longer than all that does not.

    ``ran``: in the stretches that are over; ``since``: start of the one that goes on. Of two that
    run, the one that has run longer is longer.
    """
    if since is not None:
        return RUNNING - int(since.timestamp() - (ran or 0))
    return NOT_STARTED if ran is None else int(ran)


def running_since(ran_seconds: int) -> datetime | None:
    """When it would have started to have run as long without a pause; None: it does not run."""
    if ran_seconds < RUNNING // 2:
        return None
    return datetime.fromtimestamp(RUNNING - ran_seconds, UTC)


class Workload(models.Model):
    """One workload. The row is the queue: whatever is due has ``due_at`` in the past.

    Only the services of `lifecycle` and `submission` write the intent, only `reconcile` the lease
    columns, and only `status.settle` the shown ones (R6a).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=51)
    requested_name = models.CharField(max_length=51, blank=True)
    """The name as it was given, where the workload's own has a suffix."""
    project = models.ForeignKey("organization.Project", models.PROTECT, related_name="workloads")
    cluster = models.ForeignKey("clusters.Cluster", models.PROTECT, related_name="workloads")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="workloads")
    channel = models.CharField(max_length=8, default="api")
    project_name = models.CharField(max_length=63, editable=False)
    owner_name = models.CharField(max_length=150, editable=False)
    """Copies of the two names: a list then sorts and pages within one table."""

    # What was asked (R21a)
    framework = models.CharField(max_length=20)
    configuration = models.CharField(max_length=20)
    master = models.CharField(max_length=12, default="same")
    given = models.JSONField(default=dict)
    """`gangline.spec.sources.Values` as JSON: what was given, before any default."""
    template = models.ForeignKey("assets.Template", models.SET_NULL, null=True)
    assets = models.ManyToManyField("assets.Asset", related_name="workloads")
    made_of = models.JSONField(default=list)
    """Kind, id, name and version of template and assets, as they were when it was submitted."""
    """Those that the form was filled in from."""
    copied_from = models.UUIDField(null=True)
    priority = models.IntegerField(default=40)
    priority_class = models.CharField(max_length=63, blank=True)
    """The class that was chosen: the product's, which ``priority`` is of, or the cluster's."""
    is_preemptible = models.BooleanField(default=True)
    num_workers = models.PositiveIntegerField()
    pods_total = models.PositiveIntegerField()
    gpus = models.FloatField(default=0)
    """GPU devices requested in total; three pods with a tenth of one ask for 0.3."""
    cpus = models.FloatField(default=0)
    memory = models.BigIntegerField(default=0)
    """CPU cores and bytes of memory requested in total."""
    image = models.CharField(max_length=300, blank=True)
    """Image of the workers."""
    search_text = models.CharField(max_length=MOST_SEARCHED, blank=True)
    """What the search of the list reads: names, image, command; written with the spec."""
    labels_text = models.CharField(max_length=1000, blank=True)
    """Labels as one reads them; `WorkloadLabel` has them for filters."""
    backoff_limit = models.PositiveSmallIntegerField(default=0)
    auto_delete_seconds = models.PositiveIntegerField(null=True)
    is_interactive = models.BooleanField(default=False)
    session_seconds = models.PositiveIntegerField(null=True)
    idle_seconds = models.PositiveIntegerField(null=True)
    """How long an interactive session may run, and how long unused; None: without a limit."""

    # Intent
    desired = models.CharField(max_length=8, default=Desired.RUNNING)
    desired_gen = models.PositiveIntegerField(default=1)
    desired_by = models.CharField(max_length=150, blank=True)
    stop_cause = models.CharField(max_length=20, blank=True)
    """user, auto, preempted, a code of `workloads.wording` or empty: why it is not Running."""

    # Reconciler (R11a): lease, fence, due time
    attempt_no = models.PositiveIntegerField(default=1)
    due_at = models.DateTimeField(null=True)
    rung_until = models.DateTimeField(null=True)
    lease_owner = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True)
    fence = models.BigIntegerField(default=0)
    fail_count = models.PositiveIntegerField(default=0)

    # Shown (written by settle only)
    phase = models.CharField(max_length=20, default="Creating")
    status = models.CharField(max_length=16, default="Creating")
    """R33's word for people, in a column so that pills and filters page by keyset."""
    reason = models.CharField(max_length=400, blank=True)
    reason_code = models.CharField(max_length=40, blank=True)
    """Of ``reason``, for programs: a code of `workloads.wording`; empty where it has none."""
    reason_params = models.JSONField(default=dict)
    error_line = models.CharField(max_length=400, blank=True)
    """Of one that failed, the line of its log that says why: only for who may read logs."""
    next_reason = models.CharField(max_length=400, blank=True)
    """What the system does next and when, in words."""
    cannot_start = models.BooleanField(default=False)
    contact_lost_at = models.DateTimeField(null=True)
    phase_since = models.DateTimeField(null=True)
    observed_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)
    """When something of an interactive session was last used; written by `sessions` only."""
    pods_ready = models.PositiveIntegerField(default=0)
    gpus_in_use = models.FloatField(default=0)
    started_at = models.DateTimeField(null=True)
    """First time Running."""
    ended_at = models.DateTimeField(null=True)
    ran_seconds = models.BigIntegerField(default=NOT_STARTED)
    """`sortable_duration`."""
    seq = models.BigIntegerField(default=0)
    """Sequence number in the project's scope of the last shown change."""

    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"],
                condition=models.Q(deleted_at__isnull=True),
                name="workload_name_in_project",
            ),
            models.CheckConstraint(
                condition=models.Q(desired__in=[d.value for d in Desired]),
                name="workload_desired_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=models.Q(due_at__isnull=False), name="workload_due"
            ),
            models.Index(fields=["project", "seq"], name="workload_changes"),
            models.Index(
                fields=["created_at", "id"],
                condition=models.Q(deleted_at__isnull=False),
                name="workload_deleted",
            ),
            models.Index(
                fields=["cluster", "status", "deleted_at", "cpus", "memory", "gpus"],
                name="workload_on_cluster",
            ),
            *(
                models.Index(
                    fields=[*fields],
                    condition=models.Q(deleted_at__isnull=True),
                    name=f"workload_by_{name}",
                )
                for name, fields in _LIST_ORDERS.items()
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self._state.adding:
            self.project_name = self.project.name
            self.owner_name = self.owner.get_username()
        super().save(*args, **kwargs)


class CredentialUse(models.Model):
    """A workload uses a credential, which is therefore not deleted."""

    workload = models.ForeignKey("Workload", models.CASCADE, related_name="credential_uses")
    credential = models.ForeignKey("assets.Credential", models.CASCADE, related_name="uses")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workload", "credential"], name="credential_of_workload"
            )
        ]

    def __str__(self) -> str:
        return f"{self.credential_id} in {self.workload_id}"


class WorkloadLabel(models.Model):
    """A label of a workload's pods, as the list filters by it."""

    workload = models.ForeignKey(Workload, models.CASCADE, related_name="labels")
    key = models.CharField(max_length=317)
    value = models.CharField(max_length=63, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workload", "key"], name="workload_label_once")
        ]
        indexes = [models.Index(fields=["key", "value", "workload"], name="workload_label_found")]

    def __str__(self) -> str:
        return f"{self.key}={self.value}"
