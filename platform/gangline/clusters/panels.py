"""What the pages of clusters, pools and nodes show beside their facts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.drivers.checks import State, Step
from gangline.resources.resource import Panel
from gangline.spec.frameworks import FRAMEWORKS
from gangline.web import components, formats

from . import checks, connections
from .models import Cluster, Credential, Node, NodePool, Orphan
from .selectors import CHECKING, health_of

IDENTITIES = {
    "token": "a token",
    "certificate": "a client certificate",
    "in-cluster": "the service account of Gangline’s own pod",
    "local": "commands of this machine",
    "ssh-key": "an SSH key",
}
LOOKS = {
    State.OK: ("good", "circle-check", "Good"),
    State.WARNING: ("warn", "alert-triangle", "Worth knowing"),
    State.FAILED: ("bad", "circle-x", "Failed"),
    State.SKIPPED: ("neutral", "circle-off", "Skipped"),
}
NODE_LOOKS = {
    "Ready": ("good", "running"),
    "Cordoned": ("warn", "degraded"),
    "NotReady": ("bad", "no-contact"),
}
MOST_NODES = 200
"""Of one pool or cluster on its page; the list has the rest."""
RESOURCES = {"cpus": "cores", "memory": "", "gpus": "GPUs"}


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step of the connection check as it is drawn."""

    name: str
    tone: str
    icon: str
    word: str
    step: Step | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """A status as it is drawn."""

    word: str
    tone: str
    shape: str


@dataclass(frozen=True, slots=True)
class Use:
    """How much of a resource of a cluster workloads of Gangline use."""

    used: float
    total: float
    words: str


def in_use(resource: str, clusters: Iterable[Cluster]) -> Use:
    """Of all of ``clusters`` together."""
    used = total = 0.0
    for cluster in clusters:
        has = cluster.gpu_count if resource == "gpus" else cluster.capacity.get(resource)
        of_this = float(has or 0)
        total += of_this
        used += min(float(getattr(cluster, f"used_{resource}", None) or 0), of_this)
    if resource == "memory":
        return Use(used, total, f"{formats.size(int(used))} of {formats.size(int(total))}")
    return Use(used, total, f"{used:g} of {total:g}")


def meter(cluster: Cluster, resource: str) -> SafeString | str:
    """How much of a resource is in use here, as a bar with its words.

    What workloads do not use is not called free: others may use it.
    """
    if not cluster.capacity:
        return formats.NOTHING
    use = in_use(resource, [cluster])
    if not use.total:
        return "none"
    label = f"Used by workloads here: {use.words}"
    bar = components.progress(use.used, use.total, label)
    return format_html('<span class="meter"><span class="num">{}</span>{}</span>', use.words, bar)


def node_status(row: Node) -> SafeString:
    tone, shape = NODE_LOOKS.get(row.status, ("neutral", "unknown"))
    return components.status(Look(row.status, tone, shape))


def pool_label(row: NodePool) -> SafeString | str:
    if row.is_default:
        return "all other nodes"
    return format_html("<code>{}={}</code>", row.label_key, row.label_value)


def sees_details(user: User, cluster: Cluster) -> bool:
    """Whether the person sees how Gangline signs in, the check and what is unmanaged."""
    return can(user, Permission.CLUSTER_VIEW, cluster.scope)


def advice(cluster: Cluster, progress: checks.Progress | None) -> tuple[str, str] | None:
    """What keeps it from being connected, and what to do; None where nothing does."""
    if progress is not None and not progress.is_running and not progress.is_trial:
        failed = [step for step in progress.steps if step.state == State.FAILED]
        if failed and not _is_outdated(progress, cluster):
            return failed[0].sentence, failed[0].fix
    found = health_of(cluster)
    return (found.reason, "") if found.tone == "bad" and found.reason else None


def head(request: HttpRequest, cluster: Cluster) -> dict[str, Any]:
    """Status and the button of the check."""
    user = request.user
    progress = checks.progress(cluster)
    is_checking = progress is not None and progress.is_running
    sees = isinstance(user, User) and sees_details(user, cluster)
    return {
        "advice": advice(cluster, progress) if sees and not is_checking else None,
        "checks_url": f"{reverse('cluster-detail', args=[cluster.pk])}/checks",
        "health": CHECKING if is_checking and sees else health_of(cluster),
        "kind": cluster.engine.label,
        "is_checking": is_checking,
        "check_url": reverse("cluster-check", args=[cluster.pk]),
    }


def _capacity(request: HttpRequest, cluster: Cluster) -> dict[str, Any]:
    engine = cluster.engine
    connection, facts = connections.connection_of(cluster), connections.facts_of(cluster)
    return {
        "cluster": cluster,
        "meters": [
            (word, meter(cluster, name))
            for name, word in (("cpus", "CPU cores"), ("memory", "Memory"), ("gpus", "GPUs"))
        ],
        "declared": bool(cluster.capacity.get("gpus_declared")),
        "groups": engine.facts(connection, facts),
        "good_to_know": engine.good_to_know,
    }


def _credential(request: HttpRequest, cluster: Cluster) -> dict[str, Any] | None:
    if cluster.engine.credential is None:
        return None
    found = Credential.objects.filter(cluster=cluster).select_related("added_by").first()
    return {
        "cluster": cluster,
        "credential": found,
        "identity": IDENTITIES.get(found.identity, found.identity) if found else "",
        "may_edit": _may_edit(request, cluster),
    }


