"""One action on many workloads: what was chosen, and what became of each."""

import uuid

from django.conf import settings
from django.db import models


class BulkAction(models.Model):
    """Its id is the key of the request: the same request sent twice is the same action."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    action = models.CharField(max_length=12)
    query = models.TextField(blank=True)
    """Address of the list that it was chosen in."""
    total = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True)
    """When the next rows are taken; NULL: every one has a result."""

    class Meta:
        indexes = [
            models.Index(
                fields=["due_at"], condition=models.Q(due_at__isnull=False), name="bulk_action_due"
            )
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.total}"


class ItemState(models.TextChoices):
    WAITING = "waiting"
    OK = "ok"
    SKIPPED = "skipped"
    """Nothing was left to do: it had ended, or is gone."""
    REFUSED = "refused"


class BulkItem(models.Model):
    """One workload of an action, frozen when it was asked for."""

    action = models.ForeignKey(BulkAction, models.CASCADE, related_name="items")
    workload = models.ForeignKey("workloads.Workload", models.CASCADE, related_name="bulk_items")
    state = models.CharField(max_length=8, default=ItemState.WAITING)
    problem = models.CharField(max_length=400, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["action", "workload"], name="bulk_item_once")
        ]
        indexes = [models.Index(fields=["action", "state", "id"], name="bulk_item_state")]

    def __str__(self) -> str:
        return f"{self.workload_id}: {self.state}"
