"""What every process learns from its environment on a cluster, and what the operators tell it.

The operators append their variables to ours, and the last of two with one name counts: a name that
they use is therefore refused to people, by `gangline.spec.reserved` or by `reserved` here.
https://www.kubeflow.org/docs/components/trainer/legacy-v1/reference/distributed-training/
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gangline.drivers import horovod, tools
from gangline.drivers.base import GPU_COUNT, Part, Submission
from gangline.spec.environment import EnvironmentVariable
from gangline.spec.frameworks import WORKERS_ONLY, GangRole, interfaces, key_value_store

from . import labels, starts
from .kinds import JobKind

_WORKER_LIST = "the training operator sets it to the addresses of the workers"
_OPEN_MPI = "the MPI operator sets it so that mpirun finds the workers"
_OPERATOR_SETS: Mapping[str, Mapping[str, str]] = {
    "XGBoost": {"WORKER_ADDRS": _WORKER_LIST, "WORKER_PORT": _WORKER_LIST},
    "MPI": {
        "K_MPI_JOB_ROLE": "the MPI operator sets it to the role of the pod",
        "OMPI_MCA_orte_keep_fqdn_hostnames": _OPEN_MPI,
        "OMPI_MCA_orte_set_default_slots": _OPEN_MPI,
        "OMPI_MCA_plm_rsh_args": _OPEN_MPI,
    },
}


def reserved(framework: str, name: str) -> str | None:
    """Why people may not set this variable for this framework on a cluster, or None."""
    return _OPERATOR_SETS.get(framework, {}).get(name)


def own(items: Sequence[EnvironmentVariable]) -> list[dict[str, Any]]:
    """People's variables, each with its value or with the reference to where the value is.

    What a reference leads to must be there: without it the pod waits, and says so.
    """
    return [{"name": item.name, **_source(item)} for item in items]


def _source(item: EnvironmentVariable) -> dict[str, Any]:
    if item.secret is not None:
        return {"valueFrom": {"secretKeyRef": item.secret.model_dump()}}
    if item.config_map is not None:
        return {"valueFrom": {"configMapKeyRef": item.config_map.model_dump()}}
    if item.pod_field_ref is not None:
        return {"valueFrom": {"fieldRef": {"fieldPath": item.pod_field_ref.path}}}
    return {"value": item.value or ""}


@dataclass(frozen=True, slots=True)
class _Field:
    """A value that the cluster fills in when it starts the pod."""

    path: str


_Values = Mapping[str, str | _Field]


def variables(
    submission: Submission,
    kind: JobKind,
    part: Part,
    *,
    interface: str = "",
    gpu_limits: Mapping[str, str],
    cores: float,
    own: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Our variables for a pod of ``part``, then the person's ``own``, which may refer to ours.

    ``cores`` are what the pod requests. Own ones win where both exist (``OMP_NUM_THREADS``).
    """
    ours: dict[str, str | _Field] = {
        **submission.identifiers,
        **{tools.variable(one.name): str(one.port) for one in tools.all_of(part.spec)},
        **_pod(submission, kind, part.role),
        **gpu_limits,
        "OMP_NUM_THREADS": str(max(1, int(cores))),
        **_contract(submission, kind, part.role),
        **(interfaces(interface) if interface else {}),
    }
    taken = {item["name"] for item in own}
    return [*(_entry(name, value) for name, value in ours.items() if name not in taken), *own]


def _entry(name: str, value: str | _Field) -> dict[str, Any]:
    if isinstance(value, _Field):
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": value.path}}}
    return {"name": name, "value": value}


def _pod(submission: Submission, kind: JobKind, role: GangRole) -> _Values:
    # A launcher has no index; a master is the only one.
    which: _Values = {"GANGLINE_REPLICA": f"{role.name}-0"}
    if role.counts:
        which = {
            "GANGLINE_INDEX": _index(kind),
            "GANGLINE_REPLICA": f"{role.name}-$(GANGLINE_INDEX)",
        }
    return {
        "GANGLINE_ROLE": role.name,
        **which,
        "GANGLINE_NUM_WORKERS": str(submission.num_workers),
        GPU_COUNT: str(submission.gpus_of(role.name)),
        "GANGLINE_ATTEMPT": _Field(f"metadata.labels['{labels.ATTEMPT}']"),
        "NODE_NAME": _Field("spec.nodeName"),
        "POD_NAME": _Field("metadata.name"),
    }


