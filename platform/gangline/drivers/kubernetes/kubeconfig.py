"""A kubeconfig read field by field: what is not named here never reaches a connection.

The official loaders run the programs and read the files that such a file names; this one copies an
address, certificates and one credential, and refuses the rest with the reason.
https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from gangline.drivers import addresses
from gangline.lib.yaml_text import NotAnObject, UnreadableYaml, read

from . import identities
from .access import ClusterCredentials

LONGEST = 64 * 1024
_QUOTED = re.compile(r"“[^”]*”|'[^']*'|\"[^\"]*\"")
_SIGN = re.compile(r"[“'\"][^\w\s]{1,3}[”'\"]")
"""What a sentence quotes of YAML itself, and not of the file."""
_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,40}")
_SERVER_NAME = re.compile(r"[A-Za-z0-9.:-]+(?<!\.)")
"""What a certificate can name: neither underscores nor a dot at the end."""

MAKE_ACCOUNT = """\
kubectl apply -f role.yaml
kubectl -n gangline create token \\
  gangline --duration=8760h"""
"""What to run where the cluster is known, for a token that Gangline may keep."""
_ACCOUNT = "Create a service account for Gangline and use its token instead."

_TOP = {"apiVersion", "kind", "clusters", "users", "contexts", "current-context", "preferences"}
_CLUSTER = {
    "server",
    "certificate-authority-data",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "disable-compression",
}
_USER = {"token", "client-certificate-data", "client-key-data"}
_CONTEXT = {"cluster", "user", "namespace"}
_FILES = {"certificate-authority", "client-certificate", "client-key", "tokenFile"}
_REFUSED: Mapping[str, tuple[str, str]] = {
    "auth-provider": ("names a login plug-in, which would run programs", _ACCOUNT),
    "username": ("is a password login, which Kubernetes no longer supports", _ACCOUNT),
    "password": ("is a password login, which Kubernetes no longer supports", _ACCOUNT),
    "proxy-url": (
        "sends every request through a proxy, which would see them all",
        "Remove it; Gangline connects to the API server itself.",
    ),
    "extensions": (
        "is private to another program, so its effect is unknown",
        "Remove it: kubectl config view --flatten --minify, without its extensions.",
    ),
}
_IMPERSONATING = re.compile(r"as|as-.*")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that cannot be taken over: where, why, and what to do. Never a value."""

    where: str
    says: str
    instead: str = ""

    def __str__(self) -> str:
        text = f"{self.where} {self.says}." if self.where else f"{self.says}."
        return f"{text} {self.instead}".strip()


@dataclass(frozen=True, slots=True)
class Parsed:
    """An access, or all refusals. ``contexts`` are the names in the file, to choose from."""

    access: ClusterCredentials | None
    refusals: tuple[Refusal, ...] = ()
    contexts: tuple[str, ...] = ()
    context: str = ""
    server: str = ""
    """The address, where it is well-formed, also beside refusals: it can be judged further."""


def parse(text: str | bytes, *, context: str = "", now: datetime) -> Parsed:
    """Read the entries of one context; ``context`` empty: the current one, or the only one."""
    try:
        data = read(text, longest=LONGEST).data
    except UnreadableYaml as error:
        return Parsed(None, (_unreadable(text, error),))
    refusals = list(_top(data))
    if data.get("kind") != "Config":
        return Parsed(None, tuple(refusals))
    entries = {key: _entries(data, key, refusals) for key in ("clusters", "users", "contexts")}
    names = tuple(entries["contexts"])
    chosen = _chosen(data, context.strip(), names, refusals)
    if chosen is None:
        return Parsed(None, tuple(refusals), names)
    found = _Found(entries, chosen, refusals)
    access = found.access(now)
    server = access.server if access and not any(check_server(access.server)) else ""
    return Parsed(None if refusals else access, tuple(refusals), names, chosen, server)


def too_long(size: int) -> Refusal:
    """For a file of so many bytes, without a look into it."""
    says = f"The file has {-(-size // 1024)} KiB; the limit is {LONGEST // 1024}"
    return Refusal("", says, "Shrink it: kubectl config view --raw --flatten --minify.")


def check_server(server: str) -> Iterator[str]:
    """What is wrong with an address, as it goes on after its name."""
    try:
        addresses.parse(server)
    except addresses.AddressRefused as why:
        yield str(why)


def check_authority(pem: str, now: datetime) -> Iterator[str]:
    """What is wrong with the certificates of an authority, as it goes on after its name."""
    try:
        identities.check_dates(identities.certificates(pem), now)
    except identities.Unfit as why:
        yield str(why)


