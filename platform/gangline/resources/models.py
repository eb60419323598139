"""The two bases of what people make: held in a scope, or itself a node of the scope tree."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from gangline.scopes.models import Scope, ScopeKind


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


class ScopedModel(Versioned):
    """Held in a scope: seen from there downwards, changed by who may change it there."""

    scope = models.ForeignKey(Scope, models.CASCADE, related_name="+")
    name = models.CharField(max_length=63)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name


class TreeNode(Versioned):
    """A cluster, department or project: its own scope, made and renamed with it."""

    scope = models.OneToOneField(Scope, models.PROTECT, editable=False)
    name = models.CharField(max_length=63)

    scope_kind: ClassVar[ScopeKind]
    parent_field: ClassVar[str] = ""
    """The foreign key to the node above; empty: the tenant."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name
