"""The scope tree: tenant > cluster > department > project (R1)."""

import uuid

from django.db import models
from django.utils.text import capfirst

WHOLE = "whole installation"
"""What people call the tenant."""


class ScopeKind(models.TextChoices):
    TENANT = "tenant", capfirst(WHOLE)
    CLUSTER = "cluster"
    DEPARTMENT = "department"
    PROJECT = "project"


class Scope(models.Model):
    """A node of the tree: the only target of policies, grants and assets."""

    kind = models.CharField(max_length=12)
    parent = models.ForeignKey("self", models.PROTECT, null=True, related_name="children")
    name = models.CharField(max_length=63)
    """Copy of the node's name, so that one query names every source of a rule."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind__in=[k.value for k in ScopeKind]), name="scope_kind_known"
            ),
            models.UniqueConstraint(
                fields=["kind"], condition=models.Q(kind="tenant"), name="one_tenant"
            ),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        """``project vision``, within a sentence."""
        return f"the {WHOLE}" if self.kind == ScopeKind.TENANT else f"{self.kind} {self.name}"

    @property
    def title(self) -> str:
        """``Project vision``, as a heading, a choice or a chip."""
        return capfirst(WHOLE) if self.kind == ScopeKind.TENANT else capfirst(self.label)


class Installation(models.Model):
    """This installation, one row. Its id labels everything it makes on a cluster."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=63)
    scope = models.OneToOneField(Scope, models.PROTECT)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
