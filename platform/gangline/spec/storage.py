"""Volumes: what a role mounts, and the claims on storage that a workload brings along.

https://kubernetes.io/docs/concepts/storage/persistent-volumes/
"""

import re
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticKnownError

from .base import Default, SpecModel, Ui, Unique, misplaced, refused
from .shapes import name_may_be_left_out, pairs_schema, split_pairs
from .types import Format, SizeRange, absolute_path_problem

SIZE_UNITS = ("G", "Gi", "T", "Ti", "M", "Mi")
_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,38}[a-z0-9])?")
_OBJECT = re.compile(r"[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?")
_PARAMETER = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_SIZE = re.compile(rf"[0-9]{{1,12}}(?:{'|'.join(SIZE_UNITS)})")


def _name_problem(text: str) -> str | None:
    if _NAME.fullmatch(text):
        return None
    return "must have 1 to 40 lowercase letters, digits or “-”, with a letter or digit at both ends"


def _object_problem(text: str) -> str | None:
    if _OBJECT.fullmatch(text):
        return None
    return "must have lowercase letters, digits, “-” or “.”, with a letter or digit at both ends"


def size_problem(text: str) -> str | None:
    """What is wrong with the size of a claim, as a predicate."""
    if _SIZE.fullmatch(text):
        return None
    return "must be a whole number with a unit, such as 500G or 16Gi"


def _container_path_problem(text: str) -> str | None:
    if problem := absolute_path_problem(text):
        return problem
    if not text.strip("/"):
        return "must be a folder below “/”"
    if ":" in text:
        return "must not contain “:”"
    unclear = {"", "."} & set(text.strip("/").split("/")) or text.startswith("//")
    return "must not contain “//” or “/./”" if unclear else None


def _pairs_problem(text: str) -> str | None:
    pairs = split_pairs(text)
    keys = [key for key, _ in pairs]
    if not all(map(_PARAMETER.fullmatch, keys)):
        return "must have keys with values, such as iops=3000, tier=gold"
    if twice := next((key for key in keys if keys.count(key) > 1), ""):
        return f"must have {twice} only once"
    return "must have 16 parameters at most" if len(pairs) > 16 else None


def without_slash(path: str) -> str:
    """``/data/`` and ``/data`` are one place."""
    return path.rstrip("/")


ClaimSize = Annotated[
    str,
    Field(max_length=40),
    Format("quantity", "a whole size such as 500G or 16Gi", size_problem),
]
ClassName = Annotated[
    str,
    Field(max_length=253),
    Format("object-name", "the name of a storage class of the cluster", _object_problem),
]
ClaimName = Annotated[
    str,
    Field(max_length=63),
    Format("object-name", "the name of a claim in the project", _object_problem),
]


Pairs = Annotated[
    str,
    Field(max_length=8192),
    Format("parameters", "keys with values, such as iops=3000, tier=gold", _pairs_problem),
]
NAMED = "The name of a data source’s claim ends in digits that make it unique."
"""Told of a name that came with its item; one that is typed explains itself."""
VolumeName = Annotated[
    str,
    Field(max_length=40),
    Format("volume-name", "a name of up to 40 characters such as data", _name_problem),
]
ContainerPath = Annotated[
    str,
    Field(max_length=1024),
    Format("container-path", "a path such as /data", _container_path_problem),
]
MountPath = Annotated[
    ContainerPath,
    Unique(without_slash, across="container path"),
    Ui("Container path", placeholder="/data"),
]
"""One of all lists of what is mounted."""


class AccessModes(SpecModel):
    """https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes"""

    read_write_once: Annotated[bool | None, Ui("Read-write by one node"), Default(True)] = None
    read_only_many: Annotated[bool | None, Ui("Read-only by many nodes"), Default(False)] = None
    read_write_many: Annotated[bool | None, Ui("Read-write by many nodes"), Default(False)] = None

    @model_validator(mode="after")
    def _at_least_one(self) -> "AccessModes":
        if self.read_write_once is False and not (self.read_only_many or self.read_write_many):
            message = (
                "must be chosen, or another access mode: without one the volume cannot be mounted"
            )
            raise misplaced(refused(message, "at least one access mode"), "readWriteOnce", False)
        return self


class ClaimInfo(SpecModel):
    """The request of a new claim. ``addedAttrValues``: parameters that its class has."""

    model_config = ConfigDict(json_schema_extra=pairs_schema)

    size: Annotated[
        ClaimSize | None, SizeRange("1M", "1P", SIZE_UNITS), Ui("Size", placeholder="100")
    ] = None
    storage_class: Annotated[
        ClassName | None, Ui("Storage class", placeholder="Cluster’s default")
    ] = None
    access_modes: Annotated[AccessModes | None, Ui("Access modes")] = None
    volume_mode: Annotated[
        Literal["Filesystem", "Block"] | None,
        Ui("Volume mode", words={"Filesystem": "File system", "Block": "Block"}),
        Default("Filesystem"),
    ] = None
    added_attr_values: Annotated[
        Pairs | None,
        Ui("Parameters", placeholder="iops=3000"),
    ] = None


class Volume(SpecModel):
    """A claim that is made with the workload, or one that is there, and where pods find it."""

    model_config = ConfigDict(json_schema_extra=name_may_be_left_out)

    name: Annotated[VolumeName, Ui("Name", placeholder="From the path", help=NAMED)]
    path: MountPath
    existing_pvc: Annotated[
        bool | None,
        Ui("Existing claim", help="Mounts an existing claim of the project instead of a new one."),
        Default(False),
    ] = None
    claim_name: Annotated[
        ClaimName | None,
        Ui("Claim name", placeholder="From the names"),
    ] = None
    claim_info: ClaimInfo | None = None
    ephemeral: Annotated[
        bool | None,
        Ui("Ephemeral", help="Its content is deleted each time the workload stops."),
        Default(False),
    ] = None
    read_only: Annotated[
        bool | None, Ui("Read-only", help="The pods cannot write to it."), Default(False)
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _with_what_is_left_out(cls, data: Any) -> Any:
        """Validators below look at both, and tell their problems by the names of JSON."""
        left_out = {"claimName": None, "claimInfo": None}
        return left_out | data if isinstance(data, dict) else data

    @field_validator("claim_name")
    @classmethod
    def _names_what_is_there(cls, value: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("existing_pvc") and not value:
            raise PydanticKnownError("missing")
        return value

    @field_validator("claim_info")
    @classmethod
    def _fits(cls, value: ClaimInfo | None, info: ValidationInfo) -> ClaimInfo | None:
        if not info.data.get("existing_pvc"):
            if value is None or value.size is None:
                raise misplaced("missing", "size")
            return value
        told = value.model_dump(by_alias=True) if value is not None else {}
        for name in ("size", "storageClass", "addedAttrValues"):
            if told.get(name):
                error = refused("must be empty: the claim already exists", "no value")
                raise misplaced(error, name, told[name])
        return value

    @field_validator("ephemeral")
    @classmethod
    def _ours_to_empty(cls, value: bool | None, info: ValidationInfo) -> bool | None:
        if value and info.data.get("existing_pvc"):
            raise refused("must be off: Gangline removes no claim that it did not make", "false")
        return value

    @field_validator("read_only")
    @classmethod
    def _no_device(cls, value: bool | None, info: ValidationInfo) -> bool | None:
        claim = info.data.get("claim_info")
        if value and claim is not None and claim.volume_mode == "Block":
            raise refused("must be off: a block device is not mounted", "false")
        return value
