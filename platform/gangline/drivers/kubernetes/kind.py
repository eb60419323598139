"""Kubernetes as the rest of Gangline knows it."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from gangline.drivers.addresses import AllowedAddresses
from gangline.drivers.base import AttemptRef
from gangline.drivers.checks import Tell, tell_nobody
from gangline.drivers.facts import Facts, Health
from gangline.drivers.kind import (
    Admission,
    ClusterKind,
    FactGroup,
    Guide,
    Identity,
    NativeObject,
    Option,
    Site,
    Unconnectable,
    Way,
)
from gangline.lib import yaml_text
from gangline.lib.problems import Problem

from . import intake, manifests, names, priorities, probe, queues, schedulers
from .access import ClusterCredentials, Options
from .capabilities import NO_METRICS
from .client import Allowance, Client, Unreachable
from .driver import KubernetesDriver
from .identities import identity_of
from .intake import KubernetesConnection, KubernetesCredential
from .kubeconfig import MAKE_ACCOUNT
from .permissions import role_manifests
from .placement import NODE_TYPE
from .quantities import GPU
from .resources import NAMESPACES
from .steps import REQUIRED, StepName
from .tool_services import Entrance

log = logging.getLogger(__name__)

WRITES_PER_SECOND, WRITES_AT_ONCE = 10.0, 20.0
"""Of one process to one cluster, so that a long queue is no storm."""
_SECRET = ("data", "stringData")
LONGEST_LOOK = 5.0
"""Seconds for the one answer that a person waits for."""


def reach(site: Site) -> AllowedAddresses:
    """Where clusters may be, as this installation has it."""
    return AllowedAddresses(site.networks, site.own)


def client(access: ClusterCredentials, site: Site, *, is_paced: bool = True) -> Client:
    """A connection to an API server. Raises Unconnectable."""
    allowed = Allowance(WRITES_PER_SECOND, WRITES_AT_ONCE) if is_paced else None
    try:
        return Client(access, reach(site), writes=allowed)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise Unconnectable("Its certificates cannot be used. Replace the credential.") from error


class Kubernetes(ClusterKind):
    key = "kubernetes"
    label = "Kubernetes"
    keeps_secrets = True
    text = "A cluster with Kubeflow’s operators."
    connection = KubernetesConnection
    credential = KubernetesCredential
    address_word = "API server"
    no_files = (
        "On Kubernetes, what programs write outside of volumes is lost with their pods. Write "
        "results"
        " to a volume, or open a terminal while the pod runs."
    )
    native_word = "Kubernetes manifest"
    check_names = tuple(StepName)
    required = frozenset(REQUIRED)

    def open(
        self,
        connection: KubernetesConnection,
        access: ClusterCredentials,
        *,
        site: Site,
        facts: Facts,
        host_id: str,
    ) -> KubernetesDriver:
        options = Options(
            namespace_prefix=connection.namespace_prefix,
            scheduler=self.scheduler(connection, facts),
            log_cap=site.log_cap,
            gpu=self.gpu(connection, facts),
            data_dir=site.data_dir,
            node_type=site.node_type or NODE_TYPE,
            priorities=frozenset(str(one["name"]) for one in facts.detail.get(priorities.FACT, ())),
            entrance=Entrance(
                domain=connection.tools_domain,
                ingress_class=connection.ingress_class,
                tls_secret=connection.tools_secret,
                is_plain=connection.tools_plain,
                origin=site.origin,
            ),
        )
        return KubernetesDriver(client(access, site), options)

    def check(
        self,
        connection: KubernetesConnection,
        access: ClusterCredentials,
        *,
        site: Site,
        host_id: str,
        tell: Tell = tell_nobody,
    ) -> Health:
        found = client(access, site, is_paced=False)
        health = probe.probe(
            found,
            scheduler=connection.scheduler,
            tell=tell,
            ask_rights=True,
            node_type=site.node_type or NODE_TYPE,
        )
        if health.reachable and health.capacity is None:
            return replace(health, capacity=probe.capacity(found))
        return health

    def connection_problems(
        self, connection: KubernetesConnection, site: Site
    ) -> Iterator[Problem]:
        if own := Entrance(connection.tools_domain, origin=site.origin).own_host:
            yield Problem("settings:cookies", "tools_domain", {"host": own})

    def uid(self, access: ClusterCredentials, site: Site) -> str:
        try:
            path = NAMESPACES.path(name="kube-system")
            answer = client(access, site).request("GET", path, read_seconds=LONGEST_LOOK)
        except (Unreachable, Unconnectable):
            # The connection check, which follows, says what is wrong there.
            log.info("which cluster is at %s is not known", access.server)
            return ""
        return str(answer.body["metadata"].get("uid") or "") if answer.ok else ""

    def ways(self) -> Sequence[Way]:
        return intake.ways()

    def admit(self, given: KubernetesCredential, site: Site, now: datetime) -> Admission:
        return intake.admit(given, reach(site), now)

    def identity(self, access: ClusterCredentials) -> Identity:
        return identity_of(access)

    def as_json(self, access: ClusterCredentials) -> Mapping[str, Any]:
        return access.as_json()

    def from_json(self, stored: Mapping[str, Any]) -> ClusterCredentials:
        return ClusterCredentials.from_json(stored)

    def presentable(self, name: str, value: str) -> str:
        own = intake.presentable(name, value)
        return super().presentable(name, value) if own is None else own

    def guide(self) -> Guide:
        commands = f"{MAKE_ACCOUNT}\n{intake.SHOW_CONFIG_NARROW}"
        return Guide(role_manifests()["role.yaml"], commands, intake.SHOW_CONFIG)

    def scheduler(self, connection: KubernetesConnection, facts: Facts) -> str:
        """The one that an administrator chose, or the best that the last probe found."""
        if connection.scheduler:
            return connection.scheduler
        found = facts.detail.get("schedulers", ())
        return next((str(one["name"]) for one in found if one.get("used")), "")

    def gpu(self, connection: KubernetesConnection, facts: Facts) -> str:
        """As configured, or what most of the cluster's GPUs are."""
        if connection.gpu_resource:
            return connection.gpu_resource
        totals: Counter[str] = Counter()
        for one in (facts.detail.get("nodes") or {}).get("gpus") or ():
            totals[str(one["resource"])] += int(one["total"])
        return max(totals, key=lambda name: (totals[name], name), default=GPU)

    def priorities(self, facts: Facts) -> Mapping[str, int]:
        return {**super().priorities(facts), **priorities.values(facts)}

    def options(self, name: str, facts: Facts) -> Sequence[Option]:
        if name != "scheduler":
            return ()
        listed = facts.detail.get("schedulers")
        there = {str(one["name"]) for one in listed or ()}
        now = f"Now {schedulers.ADAPTERS[schedulers.best(there)].title}." if there else ""
        found = [Option("", "The best one available", now)]
        for key, one in schedulers.ADAPTERS.items():
            title = f"{one.title[:1].upper()}{one.title[1:]}" if " " in one.title else one.title
            note = "" if one.is_proven else "experimental"
            is_there = listed is None or key in there
            if not is_there:
                note = f"not there: the cluster does not serve {one.api}"
            found.append(Option(key, title, note, is_there))
        return found

    def namespace(self, connection: KubernetesConnection, project: str) -> str:
        return names.namespace(connection.namespace_prefix, project)

    def queue_problem(
        self, connection: KubernetesConnection, facts: Facts, *, namespace: str, queue: str
    ) -> str:
        return queues.problem(facts, self.scheduler(connection, facts), queue, namespace)

    def facts(self, connection: KubernetesConnection, facts: Facts) -> Sequence[FactGroup]:
        detail = facts.detail
        nodes = detail.get("nodes") or {}
        used = self.scheduler(connection, facts)
        gpus = [
            (str(one["product"] or one["resource"]), f"{one['total']} on {one['nodes']} nodes")
            for one in nodes.get("gpus", ())
        ]
        listed = [
            f"{one['title']} (used)" if one["name"] == used else str(one["title"])
            for one in detail.get("schedulers", ())
        ]
        classes = [
            f"{one['name']} (default)" if one["default"] else str(one["name"])
            for one in detail.get("storageClasses", ())
        ]
        return (
            FactGroup(
                "Scheduling and storage",
                (
                    ("Schedulers", ", ".join(listed)),
                    ("Storage classes", ", ".join(classes)),
                    ("GPU resource", connection.gpu_resource or "automatic"),
                    *gpus,
                    ("Namespaces", f"{connection.namespace_prefix}-…"),
                ),
            ),
        )

    def native_text(self, ref: AttemptRef) -> str:
        here = replace(ref, namespace=str(ref.rendered.get("namespace") or ""))
        made = [manifests.job(here), *manifests.dependents(here, "")]
        return "---\n".join(yaml_text.write(_shown(one)) for one in made)

    def tools(self, rendered: Mapping[str, Any], uid: str, site: Site) -> Mapping[str, str]:
        found: Mapping[str, str] = rendered.get("tools") or {}
        return found

    def unmeasured(self, facts: Facts) -> str:
        return NO_METRICS if facts.detail.get(probe.METRICS) is False else ""

    def native(self, rendered: Mapping[str, Any], name: str) -> NativeObject | None:
        kind = str((rendered.get("job") or {}).get("kind") or "")
        namespace = str(rendered.get("namespace") or "")
        if not kind or not namespace:
            return None
        command = f"kubectl -n {namespace} get {kind.lower()}/{name}"
        return NativeObject(kind, name, namespace, command)


def _shown(made: dict[str, Any]) -> dict[str, Any]:
    """An object as people may see and apply it: owned by nothing yet, with no secret in it."""
    said = {**made["metadata"]}
    said.pop("ownerReferences", None)
    shown = {**made, "metadata": said}
    if made["kind"] == "Secret":
        shown |= {key: dict.fromkeys(made[key], "") for key in _SECRET if key in made}
    return shown


KUBERNETES = Kubernetes()
