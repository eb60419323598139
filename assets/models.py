"""Templates: a filled-in form to start from."""

import uuid

from django.conf import settings
from django.db import models


class Template(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    scope = models.ForeignKey("scopes.Scope", models.CASCADE, related_name="templates")
    name = models.CharField(max_length=63)
    description = models.CharField(max_length=200, blank=True)
    framework = models.CharField(max_length=20)
    configuration = models.CharField(max_length=20)
    master = models.CharField(max_length=12, default="same")
    """``none``, ``same`` or ``differences``, as in `gangline.policies.engine.Request`."""
    values = models.JSONField(default=dict)
    """Value by qualified path, such as ``worker.compute.cpuCoreRequest``."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField()
    used_count = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["scope", "name"], name="template_name_in_scope")
        ]

    def __str__(self) -> str:
        return self.name
