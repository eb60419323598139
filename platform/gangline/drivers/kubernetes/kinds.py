"""Kubeflow's kinds, and JobSet: which object a framework becomes, and what its operator expects.

https://www.kubeflow.org/docs/components/trainer/legacy-v1/ and
https://github.com/kubeflow/mpi-operator/tree/v0.8.0
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gangline.spec.launcher_commands import GLOO

from .resources import Resource

TRAINING_OPERATOR = "training-operator"
MPI_OPERATOR = "mpi-operator"
JOBSET = "jobset"


Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replicas:
    """The pods of one role. ``restarts``: whether they are started again where they are."""

    count: int
    restarts: str
    template: Any


@dataclass(frozen=True, slots=True)
class JobKind:
    """One framework's object."""

    framework: str
    resource: Resource
    operator: str
    replicas: str
    """Key of the map of roles below ``spec``."""
    container: str
    """Name that the main container must have; the first one is the main one everywhere."""
    roles: Mapping[str, str]
    """What the operator calls each role of the gang: keys of ``replicas`` and, in lower case,
    values of labels."""
    port: int = 0
    """Where rank 0 listens, as the operator's default has it."""

    index_label: str = "training.kubeflow.org/replica-index"
    """Label of pods that has their index in the role."""
    keeps_running: bool = True
    """Its pods may be started again whatever became of their programs."""
    launcher: str = ""
    """What the framework's ranks are started by, where that makes another kind of object."""
    is_extra: bool = False
    """A cluster that does without the framework is not told to get its operator."""

    def spec(self, roles: Mapping[str, Replicas], backoff: int) -> dict[str, Any]:
        """Of a job, suspended. ``backoff``: so often pods are started again where they are."""
        policy = {"backoffLimit": backoff, "cleanPodPolicy": "Running", "suspend": True}
        made = {
            role: {"replicas": one.count, "restartPolicy": one.restarts, "template": one.template}
            for role, one in roles.items()
        }
        return {"runPolicy": policy, self.replicas: made}

    def parts(self, job: Mapping[str, Any]) -> Iterator[tuple[str, int, Any]]:
        """What the operator calls each role, how many pods it has, and their template."""
        for role, found in ((job.get("spec") or {}).get(self.replicas) or {}).items():
            yield role, int(found.get("replicas", 1)), found.get("template") or {}

    def is_suspended(self, job: Mapping[str, Any]) -> bool:
        return bool(((job.get("spec") or {}).get("runPolicy") or {}).get("suspend"))

    def suspending(self, wanted: bool) -> dict[str, Any]:
        """The patch that stops a job, or lets it go."""
        return {"spec": {"runPolicy": {"suspend": wanted}}}

    def pod(self, native: str, index: int) -> str:
        """What follows the name of the job in the longest name made for a pod."""
        return f"-{native.lower()}-{index}"

    def at(self, job: Mapping[str, Any], place: Place) -> Place:
        """A place in a job, as ``spec, replicas, role, template, …``."""
        return place

    def of(self, job: Mapping[str, Any]) -> "JobKind":
        """The one of the same resource that a job object is."""
        return self

    def role(self, native: str) -> str:
        """The role of the gang that the operator calls so; empty: it has none."""
        return next((role for role, name in self.roles.items() if name == native), "")


_OF_A_SET = ("template", "spec", "template")
"""From a replicated job to its pods' template."""


