"""Commands that people start beside running pods: asked for, and open."""

import uuid

from django.conf import settings
from django.db import models


class Terminal(models.Model):
    """One ticket, and from its use on the open terminal. The row goes when the terminal does."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    digest = models.CharField(max_length=64, unique=True)
    """Of the ticket, which only the one who asked has."""
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    workload = models.ForeignKey("workloads.Workload", models.CASCADE, related_name="+")
    attempt_no = models.PositiveIntegerField()
    pod = models.CharField(max_length=32)
    """``worker-0``."""
    command = models.JSONField(default=list)
    """Empty: the shell of the pod."""
    tty = models.BooleanField(default=True)
    port = models.PositiveIntegerField(null=True)
    """Set: no command, but connections to this port of the pod."""
    channel = models.CharField(max_length=8)
    """How it was asked for: ``form`` from a page, ``api`` with a token."""
    login = models.CharField(max_length=48)
    """Key of the session, or id of the token: whoever ends that ends this."""
    token_kid = models.CharField(max_length=16, blank=True)
    password_mark = models.CharField(max_length=64)
    """Changes with the person's password."""
    address = models.CharField(max_length=45, blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    """Of the ticket."""
    opened_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)
    """When the process that serves it last said so."""
    used_at = models.DateTimeField(null=True)
    """When something was last typed or shown."""

    class Meta:
        indexes = [models.Index(fields=["workload", "used_at"], name="terminal_use")]

    def __str__(self) -> str:
        return f"terminal of {self.user_id} in {self.pod} of {self.workload_id}"
