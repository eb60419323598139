"""What a person gives to connect a Kubernetes cluster, judged whole, before anything is stored.

Three ways lead to one access: a kubeconfig, an address with a token, or the pod's own account.
"""

import base64
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from gangline.drivers import addresses
from gangline.drivers.kind import Admission, Settings, Way
from gangline.lib.problems import Problem

from . import identities, kubeconfig
from .access import ClusterCredentials

KUBECONFIG, TOKEN, IN_CLUSTER = "kubeconfig", "token", "in-cluster"
PREFIX = "gangline"
MOUNTED = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/"""
API_SERVER = "https://kubernetes.default.svc"
SHOW_CONFIG = "kubectl config view --raw --flatten --minify"
"""Prints the address and the authority, also of a kubeconfig that only names the files of it."""
SHOW_CONFIG_NARROW = SHOW_CONFIG.replace(" --flatten", " \\\n  --flatten")
"""The same, where there is little room."""
_ADDRESS = re.compile(r"https?://[A-Za-z0-9._:\[\]-]{1,260}(?:/[A-Za-z0-9._~/-]{0,200})?")
_CERTIFICATE = re.compile(
    r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]{1,60000}-----END CERTIFICATE-----"
)
_PREFIX = re.compile(r"[a-z](?:[a-z0-9-]{0,18}[a-z0-9])?")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_RESOURCE = re.compile(rf"(?=.{{1,253}}/){_LABEL}(?:\.{_LABEL})+/gpu")
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})+")
_WAYS = (
    Way(KUBECONFIG, "A kubeconfig", "Paste it or choose the file that kubectl uses."),
    Way(TOKEN, "Address and token", "The API server, its authority, a service account."),
    Way(
        IN_CLUSTER,
        "This cluster",
        "The service account of Gangline’s own pod.",
        "Gangline uses the token that is mounted in its own pod, and follows when it is replaced.",
    ),
)


def check_prefix(prefix: str) -> str:
    """The prefix of namespaces. Raises PydanticCustomError."""
    if not _PREFIX.fullmatch(prefix):
        raise PydanticCustomError(
            "prefix",
            "Use 1 to 20 lowercase letters, digits and hyphens, starting with a letter",
        )
    if prefix == "kube" or prefix.startswith("kube-"):
        raise PydanticCustomError(
            "reserved", "Namespaces that start with kube- are Kubernetes’ own: choose another"
        )
    return prefix


def _gpu(resource: str) -> str:
    if resource and not _RESOURCE.fullmatch(resource):
        raise PydanticCustomError(
            "gpu", "Enter a resource that counts GPUs, such as amd.com/gpu, or leave it empty"
        )
    return resource


def _domain(name: str) -> str:
    if name and not _DOMAIN.fullmatch(name):
        raise PydanticCustomError(
            "domain", "Enter a domain in lowercase, such as tools.lab.example"
        )
    return name


def _object(name: str) -> str:
    if name and not re.fullmatch(_LABEL, name):
        raise PydanticCustomError("name", "Use lowercase letters, digits and hyphens")
    return name


def as_pem(text: str) -> str:
    """``text``, decoded if it is base64 of a PEM text, as a kubeconfig has it."""
    try:
        decoded = base64.b64decode("".join(text.split()), validate=True).decode("ascii")
    except ValueError:
        return text.replace("\r\n", "\n")
    return decoded if decoded.lstrip().startswith("-----BEGIN ") else text.replace("\r\n", "\n")


class KubernetesConnection(Settings):
    """What an administrator decides about a Kubernetes cluster."""

    scheduler: str = Field(
        "",
        max_length=63,
        title="Scheduler",
        description="Starts all pods of a workload together.",
        json_schema_extra={"changed": "Existing workloads keep theirs."},
    )
    namespace_prefix: Annotated[str, AfterValidator(check_prefix)] = Field(
        PREFIX,
        title="Namespace prefix",
        description="With gangline, project vision uses the namespace gangline-vision.",
        json_schema_extra={
            "mono": True,
            "changed": "Existing workloads stay where they are; new ones use the new namespace.",
        },
    )
    gpu_resource: Annotated[str, AfterValidator(_gpu)] = Field(
        "",
        title="GPU resource",
        description="What counts one GPU, such as amd.com/gpu. Empty: the most common one.",
        json_schema_extra={"mono": True},
    )

    tools_domain: Annotated[str, AfterValidator(_domain)] = Field(
        "",
        max_length=180,
        title="Domain of tools",
        description="TensorBoard of a workload gets a host of its own in it, such as"
        " tools.lab.example. It must not be the domain of Gangline. Empty: tools have no address.",
        json_schema_extra={"mono": True, "section": "Tools"},
    )
    ingress_class: Annotated[str, AfterValidator(_object)] = Field(
        "",
        max_length=63,
        title="Ingress class of tools",
        description="Its controller must ask Gangline who may open a tool, as ingress-nginx does."
        " Empty: the default class of the cluster.",
        json_schema_extra={"mono": True, "section": "Tools"},
    )
    tools_secret: Annotated[str, AfterValidator(_object)] = Field(
        "",
        max_length=63,
        title="Certificate of tools",
        description="A TLS Secret in the namespace of each project. Empty: the certificate that"
        " the controller uses by default.",
        json_schema_extra={"mono": True, "section": "Tools"},
    )
    tools_plain: bool = Field(
        False,
        title="Tools without TLS",
        description="For testing only: traffic can be read in transit.",
        json_schema_extra={"section": "Tools"},
    )


class KubernetesCredential(Settings):
    """How Gangline signs in to a Kubernetes cluster."""

    way: str = Field(KUBECONFIG, title="Sign in with", max_length=40)
    kubeconfig: str = Field(
        "",
        title="Kubeconfig",
        description=f"The text of the file, with everything inside it: {SHOW_CONFIG}",
        json_schema_extra={"part": KUBECONFIG, "rows": 9, "secret": True, "file": True},
    )
    context: str = Field(
        "",
        title="Context",
        description="Which context of the file. Empty: the current one.",
        json_schema_extra={"part": KUBECONFIG, "mono": True},
    )
    server: str = Field(
        "",
        title="API server",
        description="Such as https://10.0.0.1:6443. kubectl cluster-info prints it.",
        json_schema_extra={"part": TOKEN, "mono": True},
    )
    authority: Annotated[str, BeforeValidator(as_pem)] = Field(
        "",
        title="Certificate authority",
        description=f"PEM text, or the base64 of it: {SHOW_CONFIG} prints it as"
        " certificate-authority-data. Empty: the authorities that this machine trusts.",
        json_schema_extra={"part": TOKEN, "rows": 6},
    )
    token: str = Field(
        "",
        title="Token",
        description="Of a service account. It is stored encrypted and never shown again.",
        json_schema_extra={"part": TOKEN, "secret": True, "mono": True},
    )


def ways() -> tuple[Way, ...]:
    """The ways that are open here: the last one only in a pod."""
    return _WAYS if in_cluster() else _WAYS[:2]


def in_cluster() -> ClusterCredentials | None:
    """The service account of the pod that Gangline runs in; None outside a cluster."""
    try:
        authority = (MOUNTED / "ca.crt").read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        return None
    token = MOUNTED / "token"
    if not token.is_file():
        return None
    return ClusterCredentials(API_SERVER, certificate_authority=authority, token_file=str(token))


def admit(
    given: KubernetesCredential, reach: addresses.AllowedAddresses, now: datetime
) -> Admission:
    """The access that ``given`` makes, or everything that is wrong with it."""
    if given.way == KUBECONFIG:
        return _kubeconfig(given, reach, now)
    if given.way == TOKEN:
        return _token(given, reach, now)
    access = in_cluster() if given.way == IN_CLUSTER else None
    if access is None:
        return Admission(problems=(_problem("way", "Choose one of the options."),))
    return _vetted(access, access.server, "way", (), reach)


def presentable(name: str, value: str) -> str | None:
    """What of an address or an authority may be sent back; None: the rule for other fields holds.

    A password in an address, or a key among the certificates, may not.
    """
    if name == "server":
        return value if _ADDRESS.fullmatch(value) else ""
    if name == "authority":
        found = "\n".join(_CERTIFICATE.findall(as_pem(value)))
        try:
            identities.certificates(found)
        except identities.Unfit:
            return ""
        return found
    return None


def _kubeconfig(
    given: KubernetesCredential, reach: addresses.AllowedAddresses, now: datetime
) -> Admission:
    if not given.kubeconfig:
        says = "Paste a kubeconfig, or choose its file."
        return Admission(problems=(_problem("kubeconfig", says),))
    parsed = kubeconfig.parse(given.kubeconfig, context=given.context, now=now)
    problems = tuple(
        _problem("context" if one.where == "Context" else "kubeconfig", str(one))
        for one in parsed.refusals
    )
    needs = any("service account" in one.instead for one in parsed.refusals)
    found = _vetted(parsed.access, parsed.server, "kubeconfig", problems, reach)
    return Admission(found.access, found.problems, parsed.contexts, parsed.context, needs)


def _token(
    given: KubernetesCredential, reach: addresses.AllowedAddresses, now: datetime
) -> Admission:
    server = [
        _problem("server", f"API server {says}.") for says in kubeconfig.check_server(given.server)
    ]
    problems = list(server)
    if given.authority:
        problems += [
            _problem("authority", f"Certificate authority {says}.")
            for says in kubeconfig.check_authority(given.authority, now)
        ]
    try:
        if not given.token:
            raise identities.Unfit("is missing")
        identities.check_token(given.token, now)
    except identities.Unfit as why:
        problems.append(_problem("token", f"Token {why}."))
    access = ClusterCredentials(given.server.rstrip("/"), given.authority, token=given.token)
    found = _vetted(access, "" if server else given.server, "server", tuple(problems), reach)
    return Admission(found.access, found.problems, needs_account=not given.token)


def _vetted(
    access: ClusterCredentials | None,
    server: str,
    path: str,
    problems: tuple[Problem, ...],
    reach: addresses.AllowedAddresses,
) -> Admission:
    """Whether the address may be dialled, as its name resolves now."""
    all_of_them = (*problems, *(_where(server, path, reach) if server else ()))
    return Admission(None if all_of_them else access, all_of_them)


def _where(url: str, path: str, reach: addresses.AllowedAddresses) -> Iterator[Problem]:
    server = addresses.parse(url)
    try:
        reach.vetted(server.host, server.port)
    except addresses.AddressRefused as why:
        yield _problem(path, f"API server: {why}", "address")


def _problem(path: str, says: str, code: str = "invalid") -> Problem:
    return Problem(code, path, {"said": says})
