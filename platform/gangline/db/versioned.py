"""The base of what people change: who made and changed it when, and a version."""

from django.conf import settings
from django.db import models


class Versioned(models.Model):
    """What a person edits: who made and changed it when, and a version against lost updates."""

    description = models.CharField(max_length=400, blank=True)
    version = models.PositiveIntegerField(default=1, editable=False)
    """Rises with every change by a person; what the system observes leaves it alone."""
    created_at = models.DateTimeField(editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, editable=False, related_name="+"
    )
    updated_at = models.DateTimeField(editable=False)
    updated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, editable=False, related_name="+"
    )

    class Meta:
        abstract = True
