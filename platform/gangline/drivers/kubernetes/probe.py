"""The connection check: a look at one cluster, step by step, each with what to do.

Never raises and never takes longer than `BUDGET`. What one step finds out, the next ones use; after
a step without which nothing can be known, the rest is skipped.
"""

import logging
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from gangline.drivers import addresses
from gangline.drivers.checks import State, Step, Tell, tell_nobody
from gangline.drivers.facts import Capacity, Facts, FrameworkOffer, Health, NodeFact

from . import (
    capabilities,
    connection_steps,
    node_labels,
    paging,
    permissions,
    priorities,
    queues,
    schedulers,
    tool_services,
)
from .client import Answer, Client, Doubt, NotUnderstood, Unreachable, understood
from .kinds import JOB_GROUPS
from .placement import NODE_TYPE
from .resources import (
    ACCESS_REVIEWS,
    INGRESS_CLASSES,
    NAMESPACES,
    NODES,
    POD_METRICS,
    PRIORITY_CLASSES,
    SELF_REVIEWS,
    STORAGE_CLASSES,
    Resource,
)
from .steps import REQUIRED, StepName

log = logging.getLogger(__name__)

BUDGET = 25.0
METRICS = "metrics"
"""In the facts: whether the cluster has a metrics server."""
ONE_ANSWER = 8.0
PAGE, MOST_BYTES = 500, 32 << 20
AT_ONCE = 6
LASTING = (403, 404)
"""Answers that are facts themselves: a right is missing, or there is nothing of the kind. What any
other refusal would have told is not known, and may well be as it was."""
ANYWHERE = addresses.AllowedAddresses(addresses.networks("0.0.0.0/0,::/0"))
ROLES = Resource(permissions.RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)


class _Stop(Exception):
    """The check ends here; the step that says why was told."""


def probe(
    client: Client,
    *,
    scheduler: str = "",
    tell: Tell = tell_nobody,
    ask_rights: bool = False,
    node_type: str = NODE_TYPE,
) -> Health:
    """Look at everything; ``tell`` is called with each step as soon as it is known.

    ``ask_rights``: about 50 questions more, so not for a look every half a minute.
    """
    look = _Look(client, scheduler, tell, ask_rights, node_type)
    try:
        look.all()
    except _Stop:
        pass
    except Exception:
        log.exception("the check of %s broke", client.access.server)
        look.tell(Step("Connection check", State.FAILED, "Internal error. See the server log."))
    return look.health()


def capacity(client: Client) -> Capacity | None:
    """What the cluster has in total; None when that cannot be told now."""
    try:
        with understood("nodes"):
            return capabilities.capacity(_listed(client, NODES, time.monotonic() + BUDGET))
    except _Denied as why:
        return capabilities.capacity(()) if why.is_lasting else None
    except Doubt:
        return None


class _Denied(Doubt):
    """The server did not give what was asked for, in words."""

    @property
    def is_lasting(self) -> bool:
        return self.status in LASTING


