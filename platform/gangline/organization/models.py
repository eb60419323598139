"""Departments and projects: where people work."""

import uuid

from django.db import models

from gangline.scopes.models import Scope


class Department(models.Model):
    cluster = models.ForeignKey("clusters.Cluster", models.PROTECT, related_name="departments")
    name = models.CharField(max_length=63)
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    scope = models.OneToOneField(Scope, models.PROTECT)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="department_name_in_cluster")
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
