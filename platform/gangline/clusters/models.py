"""Clusters, their credentials, checks, nodes, and objects on them."""

import uuid
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models

from gangline.db import sealed
from gangline.db.versioned import Versioned
from gangline.drivers.kind import ClusterKind
from gangline.drivers.registry import DRIVERS
from gangline.lib.problems import Problem
from gangline.resources.models import TreeNode
from gangline.scopes.models import ScopeKind
from gangline.spec.placement import label_key_problem
from gangline.spec.storage import SIZE_UNITS, size_problem
from gangline.spec.storage_classes import ClassRules, Parameters
from gangline.spec.types import quantity_bytes


class WhenUnreachable(models.TextChoices):
    """What becomes of a submission while the cluster does not answer."""

    QUEUE = "queue", "Workloads wait"
    REJECT = "reject", "Workloads are refused"


def visible_name(name: str) -> None:
    """A name that can be read. Raises ValidationError."""
    if not name.isprintable():
        raise ValidationError("Use visible characters only.", "name", {"value": name})


def known_kind(kind: str) -> None:
    """Raises ValidationError for an engine that there is no driver for."""
    if kind not in DRIVERS:
        accepted = ", ".join(DRIVERS)
        raise ValidationError(
            "Unknown kind. Accepted: %(accepted)s.", "kind", {"value": kind, "accepted": accepted}
        )


class Cluster(TreeNode):
    scope_kind = ScopeKind.CLUSTER

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(
        max_length=63,
        unique=True,
        validators=[visible_name],
        error_messages={"unique": "A cluster with this name already exists."},
    )
    kind = models.CharField(max_length=12, validators=[known_kind], default="kubernetes")
    """Key of a driver in `gangline.drivers.registry`."""
    domain = models.CharField(max_length=253, blank=True)
    """Under which its tools are reached; only kept for clients."""
    host_id = models.CharField(max_length=64, blank=True, editable=False)
    """Local clusters: only processes of the same host and data folder act on it (R17)."""
    when_unreachable = models.CharField(
        "When unreachable",
        max_length=6,
        choices=WhenUnreachable.choices,
        default=WhenUnreachable.QUEUE,
        help_text="What happens to new workloads. Running workloads are not affected.",
    )
    config = models.JSONField(default=dict, blank=True)
    """The connection model of its kind, as JSON."""
    credential_at = models.DateTimeField(null=True, editable=False)
    """When the credential was stored: every process connects anew then."""
    storage = models.JSONField(default=dict, editable=False)
    """What may be asked of its storage classes, by name; kept by `storage.publish`."""
    facts = models.JSONField(default=dict, blank=True, editable=False)
    """`gangline.drivers.facts.Facts` of the last good probe, as JSON."""
    capacity = models.JSONField(default=dict, blank=True, editable=False)
    health = models.CharField(max_length=12, default="Unknown", editable=False)
    """Connected, Unreachable or Unknown."""
    health_reason = models.CharField(max_length=400, blank=True, editable=False)
    health_since = models.DateTimeField(null=True, editable=False)
    last_ok_at = models.DateTimeField(null=True, editable=False)
    admit_due = models.BooleanField(default=False, editable=False)
    """Slots were freed or asked for since the last walk over the waiting gangs (R7b)."""
    synced_fence = models.BigIntegerField(default=0, editable=False)
    """Fence of the watcher lease under which all that is there was last told and stored."""
    watch_trouble = models.TextField(blank=True, default="", editable=False)
    """Why a part of the cluster cannot be followed, in words; empty: everything is."""
    heard_at = models.DateTimeField(null=True, editable=False)
    """When the stream of the watch that is silent for longest was last heard; None: no watch."""
    searched_at = models.DateTimeField(null=True, editable=False)
    """When the last search for orphans began."""
    search_trouble = models.TextField(blank=True, default="", editable=False)
    """Why that search could tell nothing, in words; empty: it came to its end."""
    backoff_until = models.DateTimeField(null=True, editable=False)
    """It is left alone until then: it asked for it, or does not answer."""
    failures = models.PositiveIntegerField(default=0, editable=False)
    """Passes in a row that had no contact with it."""

    @property
    def gpu_count(self) -> int:
        """GPUs of all nodes; what was stored before there was a count has them one by one."""
        return int(self.capacity.get("gpu_count") or len(self.capacity.get("gpus", ())))

    @property
    def engine(self) -> ClusterKind:
        """What its kind declares. Raises KeyError for one of a removed driver."""
        return DRIVERS[self.kind]


