"""What a cluster offers: operators, schedulers, storage and nodes. Pure, from its JSON."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gangline.drivers.checks import State, Step
from gangline.drivers.facts import Capacity, FrameworkOffer, NodeFact
from gangline.lib.sizes import bytes_in_words
from gangline.spec.frameworks import FRAMEWORKS

from . import schedulers
from .kinds import KINDS, MPI_OPERATOR, JobKind
from .quantities import amount, is_gpu
from .schedulers.room import is_open
from .steps import StepName

INSTALL = {
    "training-operator": (
        "kubectl apply --server-side -k"
        ' "github.com/kubeflow/training-operator.git/manifests/overlays/standalone?ref=v1.9.3"'
    ),
    "mpi-operator": (
        "kubectl apply --server-side -f"
        " https://raw.githubusercontent.com/kubeflow/mpi-operator/v0.8.0/deploy/v2beta1/mpi-operator.yaml"
    ),
    "jobset": (
        "kubectl apply --server-side -f"
        " https://github.com/kubernetes-sigs/jobset/releases/download/v0.12.0/manifests.yaml"
    ),
}
"""https://github.com/kubeflow/trainer/tree/release-1.9, https://github.com/kubeflow/mpi-operator,
https://jobset.sigs.k8s.io/docs/installation/"""
TRAINER_2, COSCHEDULING = "trainer.kubeflow.org", "scheduling.x-k8s.io"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
PRODUCT = "nvidia.com/gpu.product"
SHOWN = 12

Objects = Sequence[Mapping[str, Any]]

NO_METRICS = "The cluster has no metrics server, so usage of pods is not measured."


@dataclass(frozen=True, slots=True)
class Served:
    """API groups with their versions, and the resources of the groups of jobs by version."""

    versions: Mapping[str, tuple[str, ...]]
    jobs: Mapping[str, frozenset[str]]

    @property
    def all(self) -> frozenset[str]:
        """``scheduling.volcano.sh/v1beta1`` and the like."""
        return frozenset(f"{group}/{v}" for group, some in self.versions.items() for v in some)


def offered(served: Served) -> tuple[FrameworkOffer, ...]:
    """Every framework, and why one is not installed."""
    return tuple(_offer(job, served) for job in KINDS.values())


def extras(served: Served) -> tuple[str, ...]:
    """Operators beside Kubeflow's that are there."""
    found = [kind for kind in KINDS.values() if kind.is_extra and _offer(kind, served).available]
    return tuple(kind.operator for kind in found)


def metrics(*, is_served: bool) -> Step:
    """The step about the metrics server."""
    if is_served:
        return Step(StepName.METRICS, State.OK, "A metrics server reports what pods use.")
    return Step(
        StepName.METRICS,
        State.WARNING,
        NO_METRICS,
        "Install metrics-server, the add-on of Kubernetes that “kubectl top” needs.",
    )


def operators(offers: Sequence[FrameworkOffer]) -> Step:
    """The step about operators: which frameworks can be chosen, and how to get the others."""
    there = [_label(one.framework) for one in offers if one.available]
    missing = [one for one in offers if not (one.available or KINDS[one.framework].is_extra)]
    if not missing:
        return Step(StepName.OPERATORS, State.OK, f"Frameworks that can run: {', '.join(there)}.")
    wanted = {KINDS[one.framework].operator for one in missing}
    reasons = " ".join(dict.fromkeys(one.reason for one in missing))
    copy = "\n".join(INSTALL[name] for name in sorted(wanted))
    if not there:
        says = "No framework can run here: no operator of Kubeflow serves a kind that Gangline uses"
        return Step(StepName.OPERATORS, State.FAILED, f"{says}. {reasons}", "Install them:", copy)
    says = f"{', '.join(there)} can run. {reasons}"
    return Step(StepName.OPERATORS, State.WARNING, says, "To offer the rest:", copy)


