"""Environment variables, and where the cluster takes their values from.

Gangline keeps the reference alone: what stands in a Secret is never read, stored or logged.
https://kubernetes.io/docs/tasks/inject-data-application/distribute-credentials-secure/
"""

import re
from typing import Annotated

from pydantic import Field

from .base import Alternative, NamesCredential, SpecModel, Ui
from .reserved import VariableName
from .types import Format, Prose, Text

_OBJECT_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_OBJECT_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_POD_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "status.hostIP",
    "status.podIP",
)
_POD_MARK = re.compile(r"metadata\.(?:labels|annotations)\['[-./_a-zA-Z0-9]{1,317}'\]")


def object_name_problem(text: str) -> str | None:
    if _OBJECT_NAME.fullmatch(text):
        return None
    return "must have lowercase letters, digits or “-”, with a letter or digit at both ends"


def _key_problem(text: str) -> str | None:
    if text in (".", "..") or text.startswith("..") or not _OBJECT_KEY.fullmatch(text):
        return "must have letters, digits, “-”, “_” or “.”, and not start with “..”"
    return None


def _pod_field_problem(text: str) -> str | None:
    if text in _POD_FIELDS or _POD_MARK.fullmatch(text):
        return None
    return "must be a field that pods know of themselves, such as metadata.name"


ObjectName = Annotated[
    str,
    Field(max_length=253),
    Format("object-name", "the name of an object such as wandb", object_name_problem),
]
ObjectKey = Annotated[
    str, Field(max_length=253), Format("object-key", "a key in it such as api-key", _key_problem)
]


class SecretKey(SpecModel):
    """A key of a credential, or of a Secret in the project's namespace."""

    name: Annotated[
        ObjectName, Ui("Credential", placeholder="genericsecret-wandb"), NamesCredential()
    ]
    key: Annotated[ObjectKey, Ui("Key in the credential", placeholder="api-key")]


class UserCredentialKey(SpecModel):
    """A key of a credential of the workload's owner, by the name that the owner gave it."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=63),
        Ui("My credential", placeholder="my-wandb"),
        NamesCredential(is_personal=True),
    ]
    key: Annotated[ObjectKey, Ui("Key in the credential", placeholder="api-key")]


class PullSecret(SpecModel):
    """A registry's login: a credential, or a Secret of type ``kubernetes.io/dockerconfigjson``."""

    name: Annotated[
        ObjectName,
        Ui("Credential", placeholder="dockerreg-lab"),
        NamesCredential(("dockerRegistry", "ngcApiKey"), "userCredential"),
    ]
    user_credential: Annotated[bool | None, Ui("My credential")] = None


class ConfigMapKey(SpecModel):
    """A key of a ConfigMap in the project's namespace."""

    name: Annotated[ObjectName, Ui("ConfigMap", placeholder="nccl")]
    key: Annotated[ObjectKey, Ui("Key in the ConfigMap", placeholder="debug-level")]


class PodField(SpecModel):
    """https://kubernetes.io/docs/concepts/workloads/pods/downward-api/"""

    path: Annotated[
        str,
        Field(max_length=350),
        Format(
            "pod-field",
            f"one of {', '.join(_POD_FIELDS)}, metadata.labels['…'] or metadata.annotations['…']",
            _pod_field_problem,
        ),
        Ui("Pod field", placeholder="status.podIP"),
    ]


class EnvironmentVariable(SpecModel):
    """A variable that every process of the role receives, from exactly one source."""

    name: Annotated[VariableName, Ui("Name", placeholder="NCCL_DEBUG")]
    value: Annotated[Text | None, Ui("Value", placeholder="INFO"), Alternative("Value")] = None
    secret: Annotated[SecretKey | None, Alternative("Credential")] = None
    config_map: Annotated[ConfigMapKey | None, Alternative("ConfigMap")] = None
    pod_field_ref: Annotated[PodField | None, Alternative("Pod field")] = None
    user_credential: Annotated[UserCredentialKey | None, Alternative("My credential")] = None
    description: Annotated[
        Prose | None,
        Ui("Instructions", placeholder="What to fill in", instructs=True),
    ] = None
    """For who submits: with it and without a value, the variable must be filled in."""