class Credential(models.Model):
    """How Gangline signs in to one cluster. What is not sealed may be shown."""

    cluster = models.OneToOneField(
        Cluster, models.CASCADE, primary_key=True, related_name="credential"
    )
    sealed = models.TextField()
    """What the driver connects with, as JSON, sealed for this cluster (`gangline.lib.sealing`)."""
    identity = models.CharField(max_length=12)
    """``token``, ``certificate`` or ``in-cluster``."""
    identity_name = models.CharField(max_length=255, blank=True)
    server = models.CharField(max_length=2048)
    fingerprint = models.CharField(max_length=16, blank=True)
    ends_at = models.DateTimeField(null=True)
    added_at = models.DateTimeField()
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)

    def __str__(self) -> str:
        return f"{self.identity} for {self.server}"


sealed.register(
    sealed.SealedColumn(
        Credential,
        context=lambda row: f"cluster/{row.cluster_id}",
        name=lambda row: f"The credential of {row.cluster.name}",
        related=("cluster",),
    )
)


class ConnectionCheck(models.Model):
    """The last look at a cluster's connection, step by step; one row per cluster."""

    cluster = models.OneToOneField(
        Cluster, models.CASCADE, primary_key=True, related_name="connection_check"
    )
    run = models.UUIDField(default=uuid.uuid4)
    """Which check it is: one that was overtaken writes nothing any more."""
    is_trial = models.BooleanField(default=False)
    """It tries a credential that is not stored yet: the connection itself is not touched."""
    steps = models.JSONField(default=list)
    """`gangline.drivers.checks.Step` as JSON, in their order."""
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"check of {self.cluster_id}"


ORPHAN_GOES_WITHIN = timedelta(seconds=30)
"""So long its pods may take to end before it counts as staying."""