@dataclass(frozen=True, slots=True)
class JobSetKind(JobKind):
    """A JobSet: an Indexed Job for each role, and all of them end as soon as one fails.

    https://jobset.sigs.k8s.io/docs/concepts/
    """

    index_label: str = "batch.kubernetes.io/job-completion-index"
    keeps_running: bool = False

    def spec(self, roles: Mapping[str, Replicas], backoff: int) -> dict[str, Any]:
        return {
            "suspend": True,
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
            # Servers serve until the workers are done, and then they are removed.
            "successPolicy": {
                "operator": "All", "targetReplicatedJobs": [self.roles["worker"]],
            },
            # Every further try is Gangline's own.
            "failurePolicy": {"maxRestarts": 0},
            self.replicas: [
                {
                    "name": role,
                    "replicas": 1,
                    "template": {
                        "spec": {
                            "completionMode": "Indexed",
                            "parallelism": one.count,
                            "completions": one.count,
                            "backoffLimit": backoff,
                            "template": {
                                **one.template,
                                "spec": {**one.template["spec"], "restartPolicy": one.restarts},
                            },
                        }
                    },
                }
                for role, one in roles.items()
            ],
        }  # fmt: skip

    def parts(self, job: Mapping[str, Any]) -> Iterator[tuple[str, int, Any]]:
        for found in (job.get("spec") or {}).get(self.replicas) or ():
            inner = (found.get("template") or {}).get("spec") or {}
            count = int(inner.get("parallelism", 1)) * int(found.get("replicas", 1))
            yield str(found.get("name", "")), count, inner.get("template") or {}

    def of(self, job: Mapping[str, Any]) -> JobKind:
        names = {name for name, _, _ in self.parts(job)}
        return next((one for one in SETS if names <= set(one.roles.values())), self)

    def is_suspended(self, job: Mapping[str, Any]) -> bool:
        return bool((job.get("spec") or {}).get("suspend"))

    def suspending(self, wanted: bool) -> dict[str, Any]:
        return {"spec": {"suspend": wanted}}

    def pod(self, native: str, index: int) -> str:
        """The Job's number, the index, and five characters of the controller."""
        return f"-{native}-0-{index}-xxxxx"

    def at(self, job: Mapping[str, Any], place: Place) -> Place:
        match place:
            case ("spec", self.replicas, number, *inside) if number.isdigit():
                listed = job["spec"][self.replicas]
                name = listed[int(number)]["name"] if int(number) < len(listed) else ""
                if tuple(inside[:3]) == _OF_A_SET:
                    return ("spec", self.replicas, name, "template", *inside[3:])
                if inside[:2] == ["template", "spec"] and inside[-1] in _COUNTS:
                    return ("spec", self.replicas, name, "replicas")
        return place


_COUNTS = ("parallelism", "completions")


def _v1(plural: str, kind: str) -> Resource:
    return Resource("kubeflow.org", "v1", plural, kind)


_JOB_SET = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")


def _led_by(leader: str) -> Mapping[str, str]:
    return {"master": leader, "worker": "Worker"}


KINDS: dict[str, JobKind] = {
    job.framework: job
    for job in (
        JobKind(
            "PyTorch", _v1("pytorchjobs", "PyTorchJob"), TRAINING_OPERATOR,
            "pytorchReplicaSpecs", "pytorch", _led_by("Master"), port=23456,
        ),
        JobKind(
            "TF", _v1("tfjobs", "TFJob"), TRAINING_OPERATOR,
            "tfReplicaSpecs", "tensorflow", _led_by("Chief"), port=2222,
        ),
        JobKind(
            "XGBoost", _v1("xgboostjobs", "XGBoostJob"), TRAINING_OPERATOR,
            "xgbReplicaSpecs", "xgboost", _led_by("Master"), port=9999,
        ),
        JobKind(
            "JAX", _v1("jaxjobs", "JAXJob"), TRAINING_OPERATOR,
            "jaxReplicaSpecs", "jax", {"worker": "Worker"}, port=6666,
        ),
        JobKind(
            "MPI", Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob"), MPI_OPERATOR,
            "mpiReplicaSpecs", "mpi", _led_by("Launcher"), keeps_running=False,
        ),
        JobSetKind(
            "MXNet", _JOB_SET, JOBSET,
            "replicatedJobs", "mxnet", {role: role for role in ("scheduler", "server", "worker")},
            port=9091, is_extra=True,
        ),
    )
}  # fmt: skip
"""By the framework's name in the API (`gangline.spec.frameworks`)."""
MEETING = JobSetKind(
    "MPI", _JOB_SET, JOBSET, "replicatedJobs", "mpi",
    {"master": "launcher", "worker": "worker"}, port=9091, is_extra=True, launcher=GLOO,
)  # fmt: skip
"""Ranks of Horovod over Gloo: pods that nobody reaches by SSH need no operator of MPI."""
SETS: tuple[JobKind, ...] = (KINDS["MXNet"], MEETING)


def kind_of(framework: str, launcher: str | None = "") -> JobKind:
    """What a workload of the framework becomes; KeyError for a framework that is not known."""
    return MEETING if framework == "MPI" and launcher == GLOO else KINDS[framework]


def kind_made(rendered: Mapping[str, Any]) -> JobKind | None:
    """What a rendered form is of."""
    framework = str(rendered.get("framework", ""))
    return kind_of(framework, rendered.get("launcher")) if framework in KINDS else None


ROLES: Mapping[str, str] = {
    native.lower(): role for kind in KINDS.values() for role, native in kind.roles.items()
}
"""The role of a gang by what operators call it in labels."""
JOB_GROUPS = tuple(dict.fromkeys(kind.resource.group for kind in KINDS.values()))


def parts_of(job: Mapping[str, Any]) -> Iterator[tuple[str, int, Any]]:
    """The roles of a job object of any kind, see `JobKind.parts`."""
    for kind in KINDS.values():
        if kind.replicas in (job.get("spec") or {}):
            yield from kind.parts(job)
