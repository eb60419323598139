"""Departments and projects: where people work, and what of a cluster they may use."""

import uuid
from decimal import Decimal
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.utils.text import capfirst

from gangline.clusters.connections import namespaces_of
from gangline.lib.problems import Problem
from gangline.resources.models import TreeNode
from gangline.scopes.models import Scope, ScopeKind
from gangline.spec.placement import node_type_problem
from gangline.spec.types import LONGEST_NAME, is_workload_name

MOST_TYPES = 40
RESERVED = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})


def unit_name(name: str) -> None:
    """A name that a namespace can be made from; raises ValidationError."""
    if not is_workload_name(name):
        problem = Problem("format:name", "", {"most": LONGEST_NAME})
        raise ValidationError(capfirst(problem.told), "name", {"value": name})
    if name in RESERVED:
        raise ValidationError("This name is reserved by Kubernetes.", "reserved", {"value": name})


def node_types(names: Any) -> None:
    """Values of the label of node types; raises ValidationError."""
    if not isinstance(names, list) or len(names) > MOST_TYPES:
        raise ValidationError(f"Enter at most {MOST_TYPES} node types.", "type")
    for name in names:
        if problem := node_type_problem(name) if isinstance(name, str) else "must be text":
            says = f"A node type {problem}."
            raise ValidationError(says, "invalid", {"value": str(name)[:60]})
    if len(set(names)) < len(names):
        raise ValidationError("A node type is listed twice.", "twice")


