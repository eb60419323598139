"""Services and Ingresses for the tools of a workload. Pure.

https://kubernetes.io/docs/concepts/services-networking/ingress/
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from gangline.drivers import tools
from gangline.drivers.base import Submission
from gangline.drivers.facts import Facts
from gangline.lib.urls import parts_of, shares_cookies
from gangline.spec.frameworks import GangRole
from gangline.spec.problems import Problem, Role
from gangline.spec.tools import Tool

from . import labels
from .kinds import kind_of
from .resources import INGRESSES, SERVICES

TOOL = "gangline.dev/tool"
"""Label of what is made for a tool: its name."""
LONGEST = 63
_DIGITS = 8
AUTHENTICATING: Mapping[str, str] = {"k8s.io/ingress-nginx": "nginx.ingress.kubernetes.io"}
"""Ingress controllers that ask Gangline about each request, and the prefix of their annotations.

https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/#external-authentication
"""
_DEFAULT = "ingressclass.kubernetes.io/is-default-class"
_AUTOMATIC = re.compile(rf"-[0-9a-f]{{{_DIGITS}}}$")

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entrance:
    """How people come from outside to the tools of a cluster."""

    domain: str = ""
    """Below which every tool has a host; empty: no tool has an address."""
    ingress_class: str = ""
    tls_secret: str = ""
    is_plain: bool = False
    """Without TLS."""
    origin: str = ""
    """Of Gangline, which controllers ask and browsers are sent to."""

    @property
    def scheme(self) -> str:
        return "http" if self.is_plain else "https"

    @property
    def own_host(self) -> str:
        """Gangline's own host, where its cookies and those of tools would mix; else empty."""
        host = parts_of(self.origin).hostname or ""
        return host if shares_cookies(self.domain, host) else ""


def address(submission: Submission, tool: str, given: str | None, entrance: Entrance) -> str:
    """Where people find the tool."""
    if given:
        return given
    uid = submission.identifiers.get("GANGLINE_WORKLOAD_ID", "")
    host = _short(f"{tool}-{submission.name}", _digest(f"{uid}/{tool}"))
    return f"{entrance.scheme}://{host}.{entrance.domain}"


def objects(submission: Submission, entrance: Entrance) -> list[Object]:
    """What must exist for the tools, without namespace and owner, and the pods' identity."""
    made: list[Object] = []
    for role, _, tool in tools.urls(submission):
        service = _service(submission, role, tool, "ClusterIP", "")
        made += [service, _ingress(submission, tool.name, tool.url, service, entrance)]
    for role, _, port in tools.ports(submission):
        service = _service(submission, role, port, port.opened_as, "port")
        if port.external:
            service["spec"]["ports"][0]["nodePort"] = port.external
        made.append(service)
    return made


def select(made: Object, marks: Mapping[str, str]) -> None:
    """Say by labels whose pods a Service is for; anything else is left as it is."""
    if made["kind"] == SERVICES.kind:
        made["spec"]["selector"] = {**made["spec"]["selector"], **marks}


