"""Stored policies: one document per scope."""

import uuid

from django.conf import settings
from django.db import models


class Policy(models.Model):
    """Policy of one scope for distributed training. ``text`` is the YAML as the person wrote it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    scope = models.OneToOneField("scopes.Scope", models.CASCADE, related_name="policy")
    name = models.CharField(max_length=100, blank=True)
    """What clients call it; empty: as its scope."""
    text = models.TextField()
    version = models.PositiveIntegerField(default=1)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    updated_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.scope)
