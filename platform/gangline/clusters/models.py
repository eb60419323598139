"""Clusters and the leases of the processes that act on them."""

import uuid

from django.db import models


class Cluster(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=63, unique=True)
    kind = models.CharField(max_length=12)
    """Name of a driver in `gangline.clusters.drivers`: ``local`` now."""
    scope = models.OneToOneField("organization.Scope", models.PROTECT)
    host_id = models.CharField(max_length=64, blank=True)
    """Local clusters: only processes of the same host and data folder act on it (R17)."""
    when_unreachable = models.CharField(max_length=6, default="queue")
    config = models.JSONField(default=dict, blank=True)
    facts = models.JSONField(default=dict, blank=True)
    """`gangline.clusters.drivers.base.Facts` of the last good probe, as JSON."""
    capacity = models.JSONField(default=dict, blank=True)
    health = models.CharField(max_length=12, default="Unknown")
    """Connected, Unreachable or Unknown."""
    health_reason = models.CharField(max_length=400, blank=True)
    health_since = models.DateTimeField(null=True)
    last_ok_at = models.DateTimeField(null=True)
    admit_due = models.BooleanField(default=False)
    """Slots were freed or asked for since the last walk over the waiting gangs (R7b)."""
    synced_fence = models.BigIntegerField(default=0)
    """Fence of the watcher lease under which a full list was last adopted."""
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Lease(models.Model):
    """The right of one process to play a role such as ``ticker`` or ``watcher:<cluster>``."""

    name = models.CharField(max_length=80, primary_key=True)
    owner = models.CharField(max_length=120)
    until = models.DateTimeField()
    fence = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return self.name


class SystemNotice(models.Model):
    """A trouble of Gangline's own machinery; the row goes when it is over."""

    name = models.CharField(max_length=40, primary_key=True)
    """``message-service`` or ``workers``."""
    message = models.CharField(max_length=400)
    since = models.DateTimeField()

    def __str__(self) -> str:
        return self.message
