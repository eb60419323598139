"""Saved views: the address of a table under a name."""

import uuid

from django.conf import settings
from django.db import models

from gangline.db.fields import FoldedField


class SharedWith(models.TextChoices):
    PRIVATE = "private", "Only me"
    PROJECT = "project", "A project"
    EVERYONE = "everyone", "Everyone"


class SavedView(models.Model):
    """What a table shows, by name: the text of an address, in which things stand by their ids."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    table = models.SlugField(max_length=40)
    name = models.CharField(max_length=60)
    folded_name = FoldedField("name")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="views")
    shared = models.CharField("Shared with", max_length=8, choices=SharedWith, default="private")
    scope = models.ForeignKey(
        "scopes.Scope", models.CASCADE, null=True, blank=True, related_name="views"
    )
    """The project it is shared with, if it is."""
    query = models.TextField(max_length=2000, blank=True)

    class Meta:
        ordering = ("name", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["table", "owner", "folded_name"], name="saved_view_name_of_owner"
            ),
            models.CheckConstraint(
                condition=models.Q(shared="project", scope__isnull=False)
                | models.Q(shared__in=["private", "everyone"], scope__isnull=True),
                name="saved_view_scope_when_shared",
            ),
        ]

    def __str__(self) -> str:
        return self.name
