"""What a workload's form is filled in from: assets for its parts, templates for the whole."""

import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils.text import slugify

from assets.credentials.types import PERSONAL, TYPES, CredentialType
from gangline.db import sealed
from gangline.resources.models import ScopedModel
from gangline.scopes.models import Scope
from gangline.spec.frameworks import PROGRAMS


class Template(ScopedModel):
    """A workload's form, filled in: values of its own over those of the assets that it links."""

    class Master(models.TextChoices):
        NONE = "none", "None"
        SAME = "same", "Same as the workers"
        DIFFERENCES = "differences", "Different from the workers"

    class Mode(models.TextChoices):
        """What whoever uses the template may do with a field; without one they may change it."""

        FIXED = "fixed", "Fixed"
        ASK = "ask", "Ask"

    kind: ClassVar[str] = "workload-template"
    """As older clients call it beside the kinds of assets."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    framework = models.CharField(max_length=20)
    configuration = models.CharField(max_length=20)
    master = models.CharField(max_length=12, choices=Master.choices, default=Master.SAME)
    values = models.JSONField(default=dict, blank=True)
    """Value by qualified path, such as ``worker.compute.cpuCoreRequest``."""
    links = models.JSONField(default=dict, blank=True)
    """Id by ``<role>.<kind>`` of each asset whose values it follows: edits of the asset flow in."""
    modes = models.JSONField(default=dict, blank=True)
    """A `Mode` by qualified path."""
    used_count = models.PositiveIntegerField(default=0, editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "name"],
                name="template_name_in_scope",
                violation_error_code="unique",
                violation_error_message="This name is taken in this scope.",
            )
        ]


class OfKind(models.Manager[Any]):
    """The assets of one kind."""

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().filter(kind=self.model.own_kind)


class Asset(ScopedModel):
    """Values for a part of the form, held in a scope and used in every project below it.

    Each kind is a proxy of its own; `assets.kinds` says which fields of the spec it holds.
    """

    class Kind(models.TextChoices):
        ENVIRONMENT = "environment"
        COMPUTE = "compute"
        NFS = "nfs"
        PVC = "pvc"
        S3 = "s3"
        GIT = "git"
        HOST_PATH = "hostPath"
        CONFIG_MAP = "config-map"
        SECRET = "secret-volume"  # noqa: S105  no password
        DATA_VOLUME = "data-volume"

    own_kind: ClassVar[str] = ""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=16, choices=Kind.choices, editable=False)
    values = models.JSONField(default=dict, blank=True)
    """Value by path of the spec, such as ``compute.cpuCoreRequest``."""
    framework = models.CharField(
        "made for",
        max_length=20,
        blank=True,
        choices=[(one.name, one.label) for one in PROGRAMS.values()],
        help_text="The form offers it only to workloads of this framework.",
    )
    """Of an environment: the one framework that its image has; empty: any."""
    used_count = models.PositiveIntegerField(default=0, editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)
    origin = models.ForeignKey(
        "self", models.RESTRICT, null=True, editable=False, related_name="data_volumes"
    )
    """Of a data volume: the PVC data source whose claim it shares."""
    shared = models.ManyToManyField(Scope, editable=False, related_name="+")
    """Of a data volume: the scopes that may mount it beside its own project."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "kind", "name"],
                name="asset_name_in_scope",
                violation_error_code="unique",
                violation_error_message="This name is taken in this scope.",
            )
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not args:
            kwargs.setdefault("kind", self.own_kind)
        super().__init__(*args, **kwargs)


class Environment(Asset):
    """What a replica runs: image, command, variables."""

    own_kind: ClassVar[str] = Asset.Kind.ENVIRONMENT
    objects: ClassVar[OfKind] = OfKind()

    class Meta:
        proxy = True


class Compute(Asset):
    """What a replica runs on: GPUs, CPU, memory."""

    own_kind: ClassVar[str] = Asset.Kind.COMPUTE
    objects: ClassVar[OfKind] = OfKind()

    class Meta:
        proxy = True
        verbose_name = "compute resource"


@dataclass(frozen=True, kw_only=True)
class SourceType:
    """A type of data source: model, form, pages and its part of the API follow from this."""

    kind: Asset.Kind
    model: str
    noun: str
    article: str = "a"
    field: str = ""
    """The list under ``storage`` of which such a data source is an item; empty: as the kind."""
    key: str = ""
    """Of its resource; empty: as the kind."""
    wire: str = ""
    """Its name in answers that list several types; empty: as the kind."""
    path: str = ""
    """The last part of its address in the API; empty: as the kind."""

    @property
    def words(self) -> str:
        return f"{self.noun} data source"