class Department(TreeNode):
    scope_kind = ScopeKind.DEPARTMENT
    parent_field = "cluster"

    cluster = models.ForeignKey("clusters.Cluster", models.PROTECT, related_name="departments")
    name = models.CharField(max_length=63, validators=[unit_name])
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    node_types = models.JSONField(
        "node types for training", default=list, blank=True, validators=[node_types]
    )
    """Of which a workload must choose one; none: any or none."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["name", "cluster"],
                name="department_name_in_cluster",
                violation_error_code="unique",
                violation_error_message=(
                    "A department with this name already exists on the cluster."
                ),
            )
        ]

    def __str__(self) -> str:
        return self.name


class Project(TreeNode):
    """Where people work. ``cluster`` repeats the department's: names are unique per cluster."""

    scope_kind = ScopeKind.PROJECT
    parent_field = "department"

    department = models.ForeignKey(Department, models.PROTECT, related_name="projects")
    cluster = models.ForeignKey(
        "clusters.Cluster", models.PROTECT, related_name="projects", editable=False
    )
    name = models.CharField(max_length=63, validators=[unit_name])
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    own_namespace = models.CharField(
        "namespace",
        max_length=63,
        blank=True,
        validators=[unit_name],
        help_text="An existing namespace of the cluster. It cannot be changed later. "
        "Leave it empty to let Gangline create one.",
    )
    own_queue = models.CharField(
        "queue",
        max_length=63,
        blank=True,
        validators=[
            RegexValidator(
                r"\A[a-z0-9]([a-z0-9.-]*[a-z0-9])?\Z",
                "A queue's name has 1 to 63 lowercase letters, digits, dots and hyphens.",
                "queue",
            )
        ],
        help_text="A queue of the cluster's scheduler that is managed elsewhere. "
        "Leave it empty to let Gangline manage the queue.",
    )
    default_pools = models.JSONField("node pools", default=list, blank=True)
    """Names of node pools in the order in which workloads try them."""
    node_types = models.JSONField(
        "node types for training", default=list, blank=True, validators=[node_types]
    )
    """Of which a workload must choose one, and one that the department allows too."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["name", "cluster"],
                name="project_name_in_cluster",
                violation_error_code="unique",
                violation_error_message="A project with this name already exists on the cluster.",
            ),
            models.UniqueConstraint(
                fields=["cluster", "own_namespace"],
                condition=~models.Q(own_namespace=""),
                name="project_namespace_in_cluster",
                violation_error_code="unique",
                violation_error_message="Another project of the cluster uses this namespace.",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def namespace(self) -> str:
        """Where its workloads run; empty on a cluster without namespaces."""
        return self.own_namespace or namespaces_of(self.cluster)(self.name)

    @property
    def claims_namespace(self) -> str:
        """Where its claims lie, also on a cluster without namespaces. It never changes."""
        return self.namespace or f"project-{self.pk}"

    def full_clean(self, *args: Any, **kwargs: Any) -> None:
        if self.department_id:
            self.cluster_id = self.department.cluster_id
        super().full_clean(*args, **kwargs)

    def clean(self) -> None:
        """Two projects of a cluster never share a namespace: each gives rights in its own."""
        if not self._state.adding or not self.department_id or not self.namespace:
            return
        others = Project.objects.filter(cluster=self.cluster).select_related("cluster")
        holder = next((one for one in others if one.namespace == self.namespace), None)
        if holder is not None:
            why = f"Project {holder.name} uses namespace {holder.namespace}."
            params = {"value": self.own_namespace}
            raise ValidationError({"own_namespace": ValidationError(why, "unique", params)})


class Rank(models.IntegerChoices):
    """Which projects get what is left over first."""

    VERY_LOW = 1, "Very low"
    LOW = 2, "Low"
    MEDIUM_LOW = 3, "Medium low"
    MEDIUM = 4, "Medium"
    MEDIUM_HIGH = 5, "Medium high"
    HIGH = 6, "High"
    VERY_HIGH = 7, "Very high"


RESOURCES = ("gpus", "cpus", "memory")
NOT_NEGATIVE = [MinValueValidator(0, "Enter 0 or more.")]


class Quota(models.Model):
    """What a department or project may use of one node pool. NULL: unlimited.

    Up to the quota it is theirs whenever they ask for it; above it, as long as nobody else claims
    it and ``over_quota`` lets them; never above the limit.
    """

    scope = models.ForeignKey(Scope, models.CASCADE, related_name="quotas")
    node_pool = models.ForeignKey("clusters.NodePool", models.CASCADE, related_name="quotas")
    gpus = models.DecimalField(
        "GPUs", max_digits=9, decimal_places=2, null=True, blank=True, validators=NOT_NEGATIVE
    )
    gpus_limit = models.DecimalField(
        "at most GPUs",
        max_digits=9, decimal_places=2, null=True, blank=True, validators=NOT_NEGATIVE,
    )  # fmt: skip
    cpus = models.DecimalField(
        "CPU cores", max_digits=9, decimal_places=3, null=True, blank=True, validators=NOT_NEGATIVE
    )
    cpus_limit = models.DecimalField(
        "at most CPU cores",
        max_digits=9, decimal_places=3, null=True, blank=True, validators=NOT_NEGATIVE,
    )  # fmt: skip
    memory = models.BigIntegerField(null=True, blank=True, validators=NOT_NEGATIVE)
    """Bytes."""
    memory_limit = models.BigIntegerField(
        "at most memory", null=True, blank=True, validators=NOT_NEGATIVE
    )
    over_quota = models.BooleanField("may use spare capacity above the quota", default=True)
    weight = models.PositiveIntegerField(null=True, blank=True)
    rank = models.PositiveSmallIntegerField(choices=Rank.choices, default=Rank.MEDIUM_LOW)

    VALUES: ClassVar[tuple[str, ...]] = (
        *(name for one in RESOURCES for name in (one, f"{one}_limit")),
        "over_quota", "weight", "rank",
    )  # fmt: skip

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["scope", "node_pool"], name="one_quota_of_a_pool")
        ]

    def __str__(self) -> str:
        return f"{self.scope} in {self.node_pool}"

    def clean(self) -> None:
        problems = {}
        for one in RESOURCES:
            quota, limit = getattr(self, one), getattr(self, f"{one}_limit")
            if limit is not None and quota is not None and limit < quota:
                problems[f"{one}_limit"] = ValidationError(
                    "The limit is smaller than the quota.", "limit", {"value": str(limit)}
                )
        if problems:
            raise ValidationError(problems)

    def amount(self, resource: str) -> Decimal | None:
        """The quota of one of `RESOURCES`; None: unlimited."""
        value = getattr(self, resource)
        return None if value is None else Decimal(value)

    def ceiling(self, resource: str) -> Decimal | None:
        """What is never passed: the limit, or the quota where nothing may be used above it."""
        limit = getattr(self, f"{resource}_limit")
        if not self.over_quota and getattr(self, resource) is not None:
            limit = getattr(self, resource)
        return None if limit is None else Decimal(limit)

    @property
    def share(self) -> int:
        """The weight, or what follows from the GPUs."""
        return self.weight or max(1, int(self.gpus or 0))
