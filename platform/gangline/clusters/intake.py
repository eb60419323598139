"""What a person types to connect a Kubernetes cluster, judged whole, before anything is stored.

Three ways lead to one access: a kubeconfig, an address with a token, or the pod's own account.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from gangline.clusters import credentials
from gangline.drivers.kubernetes import addresses, identities, kubeconfig
from gangline.drivers.kubernetes.access import Access
from gangline.drivers.kubernetes.schedulers import ADAPTERS

KUBECONFIG, TOKEN, IN_CLUSTER = "kubeconfig", "token", "in-cluster"
PREFIX = "gangline"
LONGEST_SHOWN = 253
"""Of one line: names are shorter, tokens are longer."""
_ADDRESS = re.compile(r"https?://[A-Za-z0-9._:\[\]-]{1,260}(?:/[A-Za-z0-9._~/-]{0,200})?")
_CERTIFICATE = re.compile(
    r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]{1,60000}-----END CERTIFICATE-----"
)
_PREFIX = re.compile(r"[a-z](?:[a-z0-9-]{0,18}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Wrong:
    """A sentence about one field of the page, whose id is ``target``."""

    target: str
    text: str


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed into fields that hold no secret, where people put what is meant for them."""

    name: str = ""
    way: str = KUBECONFIG
    context: str = ""
    server: str = ""
    authority: str = ""
    scheduler: str = ""
    prefix: str = PREFIX

    @property
    def shown(self) -> "Typed":
        """What may be sent back after a refusal: only what looks like what belongs there.

        A password in an address, a key among the certificates or a whole kubeconfig does not.
        """
        return replace(
            self,
            name=_brief(self.name),
            context=_brief(self.context),
            server=self.server if _ADDRESS.fullmatch(self.server) else "",
            authority=_certificates(self.authority),
            prefix=_brief(self.prefix),
        )


@dataclass(frozen=True, slots=True)
class Intake:
    """What was typed, and the access that it makes where nothing is wrong."""

    typed: Typed
    access: Access | None = None
    wrong: tuple[Wrong, ...] = ()
    contexts: tuple[str, ...] = ()
    context: str = ""
    """The context of the kubeconfig that was taken."""
    server: str = ""
    """The address where it is well-formed, whatever else is wrong."""
    needs_account: bool = False
    """A refusal is answered best by a service account: the page shows how to make one."""

    @property
    def config(self) -> dict[str, Any]:
        """What the cluster's row keeps of it."""
        return {"scheduler": self.typed.scheduler, "namespacePrefix": self.typed.prefix}


def ways() -> list[str]:
    """The ways that are open here: the last one only in a pod."""
    return [KUBECONFIG, TOKEN] + ([IN_CLUSTER] if credentials.in_cluster() else [])


def schedulers() -> list[tuple[str, str]]:
    """Schedulers to choose from, by name and title; empty: the best that is there."""
    return [("", "The best that the cluster has")] + [
        (name, one.title + ("" if one.is_proven else " (not proven live)"))
        for name, one in ADAPTERS.items()
    ]


def read(post: Mapping[str, Any], uploaded: Any, *, now: datetime) -> Intake:
    """Judge everything that was posted. ``uploaded``: a file of Django, or None."""
    typed = Typed(
        name=_line(post, "name"),
        way=_line(post, "way"),
        context=_line(post, "context"),
        server=_line(post, "server"),
        authority=str(post.get("authority", "")).replace("\r\n", "\n")[: kubeconfig.LONGEST],
        scheduler=_line(post, "scheduler"),
        prefix=_line(post, "prefix") or PREFIX,
    )
    found = _by_way(typed, post, uploaded, now)
    wrong = [*_settings(typed), *found.wrong]
    if found.server:
        wrong += _where(found.server, "kubeconfig" if typed.way == KUBECONFIG else "server")
    access = None if wrong else found.access
    return replace(found, access=access, wrong=tuple(wrong))


