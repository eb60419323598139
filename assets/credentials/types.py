"""The types of credentials: what each asks for, and what its Secret holds.

Form, API and the keys that variables can name are made from these declarations.
"""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from gangline.spec import images
from gangline.spec.environment import object_name_problem

LONGEST = 65_536
"""Bytes of one value."""
LONGEST_NAME = 63
MOST_PAIRS = 64
LARGEST = 512 * 1024
"""Bytes of all values together: a Secret takes at most one MiB."""
DOCKER_CONFIG, OPAQUE = "kubernetes.io/dockerconfigjson", "Opaque"
NGC_HOST = "nvcr.io"
_MASK = re.compile(r"[•*●]{3,}|\$encrypted\$")
_REGISTRY = re.compile(
    r"(?:https?://)?[A-Za-z0-9](?:[-.A-Za-z0-9]{0,251}[A-Za-z0-9])?(?::[0-9]{1,5})?"
    r"(?:/[-._A-Za-z0-9]+)*/?"
)
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_PRIVATE_KEY = re.compile(
    r"\s*-----BEGIN [A-Z ]*PRIVATE KEY-----\s.+\s-----END [A-Z ]*PRIVATE KEY-----\s*", re.DOTALL
)


def _fit(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("characters", "It must not contain a NUL character")
    if _MASK.fullmatch(text.strip()):
        raise PydanticCustomError("mask", "This is a placeholder: enter the real value")
    if len(text.encode("utf-8", "replace")) > LONGEST:
        raise PydanticCustomError("max_length", "It must have at most 65,536 bytes")
    return text


def _given(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("required", "This field is required")
    return _fit(text)


def _registry(text: str) -> str:
    if not _REGISTRY.fullmatch(text.strip()):
        raise PydanticCustomError(
            "registry", "Enter the address of a registry such as registry.example:5000"
        )
    return text.strip()


def _private_key(text: str) -> str:
    text = text.replace("\r\n", "\n")
    if not _PRIVATE_KEY.fullmatch(text):
        raise PydanticCustomError(
            "private_key", "Paste the whole private key, from its BEGIN line to its END line"
        )
    return f"{text.strip()}\n"


def _api_key(text: str) -> str:
    if not re.fullmatch(r"[-._A-Za-z0-9]+", text.strip()):
        raise PydanticCustomError("format", "It must have letters, digits, “-”, “_” or “.” only")
    return text.strip()


def _key(text: str) -> str:
    if text in (".", "..") or text.startswith("..") or not _KEY.fullmatch(text):
        raise PydanticCustomError(
            "key", "A key has letters, digits, “-”, “_” or “.”, and does not start with “..”"
        )
    return text


Given = Annotated[str, AfterValidator(_given)]
_SECRET: Any = {"secret": True}


class Values(BaseModel):
    """The values of a credential. Nothing that was given stands in an error."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        populate_by_name=True,
        hide_input_in_errors=True,
    )


class DockerRegistry(Values):
    url: Annotated[str, AfterValidator(_registry)] = Field(
        title="Registry", description="Such as registry.example:5000 or docker.io."
    )
    user: Given = Field(title="User name")
    password: Given = Field(title="Password or token", json_schema_extra=_SECRET)


class AccessKey(Values):
    access_key_id: Given = Field(title="Access key")
    secret_access_key: Given = Field(title="Access secret", json_schema_extra=_SECRET)


class Password(Values):
    user: Given = Field(title="User name")
    password: Given = Field(title="Password or token", json_schema_extra=_SECRET)


class KeyValuePair(Values):
    key: Annotated[str, AfterValidator(_key)]
    value: Annotated[str, AfterValidator(_fit)]


def _distinct(pairs: list[KeyValuePair]) -> list[KeyValuePair]:
    names = [pair.key for pair in pairs]
    if len(set(names)) < len(names):
        raise PydanticCustomError("unique", "Two pairs have the same key")
    if sum(len(pair.value.encode("utf-8", "replace")) for pair in pairs) > LARGEST:
        raise PydanticCustomError("max_length", "All values together take at most 512 KiB")
    return pairs


class GenericSecret(Values):
    key_value_pairs: Annotated[
        list[KeyValuePair],
        Field(min_length=1, max_length=MOST_PAIRS, title="Keys and values"),
        AfterValidator(_distinct),
    ]


class SshKey(Values):
    private_key: Annotated[str, AfterValidator(_fit), AfterValidator(_private_key)] = Field(
        title="Private key",
        description="Without a passphrase.",
        json_schema_extra={"secret": True, "rows": 8, "mono": True},
    )


class NgcApiKey(Values):
    ngc_api_key: Annotated[str, AfterValidator(_fit), AfterValidator(_api_key)] = Field(
        title="API key", alias="ngc_api_key", json_schema_extra=_SECRET
    )


EXISTING = "existingSecretName"


def _others(text: str) -> str:
    name = text.strip()
    if object_name_problem(name) is not None or len(name) > LONGEST_NAME:
        raise PydanticCustomError(
            "object_name",
            "Enter the name of a Secret: up to 63 lowercase letters, digits or “-”, with a letter "
            "or"
            " digit at both ends",
        )
    if name.startswith(PREFIXES):
        raise PydanticCustomError(
            "options", "Secrets with this prefix are created by Gangline: choose the credential"
        )
    return name


class ExistingSecret(Values):
    """A Secret that others keep, on clusters of Kubernetes: nothing of it is stored but names."""

    existing_secret_name: Annotated[str, AfterValidator(_others)]


class ExistingLogin(ExistingSecret):
    url: Annotated[str, AfterValidator(_registry)] | None = None


class NamedKey(Values):
    key: Annotated[str, AfterValidator(_key)]


class ExistingPairs(ExistingSecret):
    key_value_pairs: Annotated[list[NamedKey], Field(max_length=MOST_PAIRS)] = []


@dataclass(frozen=True)
class CredentialType:
    """``path`` names it in addresses of the API, ``prefix`` begins the names of its Secrets."""

    key: str
    label: str
    text: str
    path: str
    prefix: str
    model: type[Values]
    keys: Mapping[str, str] = field(default_factory=dict)
    """Key in the Secret of each value that variables can name."""
    existing: type[ExistingSecret] | None = ExistingSecret
    """What is said of a Secret of others in place of values; None: the type has no such."""
    own_text: str = ""
    """In place of the text for one's own, which variables and images name and nothing else does."""
    deleted: int = 202
    """Code with which the API answers to a deletion."""

    @property
    def pulls(self) -> bool:
        """Whether images are pulled with it."""
        return self.model in (DockerRegistry, NgcApiKey)

    @property
    def secret_type(self) -> str:
        return DOCKER_CONFIG if self.pulls else OPAQUE

    def shown(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What of the values may be shown."""
        if EXISTING in values:
            pairs = values.get("keyValuePairs") or ()
            url = {"url": values["url"]} if values.get("url") else {}
            return url | ({"keys": [pair["key"] for pair in pairs]} if pairs else {})
        if self.model is DockerRegistry:
            return {"url": values["url"]}
        if self.model is GenericSecret:
            return {"keys": [pair["key"] for pair in values["keyValuePairs"]]}
        return {"url": NGC_HOST} if self.model is NgcApiKey else {}

    def keys_of(self, shown: Mapping[str, Any]) -> Sequence[str]:
        """The keys that a variable can name."""
        return list(shown.get("keys", ())) or list(self.keys.values())

    def data(self, values: Mapping[str, Any]) -> dict[str, str]:
        """What the Secret holds."""
        if self.model is GenericSecret:
            return {pair["key"]: pair["value"] for pair in values["keyValuePairs"]}
        if self.model is DockerRegistry:
            return _docker_config(values["url"], values["user"], values["password"])
        if self.model is NgcApiKey:
            # https://docs.nvidia.com/ngc/gpu-cloud/ngc-user-guide/index.html
            return _docker_config(NGC_HOST, "$oauthtoken", values["ngc_api_key"])
        found = {key: values[name] for name, key in self.keys.items()}
        # Git sources look for the user under the other name that the contract has for it.
        return {**found, "User": values["user"]} if self.model is Password else found


def _docker_config(url: str, user: str, password: str) -> dict[str, str]:
    """https://kubernetes.io/docs/tasks/configure-pod-container/pull-image-private-registry/"""
    login = base64.b64encode(f"{user}:{password}".encode()).decode()
    at = "https://index.docker.io/v1/" if registry_host(url) in images.DOCKER_HUB else url
    entry = {"username": user, "password": password, "auth": login}
    return {".dockerconfigjson": json.dumps({"auths": {at: entry}})}


def registry_host(url: str) -> str:
    """Host and port of a registry's address."""
    host = url.strip().partition("://")[2] or url.strip()
    return host.partition("/")[0].lower()


def serves(url: str, image: str) -> bool:
    """Whether the login at a registry is of use for an image."""
    host, wanted = registry_host(url), images.host(image)
    return host == wanted or {host, wanted} <= set(images.DOCKER_HUB)


_ALL = (
    CredentialType(
        "dockerRegistry",
        "Docker registry",
        "To pull images from a registry.",
        "docker-registry",
        "dockerreg",
        DockerRegistry,
        existing=ExistingLogin,
    ),
    CredentialType(
        "accessKey",
        "Access key",
        "A key and its secret, as S3 takes them.",
        "access-key",
        "accesskey",
        AccessKey,
        {"accessKeyId": "AccessKeyId", "secretAccessKey": "SecretKey"},
        own_text="A key and its secret, for variables of your workloads.",
    ),
    CredentialType(
        "password",
        "User name & password",
        "For Git over HTTPS and other services.",
        "password",
        "password",
        Password,
        {"user": "UserName", "password": "Password"},
        own_text="For variables of your workloads. Git needs a credential of the project.",
    ),
    CredentialType(
        "genericSecret",
        "Generic secret",
        "Any keys and values, such as tokens.",
        "generic-secret",
        "genericsecret",
        GenericSecret,
        existing=ExistingPairs,
        deleted=204,
    ),
    CredentialType(
        "sshKey",
        "SSH key",
        "For Git over SSH.",
        "ssh-key",
        "sshkey",
        SshKey,
        {"privateKey": "ssh"},
        own_text="For variables of your workloads. Git needs a credential of the project.",
    ),
    CredentialType(
        "ngcApiKey",
        "NGC API key",
        "To pull images of the NGC catalogue.",
        "ngc-api-key",
        "ngcapikey",
        NgcApiKey,
        existing=None,
        deleted=204,
    ),
)
TYPES: Mapping[str, CredentialType] = MappingProxyType({one.key: one for one in _ALL})
PERSONAL = "gangline-user"
"""Begins the names of Secrets that only the workloads of one person may use."""
PREFIXES = tuple(f"{one}-" for one in (*(t.prefix for t in _ALL), PERSONAL))
"""Names that begin so are those of credentials, and no Secret of anybody else is meant."""
