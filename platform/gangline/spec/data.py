"""Data that is there already, and where the pods of a role find it.

https://kubernetes.io/docs/concepts/storage/volumes/
"""

import re
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import ConfigDict, Field, model_validator

from .base import Default, NamesCredential, SpecModel, Ui, When, misplaced
from .environment import ObjectKey, ObjectName
from .shapes import name_may_be_left_out
from .storage import NAMED, SIZE_UNITS, MountPath, VolumeName
from .types import Format, Quantity, SizeRange

_SERVER = re.compile(r"[A-Za-z0-9](?:[-.:A-Za-z0-9]{0,251}[A-Za-z0-9])?")
_REPOSITORY = re.compile(
    r"(?:https?://[A-Za-z0-9][-.A-Za-z0-9]*(?::[0-9]{1,5})?/[-._~/A-Za-z0-9]+"
    r"|ssh://[A-Za-z0-9][-._A-Za-z0-9]*@[A-Za-z0-9][-.A-Za-z0-9]*(?::[0-9]{1,5})?/[-._~/A-Za-z0-9]+"
    r"|[A-Za-z0-9][-._A-Za-z0-9]*@[A-Za-z0-9][-.A-Za-z0-9]*:[-._~A-Za-z0-9][-._~/A-Za-z0-9]*)"
)
_REFERENCE = re.compile(r"[A-Za-z0-9][-._/A-Za-z0-9]*")
_MODE = re.compile(r"0?[0-7]{3}")
_BUCKET = re.compile(r"[a-z0-9][-.a-z0-9]{1,61}[a-z0-9]")
LARGEST_FOLDER = "4Ti"
"""Of a folder that goes with its pod: it is on the disk of the node."""
_WITH_LOGIN, _WITH_ACCESS_KEY = When("name"), When("accessKeySecret")
_LOGINS = {"password": "User and password", "ssh-key": "SSH key"}
_SERVICE = re.compile(r"https?://[A-Za-z0-9](?:[-.A-Za-z0-9]*[A-Za-z0-9])?(?::[0-9]{1,5})?/?")


def _server_problem(text: str) -> str | None:
    return None if _SERVER.fullmatch(text) else "must be a host name or an address"


def _folder_problem(text: str) -> str | None:
    if not text.startswith("/") or not text.isprintable():
        return "must be a path that starts with “/”"
    return "must not contain “..”" if ".." in text.split("/") else None


def _repository_problem(text: str) -> str | None:
    if _REPOSITORY.fullmatch(text):
        return None
    return "must start with https://, http://, ssh://user@ or user@host: and contain no password"


def _reference_problem(text: str) -> str | None:
    if _REFERENCE.fullmatch(text) and ".." not in text:
        return None
    return "must be the name of a branch, a tag or a commit"


def _bucket_problem(text: str) -> str | None:
    if _BUCKET.fullmatch(text) and ".." not in text:
        return None
    return "must be the name of a bucket: 3 to 63 lowercase letters, digits, “-” or “.”"


def _service_problem(text: str) -> str | None:
    return None if _SERVICE.fullmatch(text) else "must be the address of an S3 service"


def _volume_id_problem(text: str) -> str | None:
    try:
        return None if str(UUID(text)) == text.lower() else "must be a UUID"
    except ValueError:
        return "must be the id of a data volume"


def _mode_problem(text: str) -> str | None:
    return None if _MODE.fullmatch(text) else "must be three octal digits, such as 0644"


def _inside_problem(text: str) -> str | None:
    if text.startswith("/") or ".." in text.split("/") or not text.isprintable() or not text:
        return "must be a path inside, such as settings/train.yaml"
    return None


Name = Annotated[VolumeName, Ui("Name", placeholder="From the path", help=NAMED)]
Folder = Annotated[
    str, Field(max_length=1024), Format("folder", "a path such as /exports/data", _folder_problem)
]
Mode = Annotated[
    str, Field(max_length=4), Format("file-mode", "octal digits such as 0644", _mode_problem)
]
Inside = Annotated[
    str,
    Field(max_length=1024),
    Format("inner-path", "a path inside, such as settings/train.yaml", _inside_problem),
]
Reference = Annotated[
    str,
    Field(max_length=250),
    Format("git-reference", "a branch, a tag or a commit", _reference_problem),
]
AWS = "https://s3.amazonaws.com"
"""The service of a bucket that names none."""
ReadOnly = Annotated[bool | None, Ui("Read-only"), Default(True)]
FileMode = Annotated[Mode | None, Ui("File mode", placeholder="0644")]


class Mounted(SpecModel):
    """What is mounted under a name; without one, under a name made from its path."""

    model_config = ConfigDict(json_schema_extra=name_may_be_left_out)

    name: Name