def scheduling(served: Served, chosen: str) -> tuple[Step, list[dict[str, Any]]]:
    """Which schedulers are there, and which one is used; ``chosen`` by the admin, or empty."""
    names = schedulers.found(served.all)
    used = chosen or schedulers.best(names)
    found = [
        {
            "name": name,
            "title": schedulers.ADAPTERS[name].title,
            "proven": schedulers.ADAPTERS[name].is_proven,
            "used": name == used,
        }
        for name in names
    ]
    more = ""
    if COSCHEDULING in served.versions:
        more = " scheduler-plugins is installed too; Gangline does not use it."
    if used not in schedulers.ADAPTERS:
        return Step(
            StepName.SCHEDULER, State.FAILED, f"Gangline does not support the scheduler {used}."
        ), found
    title = schedulers.ADAPTERS[used].title
    if used not in names:
        says = f"{title} was chosen, but the cluster does not have it."
        return Step(
            StepName.SCHEDULER, State.FAILED, says + more, "Install it, or choose another."
        ), found
    if used == schedulers.PLAIN:
        says = f"{title} places pods one by one: a workload may wait with only a part running."
        fix = "Volcano, or gangs of Kubernetes itself (1.36 and newer), start whole workloads."
        return Step(StepName.SCHEDULER, State.WARNING, says + more, fix), found
    adapter = schedulers.ADAPTERS[used]
    alone = [_label(name) for name in sorted(adapter.places_alone)]
    if alone:
        more = f" Pods of {', '.join(alone)} workloads it places one by one.{more}"
    if not adapter.is_proven:
        says = f"{title} was chosen. Gangline has not been tested with the real one."
        fix = "Try it with a workload of your own before people rely on it."
        return Step(StepName.SCHEDULER, State.WARNING, says + more, fix), found
    others = [str(one["title"]) for one in found if not one["used"]]
    beside = f" Also there: {', '.join(others)}." if others else ""
    return Step(
        StepName.SCHEDULER, State.OK, f"{title} starts whole workloads.{beside}{more}"
    ), found


def storage(classes: Objects) -> tuple[Step, list[dict[str, Any]]]:
    """Storage classes, the default one first."""
    found = [
        {
            "name": str(_meta(one).get("name", "")),
            "provisioner": str(one.get("provisioner", "")),
            "default": (_meta(one).get("annotations") or {}).get(DEFAULT_CLASS) == "true",
        }
        for one in classes
    ]
    found.sort(key=lambda one: (not one["default"], one["name"]))
    if not found:
        says = "None: workloads can use existing volumes, but not new ones."
        return Step(StepName.STORAGE, State.WARNING, says), found
    names = [f"{one['name']} (default)" if one["default"] else str(one["name"]) for one in found]
    if not found[0]["default"]:
        says = f"{_some(names)}; none is the default, so a new volume must name one."
        return Step(StepName.STORAGE, State.WARNING, says), found
    return Step(StepName.STORAGE, State.OK, f"{_some(names)}."), found


def capacity(nodes: Objects) -> Capacity:
    """What ready nodes that take pods can give away. The cluster's own scheduler admits."""
    return capacity_of([node for node in nodes if is_open(node)])


def capacity_of(nodes: Objects) -> Capacity:
    """What these nodes have for pods, whether they take any now or not."""
    usable = [_allocatable(node) for node in nodes]
    gpus = (amount(one[name]) for one in usable for name in one if is_gpu(name))
    return Capacity(
        admission="theirs",
        cpus=float(sum(amount(one.get("cpu", 0)) for one in usable)),
        memory=int(sum(amount(one.get("memory", 0)) for one in usable)),
        gpu_count=sum(map(int, gpus)),
    )


def nodes_in_words(nodes: Objects) -> tuple[Step, dict[str, Any]]:
    """The step about nodes, with the GPUs by resource and product for the page."""
    usable = [node for node in nodes if is_open(node)]
    room = capacity(nodes)
    kinds: dict[tuple[str, str], list[int]] = {}
    for node in usable:
        for name, quantity in _allocatable(node).items():
            if is_gpu(name) and (count := int(amount(quantity))):
                product = str((_meta(node).get("labels") or {}).get(PRODUCT, ""))
                kinds.setdefault((name, product[:60]), []).append(count)
    gpus: list[dict[str, Any]] = [
        {"resource": name, "product": product, "nodes": len(counts), "total": sum(counts)}
        for (name, product), counts in sorted(kinds.items())
    ]
    detail: dict[str, Any] = {"total": len(nodes), "usable": len(usable), "gpus": gpus}
    if not usable:
        says = f"None of {len(nodes)} nodes accepts pods: they are not ready, or cordoned."
        return Step(
            StepName.NODES, State.WARNING, says, "Run kubectl get nodes to see why."
        ), detail
    detail["largest"] = _largest(usable)
    words = ", ".join(
        f"{one['total']} × {one['product'] or one['resource']} on {_nodes(one['nodes'])}"
        for one in gpus
    )
    says = (
        f"{len(usable)} of {_nodes(len(nodes))} take pods: {room.cpus:g} CPU cores,"
        f" {bytes_in_words(room.memory)}, {words or 'no GPUs'}."
    )
    return Step(StepName.NODES, State.OK, says), detail


