"""The two bases of what people make: held in a scope, or itself a node of the scope tree."""

from typing import ClassVar

from django.db import models

from gangline.db.versioned import Versioned
from gangline.scopes.models import Scope, ScopeKind


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