class _Look:
    """One check on its way."""

    def __init__(
        self, client: Client, scheduler: str, tell: Tell, ask_rights: bool, node_type: str
    ) -> None:
        self.client, self.scheduler, self._tell = client, scheduler, tell
        self.ask_rights, self.node_type = ask_rights, node_type
        self.until = time.monotonic() + BUDGET
        self.steps: list[Step] = []
        self.version, self.is_complete, self.is_half = "", False, False
        self.offers: tuple[FrameworkOffer, ...] = ()
        self.detail: dict[str, Any] = {}
        self.capacity: Capacity | None = None
        self.nodes: Sequence[NodeFact] | None = None
        self.is_login_refused = self.are_rights_known = False

    def tell(self, step: Step) -> None:
        self.steps.append(step)
        self._tell(step)
        if step.state == State.FAILED and step.name in REQUIRED:
            raise _Stop

    def all(self) -> None:
        """Every step in the order of `StepName`."""
        step, connection = connection_steps.reach(self.client, self.client.reach or ANYWHERE)
        self.tell(step)
        if connection is not None:
            connection.settimeout(ONE_ANSWER)
            self._certificate(connection)
        self._identity()
        self._version_and_clock()
        following = StepName.PERMISSIONS if self.ask_rights else StepName.OPERATORS
        self.detail["uid"] = self._uid(following)
        served = self._served(following)
        if self.ask_rights:
            self._guarded(StepName.PERMISSIONS, lambda: self._permissions(served))
        self._guarded(StepName.OPERATORS, lambda: self._operators(served))
        self._guarded(StepName.SCHEDULER, lambda: self._scheduler(served))
        self._guarded(StepName.STORAGE, self._storage)
        self._guarded(StepName.NODES, self._nodes)
        self._guarded(StepName.METRICS, lambda: self._metrics(served))
        self.is_complete = not self.is_half

    def health(self) -> Health:
        """The cluster answers when none of `REQUIRED` failed.

        Half a look is no news: the facts of an earlier one hold.
        """
        failed = [step for step in self.steps if step.state == State.FAILED]
        names = {step.name for step in self.steps}
        if not names >= REQUIRED or any(step.name in REQUIRED for step in failed):
            why = failed[0].sentence if failed else "The check did not finish."
            return Health(False, why, is_login_refused=self.is_login_refused)
        facts = None
        if self.is_complete:
            facts = Facts(f"Kubernetes {self.version}", self.offers, (), self.detail)
        why = f"Failed in the check: {', '.join(s.name for s in failed)}." if failed else ""
        return Health(
            True, why, facts, self.capacity, self.nodes, are_rights_known=self.are_rights_known
        )

    def _certificate(self, connection: socket.socket) -> None:
        self.tell(connection_steps.certificate(self.client, connection))

    def _identity(self) -> None:
        body = {"apiVersion": SELF_REVIEWS.api_version, "kind": SELF_REVIEWS.kind}
        answer = self._ask(StepName.IDENTITY, "POST", SELF_REVIEWS.path(), body)
        self.is_login_refused = answer.status == 401
        found = connection_steps.identity(answer)
        self.detail["identity"] = found.value
        self.tell(found.step)

    def _version_and_clock(self) -> None:
        asked = datetime.now(UTC)
        answer = self._ask(StepName.VERSION, "GET", "/version")
        answered = datetime.now(UTC)
        found = connection_steps.version(answer)
        self.version = found.value
        self.tell(found.step)
        self.tell(connection_steps.clock(answer, asked, answered))

    def _uid(self, step: StepName) -> str:
        """What tells this cluster from every other one, whatever its address: nothing in Kubernetes
        names a cluster, and the namespace kube-system is never made anew."""
        body = self._told(step, NAMESPACES.path(name="kube-system"), "metadata")
        return str((body.get("metadata") or {}).get("uid", ""))

    def _served(self, step: StepName) -> capabilities.Served:
        """API groups and versions, which every signed-in client may read."""
        groups = self._told(step, "/apis", "groups").get("groups") or ()
        versions = {
            str(group["name"]): tuple(str(v["version"]) for v in group["versions"])
            for group in groups
        }
        jobs = {}
        for group, version in ((g, v) for g in JOB_GROUPS for v in versions.get(g, ())):
            body = self._told(step, f"/apis/{group}/{version}", "resources")
            jobs[version] = frozenset(str(one["name"]) for one in body.get("resources") or ())
        return capabilities.Served(versions, jobs)

    def _permissions(self, served: capabilities.Served) -> None:
        present = frozenset((*schedulers.found(served.all), *capabilities.extras(served)))
        if POD_METRICS.api_version in served.all:
            present |= {permissions.METRICS}
        verdict = permissions.judge(self._allowed, self._project_role(), present)
        self.are_rights_known = True
        self.tell(_of_rights(verdict))

    def _operators(self, served: capabilities.Served) -> None:
        self.offers = capabilities.offered(served)
        self.tell(capabilities.operators(self.offers))

    def _scheduler(self, served: capabilities.Served) -> None:
        step, self.detail["schedulers"] = capabilities.scheduling(served, self.scheduler)
        used = next((one["name"] for one in self.detail["schedulers"] if one["used"]), "")
        adapter = schedulers.ADAPTERS.get(used)
        if adapter is not None and adapter.queues is not None:
            listed = _listed(self.client, adapter.queues, self.until)
            self.detail["queues"] = kept = queues.detail(adapter, listed)
            if "names" in kept:
                says = f"{step.sentence} Its queues: {queues.in_words(kept['names'])}."
                step = replace(step, sentence=says)
        try:
            classes = _listed(self.client, PRIORITY_CLASSES, self.until)
            self.detail[priorities.FACT] = priorities.classes(classes)
        except _Denied as why:
            # Which there are is not known then, and nobody's class is called unknown.
            self.is_half |= not why.is_lasting
        self.tell(step)

    def _ingresses(self) -> None:
        """What tools of workloads can be reached through; nothing else hangs on it."""
        try:
            listed = _listed(self.client, INGRESS_CLASSES, self.until)
        except _Denied as why:
            self.is_half |= not why.is_lasting
        else:
            self.detail["ingressClasses"] = tool_services.classes(listed)

    def _storage(self) -> None:
        classes = _listed(self.client, STORAGE_CLASSES, self.until)
        step, self.detail["storageClasses"] = capabilities.storage(classes)
        self._ingresses()
        self.tell(step)

    def _nodes(self) -> None:
        nodes = _listed(self.client, NODES, self.until)
        self.capacity, self.nodes = capabilities.capacity(nodes), capabilities.node_facts(nodes)
        step, about = capabilities.nodes_in_words(nodes)
        self.detail["nodes"] = {**about, "labels": node_labels.labels_of(nodes)}
        self.detail["suggestions"] = node_labels.suggestions(nodes, self.node_type)
        self.tell(step)

    def _metrics(self, served: capabilities.Served) -> None:
        """Whether the cluster tells what pods use; everything else goes on without."""
        is_served = POD_METRICS.api_version in served.all
        self.detail[METRICS] = is_served
        self.tell(capabilities.metrics(is_served=is_served))

    def _guarded(self, name: StepName, step: Callable[[], None]) -> None:
        """One step that may fail without ending the check."""
        # Facts say nothing of rights, which have a word of their own: `Health.are_rights_known`.
        makes_half = name != StepName.PERMISSIONS
        if time.monotonic() > self.until:
            self.is_half |= makes_half
            self.tell(Step(name, State.SKIPPED, "The cluster answers too slowly; check again."))
            return
        try:
            with understood(name):
                step()
        except Doubt as why:
            self.is_half |= makes_half and not (isinstance(why, _Denied) and why.is_lasting)
            fix = "" if isinstance(why, _Denied) else "Check again."
            self.tell(Step(name, State.FAILED, str(why), fix))

    def _ask(
        self, step: StepName, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> Answer:
        """One quick request for ``step``; a connection that breaks here ends the check."""
        try:
            return _request(self.client, self.until, method, path, body)
        except NotUnderstood as why:
            return why.answer  # each step says for itself what it makes of it
        except Unreachable as why:
            self.tell(Step(step, State.FAILED, str(why), "Check again."))
            raise _Stop from why

    def _told(self, step: StepName, path: str, key: str) -> Mapping[str, Any]:
        """A body that facts are taken from. Without its ``key`` the look is half a one."""
        answer = self._ask(step, "GET", path)
        is_told = answer.ok and key in answer.json
        self.is_half |= not is_told and answer.status not in LASTING
        return answer.json

    def _allowed(self, questions: Sequence[permissions.Question]) -> Sequence[bool]:
        def ask(question: permissions.Question) -> bool:
            review = question.as_review()
            path = ACCESS_REVIEWS.path()
            answer = _request(self.client, self.until, "POST", path, review)
            if answer.status != 201:
                raise _Denied("The cluster did not report Gangline's permissions.", answer)
            return answer.body["status"].get("allowed") is True

        with ThreadPoolExecutor(AT_ONCE) as crowd:
            return list(crowd.map(ask, questions))

    def _project_role(self) -> Mapping[str, Any] | None:
        path = ROLES.path(name=permissions.PROJECT_ROLE)
        answer = _request(self.client, self.until, "GET", path)
        return answer.body if answer.ok else None


def _request(
    client: Client,
    until: float,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    query: Mapping[str, str | int] | None = None,
) -> Answer:
    left = until - time.monotonic()
    if left <= 0:
        raise Unreachable("The cluster answers too slowly.")
    return client.request(
        method,
        path,
        query=query,
        body=body,
        read_seconds=min(ONE_ANSWER, left),
        most_bytes=MOST_BYTES,
    )


def _listed(client: Client, resource: Resource, until: float) -> list[Mapping[str, Any]]:
    """A whole collection, page by page. Raises _Denied or Unreachable."""
    found: list[Mapping[str, Any]] = []
    query: dict[str, str | int] = {"limit": PAGE}
    while True:
        answer = _request(client, until, "GET", resource.path(), query=query)
        if not answer.ok:
            may_not = f"Gangline does not have permission to list {resource.plural}."
            says = f"The cluster answered {answer.status} for {resource.plural}."
            raise _Denied(may_not if answer.status == 403 else says, answer)
        found += paging.items(answer)
        more = (answer.body.get("metadata") or {}).get("continue")
        if not more:
            return found
        query["continue"] = str(more)


def _of_rights(verdict: permissions.Verdict) -> Step:
    missing = (*verdict.missing_cluster, *verdict.missing_project)
    if missing:
        words = "; ".join(permissions.in_words(rule) for rule in missing[:4])
        more = f"; and {len(missing) - 4} more" if len(missing) > 4 else ""
        role = (
            f" The ClusterRole {permissions.PROJECT_ROLE} does not exist or cannot be read."
            if verdict.role_missing
            else ""
        )
        return Step(
            StepName.PERMISSIONS,
            State.FAILED,
            f"Gangline may not: {words}{more}.{role}",
            "Apply deploy/kubernetes/role.yaml again, or add these rules:",
            permissions.fix(verdict),
        )
    if verdict.excess:
        return Step(
            StepName.PERMISSIONS,
            State.WARNING,
            f"Gangline has all the permissions it needs, and more: {', '.join(verdict.excess)}.",
            "Use the account of deploy/kubernetes/role.yaml, which has only the permissions it "
            "needs.",
        )
    says = f"Gangline has all the permissions it needs; {verdict.asked} were checked."
    return Step(StepName.PERMISSIONS, State.OK, says)