class Nfs(Mounted):
    """A folder of an NFS server. ``path`` is the server's, ``mountPath`` the pods'."""

    server: Annotated[
        str,
        Field(max_length=253),
        Format("server", "a host name or an address", _server_problem),
        Ui("Server", placeholder="nfs.lab.example"),
    ]
    path: Annotated[Folder, Ui("Folder of the server", placeholder="/exports/datasets")]
    mount_path: MountPath
    read_only: ReadOnly = None


class HostPath(Mounted):
    """A folder of the node that a pod runs on."""

    path: Annotated[Folder, Ui("Folder of the node", placeholder="/mnt/datasets")]
    mount_path: MountPath
    read_only: ReadOnly = None
    mount_propagation: Annotated[
        Literal["None", "HostToContainer"] | None,
        Ui("Mount propagation", help="HostToContainer: what the node mounts later appears too."),
    ] = None


class GitSecret(SpecModel):
    """A Secret with a user and a password, or with a private key under ``ssh``."""

    name: Annotated[
        ObjectName | None,
        Ui("Credential", placeholder="None: public"),
        NamesCredential(("password", "sshKey", "genericSecret")),
    ] = None
    authentication_method: Annotated[
        Literal["password", "ssh-key"] | None,
        Ui("Signs in with", words=_LOGINS),
        Default("password"),
        _WITH_LOGIN,
    ] = None
    secret_key_of_user: Annotated[
        ObjectKey | None, Ui("Key of the user"), Default("User"), _WITH_LOGIN
    ] = None
    secret_key_of_password: Annotated[
        ObjectKey | None, Ui("Key of the password"), Default("Password"), _WITH_LOGIN
    ] = None


class Git(Mounted):
    """A repository, fetched before the command starts. ``revision`` goes before ``branch``."""

    repository: Annotated[
        str,
        Field(max_length=1024),
        Format(
            "repository",
            "an address such as https://git.example/team/code",
            _repository_problem,
        ),
        Ui("Repository", placeholder="https://git.example/team/code"),
    ]
    branch: Annotated[Reference | None, Ui("Branch", placeholder="Its default")] = None
    revision: Annotated[Reference | None, Ui("Revision", placeholder="The newest")] = None
    path: MountPath
    secret_ref: GitSecret | None = None


class S3(Mounted):
    """What a bucket holds, downloaded before the command starts."""

    bucket: Annotated[
        str,
        Field(max_length=63),
        Format("bucket", "the name of a bucket such as datasets", _bucket_problem),
        Ui("Bucket", placeholder="datasets"),
    ]
    url: Annotated[
        str | None,
        Field(max_length=1024),
        Format("service", "an address such as https://s3.lab.example", _service_problem),
        Ui("Service", placeholder=AWS),
    ] = None
    path: MountPath
    access_key_secret: Annotated[
        ObjectName | None,
        Ui("Credential", placeholder="None: public"),
        NamesCredential(("accessKey", "genericSecret")),
    ] = None
    secret_key_of_access_key_id: Annotated[
        ObjectKey | None, Ui("Key of the access key’s id"), Default("AccessKeyId"), _WITH_ACCESS_KEY
    ] = None
    secret_key_of_secret_key: Annotated[
        ObjectKey | None, Ui("Key of the secret key"), Default("SecretKey"), _WITH_ACCESS_KEY
    ] = None


class ConfigMapVolume(Mounted):
    """Every key of a ConfigMap as a file, or one of them."""

    config_map: Annotated[ObjectName, Ui("ConfigMap", placeholder="nccl")]
    mount_path: MountPath
    sub_path: Annotated[Inside | None, Ui("One key only", placeholder="All of them")] = None
    default_mode: FileMode = None


class SecretVolume(Mounted):
    """Every key of a Secret as a file."""

    secret: Annotated[
        ObjectName, Ui("Credential", placeholder="genericsecret-tls"), NamesCredential()
    ]
    mount_path: MountPath
    default_mode: FileMode = None


class EmptyDir(Mounted):
    """A folder that begins empty with the pod and goes with it."""

    path: MountPath
    medium: Annotated[
        Literal["Memory"] | None, Ui("Medium", help="Memory counts as memory of the pod.")
    ] = None
    size_limit: Annotated[
        Quantity | None,
        SizeRange("1M", LARGEST_FOLDER, SIZE_UNITS),
        Ui("Size limit", placeholder="10", help="Of a folder in memory it is required."),
    ] = None

    @model_validator(mode="after")
    def _no_memory_without_end(self) -> Self:
        """It could fill the memory of its node."""
        if self.medium == "Memory" and self.size_limit is None:
            raise misplaced("missing", "sizeLimit")
        return self


class DataVolume(SpecModel):
    """A claim of another project that is shared, read-only. ``id`` is that of the data volume."""

    id: Annotated[
        str,
        Field(max_length=36),
        Format("data-volume", "the id of a data volume", _volume_id_problem),
        Ui("Data volume"),
    ]
    mount_path: MountPath