class Orphan(models.Model):
    """An object that bears this installation's label and belongs to no workload of it.

    Absence of a row is no proof: it is shown after two looks, and only a person decides.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="orphans")
    ext_uid = models.CharField(max_length=100)
    kind = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    namespace = models.CharField(max_length=63, blank=True)
    workload = models.CharField(max_length=63, blank=True)
    """The workload that its label names, whatever is written there."""
    attempt = models.PositiveIntegerField(default=0)
    why = models.CharField(max_length=120)
    """Why it belongs to nobody, in words."""
    labels = models.JSONField(default=dict)
    pods = models.PositiveIntegerField(default=0)
    """Pods that live."""
    gpus = models.PositiveIntegerField(default=0)
    """GPU devices that all of its pods ask for together."""
    created_at = models.DateTimeField(null=True)
    """On the cluster, by its own clock."""
    first_seen_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    is_sure = models.BooleanField(default=False)
    """Two looks found it, a minute or more apart: not just a submission on its way."""
    is_going = models.BooleanField(default=False)
    decision = models.CharField(max_length=8, blank=True)
    """``ignore`` or ``delete``; empty: nobody decided."""
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "ext_uid"], name="orphan_uid_on_cluster")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def was_asked_to_go(self) -> bool:
        """Somebody asked to delete it, and no look since then has found it."""
        return self.decision == "delete" and not self.stays

    @property
    def stays(self) -> bool:
        """It was found again after somebody asked to delete it."""
        return bool(self.decided_at and self.seen_at > self.decided_at + ORPHAN_GOES_WITHIN)


SMALL_NAME = RegexValidator(
    r"\A[a-z]([-a-z0-9]*[a-z0-9])?\Z",
    "Use lowercase letters, digits and hyphens, starting with a letter.",
    "name",
)
LONGEST_KEY = 317
_VALUE = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
DEFAULT_POOL = "default"
MOST_LEVELS = 16


class NetworkTopology(Versioned):
    """Labels of a cluster's nodes from the farthest level to the closest: zone, block, rack."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="topologies")
    name = models.CharField(max_length=63, validators=[SMALL_NAME])
    levels = models.JSONField(
        help_text="Node label keys, one per line, from the farthest level to the closest."
    )

    class Meta:
        verbose_name_plural = "network topologies"
        constraints = [
            models.UniqueConstraint(
                fields=["name", "cluster"],
                name="topology_name_in_cluster",
                violation_error_code="unique",
                violation_error_message=(
                    "A network topology with this name already exists on the cluster."
                ),
            )
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        given = self.levels if isinstance(self.levels, list) else []
        says = ""
        if not given or len(given) > MOST_LEVELS:
            says, code = f"Give 1 to {MOST_LEVELS} labels.", "required"
        elif wrong := next((one for one in given if not _is_label(one)), None):
            says, code = f"{str(wrong)[:80]!r} is not a valid key of a Kubernetes label.", "label"
        elif len(set(given)) < len(given):
            says, code = "Each label can be one level only.", "unique_items"
        if says:
            raise ValidationError({"levels": ValidationError(says, code)})

    @property
    def phase(self) -> str:
        """Ready once nodes of the cluster have the label of every level."""
        known = (self.cluster.facts.get("detail", {}).get("nodes") or {}).get("labels") or []
        return "Ready" if set(self.levels) <= set(known) else "Creating"


def _is_label(key: object) -> bool:
    return isinstance(key, str) and label_key_problem(key) is None


def label_key(key: str) -> None:
    """Refuse what no label of a node can be called."""
    if not _is_label(key):
        raise ValidationError("Enter a valid key of a Kubernetes label.", "label")


class NodePool(Versioned):
    """Nodes of a cluster that bear one label. The default pool takes all others."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="pools")
    name = models.CharField(max_length=63, validators=[SMALL_NAME])
    network_topology = models.ForeignKey(
        NetworkTopology, models.RESTRICT, null=True, blank=True, related_name="pools"
    )
    label_key = models.CharField(
        max_length=LONGEST_KEY,
        blank=True,
        validators=[label_key],
        help_text="Nodes with this label belong to the pool.",
    )
    label_value = models.CharField(
        max_length=63,
        blank=True,
        validators=[
            RegexValidator(rf"\A{_VALUE}\Z", "Enter a valid value of a Kubernetes label.", "label")
        ],
    )
    is_default = models.BooleanField(default=False, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["name", "cluster"],
                name="node_pool_name_in_cluster",
                violation_error_code="unique",
                violation_error_message="A node pool with this name already exists on the cluster.",
            ),
            models.UniqueConstraint(
                fields=["cluster"],
                condition=models.Q(is_default=True),
                name="node_pool_default_in_cluster",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Node(models.Model):
    """A machine of a cluster, as the last probe saw it."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="nodes")
    name = models.CharField(max_length=253)
    pool = models.ForeignKey(NodePool, models.SET_NULL, null=True, related_name="nodes")
    status = models.CharField(max_length=10)
    """Ready, NotReady, Cordoned or Unknown."""
    labels = models.JSONField(default=dict)
    taints = models.JSONField(default=list)
    """``{"key", "value", "effect"}`` each."""
    cpu = models.FloatField(default=0)
    memory = models.BigIntegerField(default=0)
    gpus = models.PositiveIntegerField(default=0)
    gpu_type = models.CharField(max_length=120, blank=True)
    digest = models.CharField(max_length=16)
    """Of everything above but the pool: one look compares it, and writes what differs."""
    created_at = models.DateTimeField()
    """When it was first seen."""
    seen_at = models.DateTimeField()
    """When something about it was last found different."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "cluster"], name="node_name_in_cluster")
        ]

    def __str__(self) -> str:
        return self.name


def known_size(text: str) -> None:
    """Raises ValidationError for what is no size of a volume."""
    if problem := size_problem(text):
        raise ValidationError(f"This {problem}.", "format", {"value": text, "accepted": "16Gi"})


ACCESS_MODES = {
    "readWriteOnce": "read_write_once",
    "readOnlyMany": "read_only_many",
    "readWriteMany": "read_write_many",
}
"""Columns by the names of the spec."""


class StorageClass(Versioned):
    """One of a cluster: the probe lists it, an administrator says what may be asked of it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(
        Cluster, models.CASCADE, related_name="storage_classes", editable=False
    )
    name = models.CharField(max_length=253, editable=False)
    provisioner = models.CharField(max_length=253, blank=True, editable=False)
    is_default = models.BooleanField(default=False, editable=False)
    for_workloads = models.BooleanField("Volumes of workloads", default=True)
    for_assets = models.BooleanField("Data sources", default=True)
    data_sharing = models.BooleanField("Claims that several projects share", default=False)
    ephemeral = models.BooleanField("Ephemeral volumes", default=True)
    persistent = models.BooleanField("Persistent volumes", default=True)
    read_write_once = models.BooleanField("Read-write by one node", default=True)
    read_only_many = models.BooleanField("Read-only by many nodes", default=True)
    read_write_many = models.BooleanField("Read-write by many nodes", default=True)
    needs_access_mode = models.BooleanField("People must choose", default=False)
    default_access = models.JSONField("Preselected", default=list, blank=True)
    filesystem = models.BooleanField("Filesystem", default=True)
    block = models.BooleanField("Block", default=True)
    needs_volume_mode = models.BooleanField("People must choose", default=False)
    default_volume_mode = models.CharField(
        "Preselected",
        max_length=10,
        blank=True,
        choices=[("Filesystem", "Filesystem"), ("Block", "Block")],
    )
    default_size = models.CharField("Default", max_length=20, blank=True, validators=[known_size])
    size_units = models.JSONField("Units", default=list, blank=True)
    min_size = models.CharField("At least", max_length=20, blank=True, validators=[known_size])
    max_size = models.CharField("At most", max_length=20, blank=True, validators=[known_size])
    size_step = models.CharField("In steps of", max_length=20, blank=True, validators=[known_size])
    parameters = models.JSONField("Parameters", default=list, blank=True)
    """As `spec.storage_classes.Parameter` in JSON."""

    class Meta:
        verbose_name_plural = "storage classes"
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="storage_class_in_cluster")
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        low, high = self.min_size, self.max_size
        are_sizes = low and high and not size_problem(low) and not size_problem(high)
        if are_sizes and quantity_bytes(low) > quantity_bytes(high):
            raise ValidationError(
                {"max_size": ValidationError("This is less than the minimum size.", "range")}
            )
        for names, first in (
            (("read_write_once", "read_only_many", "read_write_many"), "read_write_once"),
            (("filesystem", "block"), "filesystem"),
        ):
            if not any(getattr(self, name) for name in names):
                raise ValidationError({first: ValidationError("Allow at least one.", "required")})
        self._clean_defaults()

    def _clean_defaults(self) -> None:
        """What stands at first must be among what can be chosen."""
        offered = [mode for mode, name in ACCESS_MODES.items() if getattr(self, name)]
        units = self.size_units if isinstance(self.size_units, list) else [None]
        wrong = {
            "default_access": not isinstance(self.default_access, list)
            or any(one not in offered for one in self.default_access),
            "default_volume_mode": bool(self.default_volume_mode)
            and not getattr(self, self.default_volume_mode.lower(), False),
            "size_units": any(one not in SIZE_UNITS for one in units),
        }
        for name, is_wrong in wrong.items():
            if is_wrong:
                error = ValidationError("This is not available.", "options")
                raise ValidationError({name: error})
        try:
            Parameters.model_validate({"attributes": self.parameters})
        except ValueError as why:
            raise ValidationError(
                {"parameters": ValidationError("These are not valid parameters.", "format")}
            ) from why
        if not self.default_size or size_problem(self.default_size):
            return
        if breach := next(ClassRules.of(self.name, self.rules).sized(self.default_size), None):
            error = ValidationError(f"This {breach.told}", breach.rule)
            raise ValidationError({"default_size": error})

    @property
    def is_configured(self) -> bool:
        """Whether an administrator has said anything of it."""
        return bool(self.rules)

    @property
    def rules(self) -> dict[str, Any]:
        """What differs from a class of which anything may be asked, as drivers read it."""
        flags = {
            "forWorkloads": self.for_workloads,
            "forAssets": self.for_assets,
            "ephemeral": self.ephemeral,
            "persistent": self.persistent,
            "readWriteOnce": self.read_write_once,
            "readOnlyMany": self.read_only_many,
            "readWriteMany": self.read_write_many,
            "Filesystem": self.filesystem,
            "Block": self.block,
        }
        told = {
            "min": self.min_size,
            "max": self.max_size,
            "step": self.size_step,
            "size": self.default_size,
            "units": self.size_units,
            "modes": self.default_access,
            "volumeMode": self.default_volume_mode,
            "needsModes": self.needs_access_mode,
            "needsVolumeMode": self.needs_volume_mode,
            "sharesData": self.data_sharing,
            "attributes": self.parameters,
        }
        found: dict[str, Any] = {name: False for name, allowed in flags.items() if not allowed}
        return found | {name: value for name, value in told.items() if value}