SOURCE_TYPES = (
    SourceType(kind=Asset.Kind.NFS, model="NfsSource", noun="NFS", article="an"),
    SourceType(kind=Asset.Kind.PVC, model="PvcSource", noun="PVC"),
    SourceType(kind=Asset.Kind.S3, model="S3Source", noun="S3", article="an"),
    SourceType(kind=Asset.Kind.GIT, model="GitSource", noun="Git"),
    SourceType(
        kind=Asset.Kind.HOST_PATH,
        model="HostPathSource",
        noun="host path",
        key="host_path",
        path="host-path",
    ),
    SourceType(
        kind=Asset.Kind.CONFIG_MAP,
        model="ConfigMapSource",
        noun="ConfigMap",
        field="configMapVolume",
        key="config_map",
        wire="config_map",
    ),
    SourceType(
        kind=Asset.Kind.SECRET,
        model="SecretSource",
        noun="Secret",
        field="secretVolume",
        key="secret_volume",
        wire="secret",
        path="secrets",
    ),
)
"""In the order in which they are offered."""
DATA = tuple(one.kind for one in SOURCE_TYPES)
"""Kinds of data source."""


class OfData(models.Manager[Any]):
    """The data sources of every type."""

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().filter(kind__in=DATA)


class DataSource(Asset):
    """Existing data, and where replicas find it. Each type is a model of its own."""

    objects: ClassVar[OfData] = OfData()

    class Meta:
        proxy = True
        verbose_name = "data source"


def _proxy(one: SourceType) -> type[Asset]:
    """The model of a type."""
    meta = type("Meta", (), {"proxy": True, "verbose_name": one.words})
    own = {"own_kind": one.kind, "objects": OfKind(), "Meta": meta, "__module__": __name__}
    return type(one.model, (Asset,), own)


SOURCES: Mapping[str, type[Asset]] = {one.kind: _proxy(one) for one in SOURCE_TYPES}
"""The model of each type of data source, by kind."""
PvcSource = SOURCES[Asset.Kind.PVC]


class DataVolume(Asset):
    """The claim of a project's PVC data source, shared with other scopes, which only read it."""

    own_kind: ClassVar[str] = Asset.Kind.DATA_VOLUME
    objects: ClassVar[OfKind] = OfKind()

    class Meta:
        proxy = True
        verbose_name = "data volume"


class Credential(ScopedModel):
    """A secret that workloads use by its name. Its values are sealed and never shown.

    With an ``owner`` it is personal: nobody else sees or uses it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(
        "type", max_length=16, choices=[(t.key, t.label) for t in TYPES.values()]
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, editable=False, related_name="+"
    )
    object_name = models.CharField(max_length=63, editable=False)
    """Of its Secret on clusters: workloads name it so, and it never changes."""
    is_ours = models.BooleanField(default=True, editable=False)
    """False: others keep the Secret. It is named and looked for, and never written or removed."""
    shown = models.JSONField(default=dict, blank=True, editable=False)
    """What of the values may be shown: the registry, the keys."""
    sealed = models.TextField(editable=False, blank=True)
    """The values, as JSON; empty where they are not ours."""
    rotations = models.PositiveIntegerField(default=1, editable=False)
    """How often values were given."""
    rotated_at = models.DateTimeField(null=True, editable=False)

    given: Mapping[str, Any] | None = None
    """New values in clear, from whoever changes them to `assets.credentials.resources`."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "kind", "name"],
                condition=models.Q(owner=None),
                name="credential_name_in_scope",
                violation_error_code="unique",
                violation_error_message="This name is taken in this scope.",
            ),
            models.UniqueConstraint(
                fields=["object_name"],
                condition=models.Q(is_ours=True),
                name="credential_object_name",
            ),
            models.UniqueConstraint(
                fields=["scope", "object_name"],
                condition=models.Q(is_ours=False),
                name="credential_of_secret_in_scope",
                violation_error_code="unique",
                violation_error_message=(
                    "Another credential of this scope already uses this Secret."
                ),
            ),
            models.UniqueConstraint(
                fields=["owner", "name"],
                condition=models.Q(owner__isnull=False),
                name="credential_name_of_owner",
                violation_error_code="unique",
                violation_error_message="You already have a credential with this name.",
            ),
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.given = kwargs.pop("given", None)
        super().__init__(*args, **kwargs)

    @property
    def type(self) -> CredentialType:
        return TYPES[self.kind]

    @property
    def keys(self) -> Sequence[str]:
        """The keys that a variable can name."""
        return self.type.keys_of(self.shown)

    @property
    def context(self) -> str:
        """What its values are sealed for."""
        return f"credential/{self.pk}"

    def new_object_name(self) -> str:
        """A name for its Secret that no other has; nobody guesses that of a personal one."""
        if self.owner_id is not None:
            return f"{PERSONAL}-{secrets.token_hex(16)}"
        name = f"{self.type.prefix}-{slugify(self.name)[:40].strip('-_') or self.pk.hex[:8]}"
        name = name.replace("_", "-")
        is_taken = Credential.objects.filter(object_name=name).exists()
        return f"{name}-{self.pk.hex[:6]}" if is_taken else name


class Owned(models.Manager[Credential]):
    """Personal credentials."""

    def get_queryset(self) -> models.QuerySet[Credential]:
        return super().get_queryset().filter(owner__isnull=False)


class PersonalCredential(Credential):
    """A credential of one person."""

    objects: ClassVar[Any] = Owned()

    class Meta:
        proxy = True
        verbose_name = "personal credential"


sealed.register(
    sealed.SealedColumn(
        Credential,
        context=lambda row: row.context,
        name=lambda row: f"The credential {row.name}",
    )
)
