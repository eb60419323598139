"""Departments and projects: where people work."""

import uuid

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.text import capfirst

from gangline.resources.models import TreeNode
from gangline.scopes.models import Scope, ScopeKind
from gangline.spec.types import workload_name_problem

RESERVED = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})


def unit_name(name: str) -> None:
    """A name that a namespace can be made from; raises ValidationError."""
    if problem := workload_name_problem(name):
        raise ValidationError(capfirst(f"{problem}."), "name", {"value": name})
    if name in RESERVED:
        raise ValidationError("Kubernetes uses this name itself.", "reserved", {"value": name})


class Department(TreeNode):
    scope_kind = ScopeKind.DEPARTMENT
    parent_field = "cluster"

    cluster = models.ForeignKey("clusters.Cluster", models.PROTECT, related_name="departments")
    name = models.CharField(max_length=63, validators=[unit_name])
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "name"],
                name="department_name_in_cluster",
                violation_error_code="unique",
                violation_error_message="The cluster has a department of this name already.",
            )
        ]

    def __str__(self) -> str:
        return self.name


class Project(models.Model):
    """Where people work. ``cluster`` repeats the department's: names are unique per cluster."""

    department = models.ForeignKey(Department, models.PROTECT, related_name="projects")
    cluster = models.ForeignKey("clusters.Cluster", models.PROTECT, related_name="projects")
    name = models.CharField(max_length=63)
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    scope = models.OneToOneField(Scope, models.PROTECT)
    gpu_quota = models.PositiveIntegerField(null=True)
    """Soft quota in GPU devices; None: not set."""
    queue = models.CharField(max_length=63, blank=True)
    """Queue of the cluster's scheduler in which its trainings wait; empty: the default one."""
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="project_name_in_cluster")
        ]

    def __str__(self) -> str:
        return self.name