class ObjectState(models.TextChoices):
    WAITING = "waiting", "Waiting"
    OK = "ok", "Applied"
    CONFLICT = "conflict", "Conflict"
    """Another manager owns fields of ours: shown, not fought."""
    FORBIDDEN = "forbidden", "Forbidden"
    FAILED = "failed", "Failed"
    DELETING = "deleting", "Deleting"


class ClusterObject(models.Model):
    """An object that Gangline keeps on a cluster for one of its own, such as a queue."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="objects_there")
    owner_type = models.CharField(max_length=40)
    """Key of a resource: ``project``."""
    owner_id = models.CharField(max_length=40)
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    looked_for_by = models.CharField(max_length=40, blank=True)
    """The owner of one that others made: several of ours may look for the same object."""
    wanted = models.JSONField(default=dict)
    """The object as it should be, without what the cluster adds."""
    wanted_hash = models.CharField(max_length=64, blank=True)
    applied_hash = models.CharField(max_length=64, blank=True)
    state = models.CharField(
        max_length=10, choices=ObjectState.choices, default=ObjectState.WAITING
    )
    problem = models.JSONField(null=True)
    """`gangline.lib.problems.Problem` as JSON: why it is not as wanted."""
    due_at = models.DateTimeField(null=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "namespace", "name", "looked_for_by"],
                name="object_on_cluster",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def why(self) -> str:
        """Why it is not as wanted, in words; empty where it is."""
        return Problem.from_stored(self.problem).told if self.problem else ""
