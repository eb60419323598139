"""Saved views: the address of a table under a name."""

import uuid

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models

from gangline.db.fields import FoldedField
from gangline.db.versioned import Versioned


class SharedWith(models.TextChoices):
    PRIVATE = "private", "Only me"
    PROJECT = "project", "A project"
    EVERYONE = "everyone", "Everyone"


class SavedView(Versioned):
    """What a table shows, by name: the text of an address, in which things stand by their ids."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    table = models.SlugField(max_length=40)
    name = models.CharField(max_length=60)
    folded_name = FoldedField("name")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, editable=False, related_name="views"
    )
    shared = models.CharField(
        "Who sees it", max_length=8, choices=SharedWith, default=SharedWith.PRIVATE
    )
    scope = models.ForeignKey(
        "scopes.Scope", models.CASCADE, null=True, blank=True, related_name="views"
    )
    """The project it is shared with, if it is."""
    query = models.TextField(max_length=2000, blank=True)

    class Meta:
        ordering = ("name", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["table", "owner", "folded_name"],
                name="saved_view_name_of_owner",
                violation_error_code="unique",
                violation_error_message="You already have a view with this name.",
            ),
            models.CheckConstraint(
                condition=models.Q(shared="project", scope__isnull=False)
                | models.Q(shared__in=["private", "everyone"], scope__isnull=True),
                name="saved_view_scope_when_shared",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if self.shared != SharedWith.PROJECT:
            self.scope = None
        elif self.scope is None:
            raise ValidationError({"scope": ValidationError("Choose the project.", "required")})