def node_facts(nodes: Objects) -> tuple[NodeFact, ...]:
    """Each node with what pods can ask of it."""
    return tuple(_node_fact(node) for node in nodes if _meta(node).get("name"))


def _node_fact(node: Mapping[str, Any]) -> NodeFact:
    spec, room = node.get("spec") or {}, capacity_of([node])
    labels = {str(key): str(value) for key, value in (_meta(node).get("labels") or {}).items()}
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((str(one.get("status")) for one in conditions if one.get("type") == "Ready"), "")
    status = {"True": "Ready", "False": "NotReady"}.get(ready, "Unknown")
    if status == "Ready" and spec.get("unschedulable"):
        status = "Cordoned"
    taints = [
        {key: str(taint.get(key) or "") for key in ("key", "value", "effect")}
        for taint in spec.get("taints") or ()
    ]
    gpu_type = labels.get(PRODUCT, "") if room.gpu_count else ""
    return NodeFact(
        str(_meta(node)["name"]), status, labels, taints,
        room.cpus, room.memory, room.gpu_count, gpu_type[:120],
    )  # fmt: skip


def _largest(usable: Objects) -> dict[str, Any]:
    """The most that any one node can give, each for itself."""
    rooms = [capacity([node]) for node in usable]
    return {
        "gpus": max(room.gpu_count for room in rooms),
        "cpus": max(room.cpus for room in rooms),
        "memory": max(room.memory for room in rooms),
    }


def _offer(job: JobKind, served: Served) -> FrameworkOffer:
    resource = job.resource
    if resource.plural in served.jobs.get(resource.version, ()):
        return FrameworkOffer(job.framework, available=True, version=resource.api_version)
    others = sorted(v for v, plurals in served.jobs.items() if resource.plural in plurals)
    reason, remedy = _lack(job, others, served)
    return FrameworkOffer(job.framework, available=False, reason=reason, remedy=remedy)


def _lack(job: JobKind, others: Collection[str], served: Served) -> tuple[str, str]:
    """Why the cluster cannot run it, and what would mend that."""
    kind, version = job.resource.kind, job.resource.version
    if job.operator == MPI_OPERATOR and "v1" in others:
        return (
            f"{kind} is installed only as v1, of the training operator: Gangline needs {version}.",
            "Start the training operator with an --enable-scheme for every kind but mpijob,"
            f" and install {job.operator} with its {kind}.",
        )
    if others:
        return f"{kind} is installed only as {', '.join(others)}: Gangline needs {version}.", ""
    if job.is_extra:
        return f"{kind} is not installed.", f"To run {job.framework}: {INSTALL[job.operator]}"
    if TRAINER_2 in served.versions and job.operator != MPI_OPERATOR:
        return (
            f"{kind} is not installed: the cluster has Kubeflow Trainer 2, and Gangline needs"
            f" {job.operator} 1.9 beside it.",
            "",
        )
    return f"{kind} is not there: {job.operator} is not installed.", ""


def _label(framework: str) -> str:
    known = FRAMEWORKS.get(framework)
    return known.label if known else framework


def _allocatable(node: Mapping[str, Any]) -> Mapping[str, Any]:
    return (node.get("status") or {}).get("allocatable") or {}


def _meta(one: Mapping[str, Any]) -> Mapping[str, Any]:
    return one.get("metadata") or {}


def _nodes(count: int) -> str:
    return f"{count} node" if count == 1 else f"{count} nodes"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