def _nodes(request: HttpRequest, cluster: Cluster) -> dict[str, Any]:
    return _listed(cluster.nodes.select_related("pool"), f"?clusterId={cluster.pk}")


def pool_nodes(request: HttpRequest, pool: NodePool) -> dict[str, Any]:
    """The nodes of a pool."""
    query = f"?clusterId={pool.cluster_id}&nodePool={pool.name}"
    return _listed(pool.nodes.select_related("pool"), query)


def _listed(rows: Any, query: str) -> dict[str, Any]:
    found = list(rows.order_by("name")[: MOST_NODES + 1])
    return {
        "nodes": [(node, node_status(node)) for node in found[:MOST_NODES]],
        "more_url": f"{reverse('node-list')}{query}" if len(found) > MOST_NODES else "",
    }


def _frameworks(request: HttpRequest, cluster: Cluster) -> dict[str, Any]:
    facts = connections.facts_of(cluster)
    labels = {name: known.label for name, known in FRAMEWORKS.items()}
    return {
        "frameworks": [(labels.get(one.framework, one.framework), one) for one in facts.frameworks],
        "runtimes": facts.runtimes,
        "more_runtimes": facts.detail.get("moreRuntimes", ""),
    }


def _check(request: HttpRequest, cluster: Cluster) -> dict[str, Any]:
    progress = checks.progress(cluster)
    if progress is not None and _is_outdated(progress, cluster):
        # A failure that stands under a green badge tells nothing but how it was once.
        progress = None
    context: dict[str, Any] = {
        "cluster": cluster,
        "progress": progress,
        "may_edit": _may_edit(request, cluster),
        "rows": [],
        "url": f"{reverse('cluster-detail', args=[cluster.pk])}/checks",
    }
    if progress is not None:
        rows = [StepRow(step.name, *LOOKS[step.state], step) for step in progress.steps]
        if progress.is_running:
            rows += [StepRow(name, "neutral", "clock", "Pending") for name in progress.to_come]
        context |= {"rows": rows, "summary": summary(progress)}
    return context


def _orphans(request: HttpRequest, cluster: Cluster) -> dict[str, Any] | None:
    """Objects on the cluster that belong to no workload, and those that were put away.

    What only one look has found may be gone at the next one: it is counted and not listed.
    """
    if cluster.engine.credential is None:
        return None
    found = Orphan.objects.filter(cluster=cluster).select_related("decided_by")
    rows = list(found.order_by("created_at", "pk"))
    sure = [row for row in rows if row.is_sure]
    return {
        "cluster": cluster,
        "may_manage": _may_edit(request, cluster),
        "orphans": [row for row in sure if row.decision != "ignore"],
        "ignored": [row for row in sure if row.decision == "ignore"],
        "unconfirmed": len(rows) - len(sure),
    }


def _is_outdated(progress: checks.Progress, cluster: Cluster) -> bool:
    """Whether the last check failed and the cluster has answered since."""
    if progress.is_running or progress.is_trial or progress.ended_at is None:
        return False
    failed = any(step.state == State.FAILED for step in progress.steps)
    since = cluster.health_since
    if not failed or cluster.health != "Connected" or since is None:
        return False
    return since > progress.ended_at


def summary(progress: checks.Progress) -> str:
    """The check in one sentence, for those who cannot see its steps."""
    if progress.is_running:
        done, all_of_them = len(progress.steps), len(progress.steps) + len(progress.to_come)
        return f"Checking: {done} of {all_of_them} steps are done."
    if progress.broke_off:
        return "The check did not finish. Check again."
    failed = sum(step.state == State.FAILED for step in progress.steps)
    warned = sum(step.state == State.WARNING for step in progress.steps)
    if progress.is_trial:
        kept = progress.steps and progress.steps[-1].state == State.OK
        return f"The new credential {'is' if kept else 'was not'} stored."
    if failed:
        skipped = sum(step.state == State.SKIPPED for step in progress.steps)
        left = skipped + len(progress.to_come)
        unseen = f"; {left} {'was' if left == 1 else 'were'} not checked" if left else ""
        return f"{failed} step{'' if failed == 1 else 's'} failed{unseen}."
    if warned:
        return f"Connected; {warned} {'step needs' if warned == 1 else 'steps need'} attention."
    return "All checks passed."


def _may_edit(request: HttpRequest, cluster: Cluster) -> bool:
    place = cluster.scope.parent or cluster.scope
    return isinstance(request.user, User) and can(request.user, Permission.CLUSTER_EDIT, place)


PANELS = (
    Panel(title="", template="clusters/parts/capacity.html", context=_capacity),
    Panel(
        title="Credential",
        template="clusters/parts/credential.html",
        context=_credential,
        allowed=sees_details,
    ),
    Panel(title="Nodes", template="clusters/parts/nodes.html", context=_nodes, tab="Nodes",
          allowed=sees_details),
    Panel(title="", template="clusters/parts/frameworks.html", context=_frameworks,
          tab="Frameworks"),
    Panel(title="", template="clusters/parts/check.html", context=_check, tab="Checks",
          allowed=sees_details),
    Panel(title="", template="clusters/parts/orphans.html", context=_orphans, tab="Checks",
          allowed=sees_details),
)  # fmt: skip