def addresses(namespace: str, listed: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What the cluster itself decided: ``host:port`` of each port, by the name of the tool."""
    found: dict[str, str] = {}
    for raw in filter(is_port, listed):
        meta, spec = raw["metadata"], raw.get("spec") or {}
        name = str(meta["labels"][TOOL])
        port: Mapping[str, Any] = (spec.get("ports") or [{}])[0]
        given = ((raw.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        match spec.get("type"):
            case "NodePort" if port.get("nodePort"):
                found[name] = f"<node>:{port['nodePort']}"
            case "LoadBalancer" if given:
                host = given[0].get("hostname") or given[0].get("ip")
                found[name] = f"{host}:{port.get('port')}"
            case "ClusterIP":
                found[name] = f"{meta['name']}.{namespace}.svc:{port.get('port')}"
    return found


def check(submission: Submission, facts: Facts, entrance: Entrance) -> Iterator[Problem]:
    """A tool that nobody could open, or that everybody could, is refused."""
    listed = tools.urls(submission)
    if not listed:
        return
    for role, index, tool in listed:
        if not tool.port:
            label = f"Port of tool {tool.name}"
            path = f"exposedUrls.{index}.container"
            yield Problem.of(
                role.half, path, "required", accepted="a port", key=tool.name, label=label
            )
    if lacking := _lacking(facts, entrance):
        for role, _, _ in listed[:1]:
            yield lacking.at(role=role.half)
        return
    for role, index, tool in listed:
        host = urlsplit(tool.url or "").hostname or ""
        inside = host.removesuffix(f".{entrance.domain}")
        if tool.url and (inside == host or "." in inside or _AUTOMATIC.search(inside)):
            yield Problem.of(
                role.half, f"exposedUrls.{index}.url", "cluster:tool_host",
                domain=entrance.domain, value=tool.url,
                accepted=f"an address such as {entrance.scheme}://{tool.name}.{entrance.domain}",
                key=tool.name, label=f"Address of tool {tool.name}",
            )  # fmt: skip


def classes(listed: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Name, controller, and whether it is the default one, of each ingress class."""
    return [
        {
            "name": str(raw["metadata"]["name"]),
            "controller": str((raw.get("spec") or {}).get("controller") or ""),
            "default": (raw["metadata"].get("annotations") or {}).get(_DEFAULT) == "true",
        }
        for raw in listed
    ]


def is_port(made: Mapping[str, Any]) -> bool:
    """Whether it is a Service that people come to without an Ingress."""
    meta = made["metadata"]
    return TOOL in (meta.get("labels") or {}) and str(meta["name"]).endswith("-port")


def at(submission: Submission, made: Mapping[str, Any]) -> tuple[Role, str, int] | None:
    """The item of the spec that ``made`` was made for: role, path and index."""
    name = (made["metadata"].get("labels") or {}).get(TOOL)
    is_opened = is_port(made)
    every = tools.ports(submission) if is_opened else tools.urls(submission)
    path = "ports" if is_opened else "exposedUrls"
    return next(((p.role.half, path, p.place) for p in every if p.tool.name == name), None)


def _lacking(facts: Facts, entrance: Entrance) -> Problem | None:
    """Why no tool of the cluster can have an address that Gangline guards; None if it can."""

    def lacking(code: str, what: str, **params: str) -> Problem:
        accepted = f"{what} in the settings of the cluster"
        return Problem(code, "exposedUrls", {"accepted": accepted, **params})

    if not entrance.domain:
        return lacking("cluster:tool_domain", "a domain")
    if entrance.own_host:
        return lacking("cluster:tool_cookies", "another domain", host=entrance.own_host)
    listed = facts.detail.get("ingressClasses")
    if listed is None:
        return None  # nobody has looked yet: the cluster will say
    known = {str(one["name"]): one for one in listed}
    name = entrance.ingress_class or next((n for n, one in known.items() if one["default"]), "")
    one = known.get(name)
    if one is None:
        word = f"class {name}" if name else "default class"
        return lacking("cluster:tool_ingress", "another class", missing=word)
    if one["controller"] not in AUTHENTICATING:
        able = f"a class of {', '.join(AUTHENTICATING)}"
        return lacking("cluster:tool_guard", able, controller=one["controller"], name=name)
    return None


def _service(
    submission: Submission, role: GangRole, tool: Tool, opened_as: str, suffix: str
) -> Object:
    kind = kind_of(submission.framework, submission.worker.launcher)
    pod = {
        labels.ROLE: role.name,
        **({kind.index_label: "0"} if role.counts else {}),
    }
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": {"name": _name(submission, tool.name, suffix), "labels": {TOOL: tool.name}},
        "spec": {
            "type": opened_as,
            "selector": pod,
            "ports": [{"name": "tool", "port": tool.port, "targetPort": tool.port}],
        },
    }


def _ingress(
    submission: Submission, tool: str, given: str | None, service: Object, entrance: Entrance
) -> Object:
    parts = urlsplit(address(submission, tool, given, entrance))
    host = parts.hostname or ""
    spec: Object = {}
    if entrance.ingress_class:
        spec["ingressClassName"] = entrance.ingress_class
    if not entrance.is_plain:
        secret = {"secretName": entrance.tls_secret} if entrance.tls_secret else {}
        spec["tls"] = [{"hosts": [host], **secret}]
    name, port = service["metadata"]["name"], service["spec"]["ports"][0]["port"]
    backend = {"service": {"name": name, "port": {"number": port}}}
    path = {"path": parts.path or "/", "pathType": "Prefix", "backend": backend}
    spec["rules"] = [{"host": host, "http": {"paths": [path]}}]
    return {
        "apiVersion": INGRESSES.api_version,
        "kind": INGRESSES.kind,
        "metadata": {
            "name": name,
            "labels": {TOOL: tool},
            "annotations": _guarded(submission, tool, entrance),
        },
        "spec": spec,
    }


def _guarded(submission: Submission, tool: str, entrance: Entrance) -> dict[str, str]:
    uid = submission.identifiers.get("GANGLINE_WORKLOAD_ID", "")
    here = f"{entrance.origin}/tools/{uid}/{tool}"
    return {
        f"{prefix}/{name}": value
        for prefix in AUTHENTICATING.values()
        for name, value in (
            ("auth-url", f"{here}/auth"),
            ("auth-signin", f"{here}/open"),
            ("auth-response-headers", "X-Gangline-User"),
        )
    }


def _name(submission: Submission, tool: str, suffix: str) -> str:
    """Of a Service: a DNS label that no other tool and no replica of a workload has."""
    end = f"-{suffix}" if suffix else ""
    whole = f"{submission.name}-tool-{tool}"
    if len(whole + end) <= LONGEST:
        return whole + end
    return _short(whole, _digest(whole), LONGEST - len(end)) + end


def _short(text: str, digest: str, most: int = LONGEST) -> str:
    return f"{text[: most - _DIGITS - 1].rstrip('-')}-{digest}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
