"""The unsent form (R25)."""

import uuid

from django.conf import settings
from django.db import models


class Draft(models.Model):
    """Raw text per step, as typed. Parsing happens on read; nothing is discarded."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="drafts")
    inputs = models.JSONField(default=dict)
    """{step: {field: text or ordered rows with a row id}}; prefilled texts with their origin."""
    versions = models.JSONField(default=dict)
    """{step: {"version", "tab", "at"}}: one version per step; the same tab never conflicts."""
    last_dry_run = models.JSONField(default=dict)
    """What the cluster said to it last, as `workloads.wizard.last_dry_run` keeps it; or empty."""
    workload = models.OneToOneField("workloads.Workload", models.SET_NULL, null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"draft {self.id}"

    @property
    def is_untouched(self) -> bool:
        """Whether all its steps were stored in one moment, as "Run now" does."""
        marks = self.versions.values()
        return len(marks) > 1 and len({mark["at"] for mark in marks}) == 1
