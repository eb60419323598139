"""One row per security-relevant action, written in the same transaction as the change."""

from django.conf import settings
from django.db import models


class AuditEntry(models.Model):
    at = models.DateTimeField()
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    actor_name = models.CharField(max_length=150)
    channel = models.CharField(max_length=12)
    """form, api, cli, yaml or system."""
    action = models.CharField(max_length=60)
    """A constant of `gangline.audit.actions`, such as ``workload.create``."""
    object_type = models.CharField(max_length=40)
    object_id = models.CharField(max_length=64, blank=True)
    object_name = models.CharField(max_length=150, blank=True)
    scope = models.ForeignKey("scopes.Scope", models.SET_NULL, null=True)
    result = models.CharField(max_length=8, default="ok")
    """ok, denied or failed."""
    reason = models.CharField(max_length=400, blank=True)
    detail = models.JSONField(default=dict, blank=True)
    """Redacted difference: names of secrets, never their values."""
    address = models.CharField(max_length=45, blank=True)
    token_kid = models.CharField(max_length=16, blank=True)
    request_id = models.CharField(max_length=36, blank=True)

    class Meta:
        verbose_name = "audit log entry"
        verbose_name_plural = "audit log"
        indexes = [
            models.Index(fields=["at", "id"], name="audit_by_time"),
            models.Index(fields=["actor_name", "at"], name="audit_by_actor"),
            models.Index(fields=["action", "at"], name="audit_by_action"),
            models.Index(fields=["object_type", "object_id", "at"], name="audit_by_object"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%F %T} {self.actor_name} {self.action} {self.object_name}"
