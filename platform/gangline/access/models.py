"""Grants: a role given to a person in a scope and everything below it."""

from django.conf import settings
from django.db import models


class Grant(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="grants")
    role = models.CharField(max_length=40)
    """Name of a role in `gangline.access.roles`."""
    scope = models.ForeignKey("scopes.Scope", models.CASCADE, related_name="grants")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "role", "scope"], name="one_grant_each")
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role} in {self.scope}"