def _by_way(typed: Typed, post: Mapping[str, Any], uploaded: Any, now: datetime) -> Intake:
    if typed.way == KUBECONFIG:
        return _kubeconfig(typed, post, uploaded, now)
    if typed.way == TOKEN:
        return _token(typed, post, now)
    access = credentials.in_cluster() if typed.way == IN_CLUSTER else None
    if access is None:
        says = "Choose one of the ways that are shown."
        return Intake(typed, None, (Wrong("way-kubeconfig", says),))
    return Intake(typed, access, server=access.server)


def _kubeconfig(typed: Typed, post: Mapping[str, Any], uploaded: Any, now: datetime) -> Intake:
    text = str(post.get("kubeconfig", ""))
    if text.strip() and uploaded is not None:
        says = "Paste the text or choose a file, not both."
        return Intake(typed, None, (Wrong("kubeconfig", says),))
    if uploaded is not None and uploaded.size > kubeconfig.LONGEST:
        too_long = kubeconfig.too_long(uploaded.size)
        return Intake(typed, None, (Wrong("kubeconfig", str(too_long)),))
    data = uploaded.read() if uploaded is not None else text.encode()
    if not data.strip():
        says = "Paste a kubeconfig, or choose its file."
        return Intake(typed, None, (Wrong("kubeconfig", says),))
    parsed = kubeconfig.parse(data, context=typed.context, now=now)
    wrong = tuple(
        Wrong("context" if one.where == "Context" else "kubeconfig", str(one))
        for one in parsed.refusals
    )
    needs = any("service account" in one.instead for one in parsed.refusals)
    return Intake(
        typed, parsed.access, wrong, parsed.contexts, parsed.context, parsed.server, needs
    )


def _token(typed: Typed, post: Mapping[str, Any], now: datetime) -> Intake:
    token = str(post.get("token", "")).strip()
    wrong = [
        Wrong("server", f"API server {says}.") for says in kubeconfig.check_server(typed.server)
    ]
    if typed.authority.strip():
        wrong += [
            Wrong("authority", f"Certificate authority {says}.")
            for says in kubeconfig.check_authority(typed.authority, now)
        ]
    try:
        if not token:
            raise identities.Unfit("is missing")
        identities.check_token(token, now)
    except identities.Unfit as why:
        wrong.append(Wrong("token", f"Token {why}."))
    access = Access(typed.server.rstrip("/"), typed.authority.strip(), token=token)
    server = "" if any(one.target == "server" for one in wrong) else typed.server
    fit = None if wrong else access
    return Intake(typed, fit, tuple(wrong), server=server, needs_account=not token)


def _settings(typed: Typed) -> Iterator[Wrong]:
    if typed.scheduler and typed.scheduler not in ADAPTERS:
        yield Wrong("scheduler", "Choose one of the schedulers that are shown.")
    yield from check_prefix(typed.prefix)


def check_prefix(prefix: str) -> Iterator[Wrong]:
    """What is wrong with the prefix of namespaces."""
    if not _PREFIX.fullmatch(prefix):
        says = "Prefix must be 1 to 20 small letters, digits and hyphens, beginning with a letter."
        yield Wrong("prefix", says)
    elif prefix == "kube" or prefix.startswith("kube-"):
        says = "Prefix: namespaces that begin with kube- are Kubernetes' own. Choose another."
        yield Wrong("prefix", says)


def _where(url: str, target: str) -> Iterator[Wrong]:
    """Whether the address may be dialled, as its name resolves now."""
    server = addresses.parse(url)
    try:
        credentials.reach().vetted(server.host, server.port)
    except addresses.AddressRefused as why:
        yield Wrong(target, f"API server: {why}")


def _line(post: Mapping[str, Any], key: str) -> str:
    return str(post.get(key, "")).strip()[:2100]


def _brief(text: str) -> str:
    """A name; no address, key or file in its place."""
    is_name = len(text) <= LONGEST_SHOWN and "://" not in text and "-----" not in text
    return text if is_name else ""


def _certificates(text: str) -> str:
    """The certificates of a PEM text, if they are some, without anything between them."""
    found = "\n".join(_CERTIFICATE.findall(text))
    try:
        identities.certificates(found)
    except identities.Unfit:
        return ""
    return found