class _Found:
    """The cluster and the user of one context, and what is wrong with them."""

    def __init__(
        self,
        entries: Mapping[str, Mapping[str, tuple[int, Mapping[str, Any]]]],
        chosen: str,
        refusals: list[Refusal],
    ) -> None:
        self.refusals = refusals
        number, context = entries["contexts"][chosen]
        where = f"contexts[{number}].context"
        self._fields(context, where, _CONTEXT)
        self.cluster = self._named(entries["clusters"], context, "cluster", where)
        self.user = self._named(entries["users"], context, "user", where)

    def access(self, now: datetime) -> ClusterCredentials | None:
        if self.cluster is None or self.user is None:
            return None
        where, cluster = self.cluster
        user_where, user = self.user
        self._fields(cluster, where, _CLUSTER)
        self._fields(user, user_where, _USER)
        self._flag(cluster, where)
        return ClusterCredentials(
            server=self._server(cluster, where),
            certificate_authority=self._authority(cluster, where, now),
            tls_server_name=self._server_name(cluster, where),
            **self._credential(user, user_where, now),
        )

    def refuse(self, where: str, says: str, instead: str = "") -> None:
        self.refusals.append(Refusal(where, says, instead))

    def _named(
        self,
        entries: Mapping[str, tuple[int, Mapping[str, Any]]],
        context: Mapping[str, Any],
        key: str,
        where: str,
    ) -> tuple[str, Mapping[str, Any]] | None:
        name = context.get(key)
        if isinstance(name, str) and name in entries:
            number, entry = entries[name]
            return f"{key}s[{number}].{key}", entry
        says = "is missing" if not name else f"names a {key} that the file does not have"
        self.refuse(f"{where}.{key}", says, f"The file has {_list(entries, f'no {key}s')}.")
        return None

    def _fields(self, entry: Mapping[str, Any], where: str, known: set[str]) -> None:
        """Refuse every field that is not copied, with the best reason there is."""
        for key, value in entry.items():
            if key in known or value is None:
                continue
            at = f"{where}.{key}" if _PLAIN.fullmatch(key) else where
            if key == "exec":
                self.refuse(at, f"runs a program{_program(value)} to log in", _ACCOUNT)
            elif key in _FILES:
                says = "names a file, which is on another machine"
                inside = "Write its content into the file: kubectl config view --flatten --minify."
                self.refuse(at, says, _ACCOUNT if key == "tokenFile" else inside)
            elif key in _REFUSED:
                self.refuse(at, *_REFUSED[key])
            elif _IMPERSONATING.fullmatch(key):
                self.refuse(at, "impersonates someone else", _ACCOUNT)
            else:
                self.refuse(at, "is not a field that Gangline supports", "Remove it.")

    def _flag(self, cluster: Mapping[str, Any], where: str) -> None:
        if cluster.get("insecure-skip-tls-verify") not in (None, False):
            self.refuse(
                f"{where}.insecure-skip-tls-verify",
                "would let anyone in between read the credential",
                "Remove it and add certificate-authority-data.",
            )

    def _server(self, cluster: Mapping[str, Any], where: str) -> str:
        server = self._text(cluster, "server", where)
        if server is None:
            self.refuse(f"{where}.server", "is missing", "Give the address of the API server.")
            return ""
        for says in check_server(server):
            self.refuse(f"{where}.server", says)
        return server.rstrip("/")

    def _server_name(self, cluster: Mapping[str, Any], where: str) -> str:
        name = self._text(cluster, "tls-server-name", where) or ""
        if name and not (_SERVER_NAME.fullmatch(name) and addresses.is_host(name)):
            self.refuse(f"{where}.tls-server-name", "is not the name of a server")
        return name

    def _authority(self, cluster: Mapping[str, Any], where: str, now: datetime) -> str:
        at = f"{where}.certificate-authority-data"
        pem = self._pem(cluster, "certificate-authority-data", where)
        if pem:
            for says in check_authority(pem, now):
                self.refuse(at, says)
        return pem

    def _credential(self, user: Mapping[str, Any], where: str, now: datetime) -> dict[str, str]:
        token = self._text(user, "token", where) or ""
        certificate = self._pem(user, "client-certificate-data", where)
        key = self._pem(user, "client-key-data", where)
        has_pair = bool(user.get("client-certificate-data") or user.get("client-key-data"))
        if token and has_pair:
            self.refuse(where, "contains a token and a certificate", "Remove one of the two.")
        elif token:
            self._judge(f"{where}.token", identities.check_token, token, now)
        elif has_pair and not (certificate and key):
            if not user.get("client-key-data"):
                self.refuse(f"{where}.client-key-data", "is required with the certificate")
            if not user.get("client-certificate-data"):
                self.refuse(f"{where}.client-certificate-data", "is required with the key")
        elif has_pair:
            at = f"{where}.client-certificate-data"
            self._judge(at, identities.check_pair, certificate, key, now)
        elif not set(user) - _USER:
            self.refuse(where, "contains neither a token nor a certificate", _ACCOUNT)
        return {"token": token, "client_certificate": certificate, "client_key": key}

    def _judge(self, where: str, check: Any, *values: Any) -> None:
        try:
            check(*values)
        except identities.Unfit as why:
            self.refuse(where, str(why))

    def _pem(self, entry: Mapping[str, Any], key: str, where: str) -> str:
        text = self._text(entry, key, where)
        try:
            return identities.decoded(text) if text else ""
        except identities.Unfit as why:
            self.refuse(f"{where}.{key}", str(why))
            return ""

    def _text(self, entry: Mapping[str, Any], key: str, where: str) -> str | None:
        value = entry.get(key)
        if value is not None and not isinstance(value, str):
            self.refuse(f"{where}.{key}", "must be text", "Write it in quotes.")
            return None
        return value or None


