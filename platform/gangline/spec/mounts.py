"""What the pods of one role mount."""

from typing import Annotated

from pydantic import Field, field_validator

from .base import ItemKey, Reads, Restricted, SpecModel, Ui, refused
from .data import S3, ConfigMapVolume, DataVolume, EmptyDir, Git, HostPath, Nfs, SecretVolume
from .shapes import (
    named_claims,
    named_mounts,
    named_repositories,
    named_volumes,
    shown_claims,
)
from .storage import Volume


class Storage(SpecModel):
    """What the pods of one role mount."""

    pvc: Annotated[
        list[Volume] | None,
        Field(max_length=16),
        Ui(
            "Volumes",
            help="Storage that every pod mounts, made with the workload and deleted with it. "
            "Unless it is ephemeral, it outlives stops and retries.",
            section="volumes",
            flag="new-pvc",
            item="volume",
        ),
        ItemKey("name"),
        Reads(named_claims, shown_claims, keeps_items=True),
    ] = None
    empty_dir_volume: Annotated[
        list[EmptyDir] | None,
        Field(max_length=16),
        Ui(
            "Temporary folders",
            help="Start empty with each pod and are deleted with it.",
            section="volumes",
            flag="empty-dir",
            item="temporary folder",
        ),
        ItemKey("name"),
        Reads(named_volumes),
    ] = None
    nfs: Annotated[
        list[Nfs] | None,
        Field(max_length=16),
        Ui(
            "NFS",
            help="Folders of NFS servers that the nodes can reach.",
            section="data",
            flag="nfs",
            item="NFS folder",
        ),
        ItemKey("name"),
        Reads(named_mounts),
    ] = None
    git: Annotated[
        list[Git] | None,
        Field(max_length=16),
        Ui(
            "Git",
            help="Repositories, fetched before the command starts.",
            section="data",
            flag="git",
            item="repository",
        ),
        ItemKey("name"),
        Reads(named_repositories),
    ] = None
    s3: Annotated[
        list[S3] | None,
        Field(max_length=16),
        Ui(
            "S3",
            help="Buckets, downloaded before the command starts.",
            section="data",
            flag="s3",
            item="bucket",
        ),
        ItemKey("name"),
        Reads(named_volumes),
    ] = None
    config_map_volume: Annotated[
        list[ConfigMapVolume] | None,
        Field(max_length=16),
        Ui(
            "ConfigMaps",
            help="ConfigMaps of the project’s namespace, as files.",
            section="data",
            flag="config-map-volume",
            item="ConfigMap",
        ),
        ItemKey("name"),
        Reads(named_mounts),
    ] = None
    secret_volume: Annotated[
        list[SecretVolume] | None,
        Field(max_length=16),
        Ui(
            "Secrets",
            help="The keys of a credential, as files.",
            section="data",
            flag="secret-volume",
            item="Secret",
        ),
        ItemKey("name"),
        Reads(named_mounts),
    ] = None
    host_path: Annotated[
        list[HostPath] | None,
        Field(max_length=16),
        Ui(
            "Host paths",
            help="Folders of the nodes.",
            section="data",
            flag="host-path",
            item="host path",
        ),
        ItemKey("name"),
        Reads(named_mounts),
        Restricted(),
    ] = None
    data_volume: Annotated[
        list[DataVolume] | None,
        Field(max_length=16),
        Ui(
            "Data volumes",
            help="Volumes of other projects that are shared with this one, read-only.",
            section="data",
            flag="data-volume",
            item="data volume",
        ),
        ItemKey("id"),
    ] = None

    @field_validator("host_path")
    @classmethod
    def _spread_alike(cls, value: list[HostPath] | None) -> list[HostPath] | None:
        """V26: of one pod, either all host paths follow what the node mounts, or none does."""
        if len({one.mount_propagation or "None" for one in value or ()}) > 1:
            raise refused("must all have the same mount propagation", "one mount propagation")
        return value