def _index(kind: JobKind) -> _Field:
    return _Field(f"metadata.labels['{kind.index_label}']")


def _contract(submission: Submission, kind: JobKind, role: GangRole) -> _Values:
    """What the operator leaves out of the framework's variables."""
    match submission.framework:
        case "MPI" if kind.launcher:
            return _over_gloo(submission, kind, role)
        case "MPI":
            return _mpi(submission)
        case "TF":
            return {"PYTHONUNBUFFERED": "1"}  # all else is in TF_CONFIG
        case "MXNet":
            return _mxnet(submission, kind, role)
        case "JAX":
            return _ranks_by_index(submission, kind)
        case "PyTorch" if submission.configuration == WORKERS_ONLY:
            return _torch_without_master(submission, kind)
        case _:
            return {"LOCAL_RANK": "0"}  # torchrun sets its own for each process that it starts


def _ranks_by_index(submission: Submission, kind: JobKind) -> dict[str, str | _Field]:
    """The rank of a worker is its index, and worker 0 has a Service of its own."""
    index = _index(kind)
    return {
        "MASTER_ADDR": f"{submission.name}-{kind.roles['worker'].lower()}-0",
        "MASTER_PORT": str(kind.port),
        "WORLD_SIZE": str(submission.num_workers),
        "RANK": index,
        "NODE_RANK": index,
        "GROUP_RANK": index,
        "LOCAL_RANK": "0",
    }


def _torch_without_master(submission: Submission, kind: JobKind) -> _Values:
    """The operator gives addresses and ranks only where there is a master."""
    ranks = _ranks_by_index(submission, kind)
    return {
        **ranks,
        "PET_MASTER_ADDR": ranks["MASTER_ADDR"],
        "PET_MASTER_PORT": ranks["MASTER_PORT"],
        "PET_NODE_RANK": ranks["RANK"],
        "PYTHONUNBUFFERED": "1",
    }


def _mxnet(submission: Submission, kind: JobKind, role: GangRole) -> _Values:
    pods = {part.role.name: part.pods for part in submission.parts}
    name = submission.name
    return {
        **key_value_store(role.name, servers=pods.get("server", 0), workers=pods["worker"]),
        "DMLC_PS_ROOT_URI": f"{name}-{kind.roles['scheduler']}-0-0.{name}",
        "DMLC_PS_ROOT_PORT": str(kind.port),
        # Of several addresses, the one at which the others reach the pod.
        "DMLC_NODE_HOST": _Field("status.podIP"),
        "PYTHONUNBUFFERED": "1",
    }


def _over_gloo(submission: Submission, kind: JobKind, role: GangRole) -> _Values:
    """Each worker is a rank on a host of its own, whose index is its number."""
    told = {"RUNAI_MPI_NUM_WORKERS": str(submission.num_workers), "PYTHONUNBUFFERED": "1"}
    if role.launches:
        return told
    index, count = "$(GANGLINE_INDEX)", submission.num_workers
    ranks = horovod.rank_variables(
        rank=index,
        size=count,
        local=("0", 1),
        cross=(index, count),
        host=starts.host(submission, kind, index),
    )
    where = horovod.meeting_variables(starts.meeting(submission, kind), str(kind.port))
    return {**told, **ranks, **where}


def _mpi(submission: Submission) -> _Values:
    return {
        "GANGLINE_HOSTFILE": starts.HOSTFILE,
        "RUNAI_MPI_NUM_WORKERS": str(submission.num_workers),
        "OMPI_MCA_orte_tag_output": "1",
        # Containers run as root unless an image says otherwise, and mpirun would refuse.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
