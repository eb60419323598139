"""What was saved of the settings."""

from django.conf import settings
from django.db import models


class Setting(models.Model):
    key = models.CharField(primary_key=True, max_length=60)
    value = models.JSONField(null=True)
    """None: put back to the default, whatever that is."""
    version = models.PositiveIntegerField(default=1)
    """Rises with every change; without a row it counts as 0."""
    updated_at = models.DateTimeField()
    updated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    def __str__(self) -> str:
        return self.key