def _top(data: Mapping[str, Any]) -> Iterator[Refusal]:
    if data.get("kind") != "Config":
        yield Refusal("kind", "must be Config: this is not a kubeconfig")
        return
    if data.get("apiVersion", "v1") != "v1":
        yield Refusal("apiVersion", "must be v1")
    for key in data:
        if key == "extensions":
            yield Refusal(key, *_REFUSED[key])
        elif key not in _TOP:
            yield Refusal(
                key if _PLAIN.fullmatch(key) else "", "is not a field of a kubeconfig", "Remove it."
            )
    preferences = data.get("preferences")
    if isinstance(preferences, dict) and preferences.get("extensions"):
        yield Refusal("preferences.extensions", *_REFUSED["extensions"])


def _entries(
    data: Mapping[str, Any], key: str, refusals: list[Refusal]
) -> dict[str, tuple[int, Mapping[str, Any]]]:
    """The named entries of one list, with their positions."""
    found: dict[str, tuple[int, Mapping[str, Any]]] = {}
    listed = data.get(key)
    if listed is not None and not isinstance(listed, list):
        refusals.append(Refusal(key, "must be a list"))
    for number, item in enumerate(listed if isinstance(listed, list) else []):
        name = item.get("name") if isinstance(item, dict) else None
        entry = item.get(key[:-1]) if isinstance(item, dict) else None
        if not isinstance(name, str) or not isinstance(entry, dict):
            says = f"must have a name (text) and {key[:-1]} (an object)"
            refusals.append(Refusal(f"{key}[{number}]", says))
        elif name in found:
            refusals.append(Refusal(f"{key}[{number}].name", "appears twice"))
        else:
            found[name] = (number, entry)
            refusals += [
                Refusal(f"{key}[{number}].{more}", "is not a field of a kubeconfig", "Remove it.")
                for more in item
                if more not in ("name", key[:-1]) and _PLAIN.fullmatch(more)
            ]
    return found


def _chosen(
    data: Mapping[str, Any], asked: str, names: tuple[str, ...], refusals: list[Refusal]
) -> str | None:
    current = data.get("current-context")
    has = f"The file has {_list(names, 'no contexts')}."
    if asked:
        if asked in names:
            return asked
        refusals.append(Refusal("Context", "is not in the file", has))
        return None
    if isinstance(current, str) and current in names:
        return current
    if not current and len(names) == 1:
        return names[0]
    says = "names a context that the file does not have" if current else "is missing"
    instead = f"{has} Write one of them into the field Context." if names else has
    refusals.append(Refusal("current-context", says, instead))
    return None


def _list(names: Any, none: str) -> str:
    shown = [name[:60] if name.isprintable() else "an unprintable name" for name in names]
    more = f" and {len(shown) - 10} more" if len(shown) > 10 else ""
    return (", ".join(shown[:10]) + more) if shown else none


def _program(value: Any) -> str:
    command = value.get("command") if isinstance(value, dict) else None
    name = PurePosixPath(command).name if isinstance(command, str) else ""
    return f" ({name})" if _PLAIN.fullmatch(name) else ""


def _unreadable(text: str | bytes, error: UnreadableYaml) -> Refusal:
    """Never with what stands in the line: it may be half of a token."""
    size = len(text if isinstance(text, bytes) else text.encode("utf-8", "replace"))
    if size > LONGEST:
        return too_long(size)
    if isinstance(error, NotAnObject):
        says = "This is not a kubeconfig: it has no apiVersion, clusters, users and contexts"
        return Refusal("", says, "Use the output of kubectl config view --raw --flatten --minify.")
    said = _QUOTED.sub(lambda one: one[0] if _SIGN.fullmatch(one[0]) else "a value", error.message)
    said = said.replace("duplicate key a value", "a key appears twice")
    instead = _QUOTED.sub(lambda one: one[0] if _SIGN.fullmatch(one[0]) else "it", error.suggestion)
    return Refusal(f"Line {error.line}:", said, instead)
