"""The environment that every process of a framework receives on this machine.

The variables are those that the frameworks' own operators and launchers set, so that a program runs
unchanged here, on Slurm and on Kubernetes. Framework and configuration names are those of the API.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gangline.drivers.horovod import meeting_variables, rank_variables
from gangline.spec.frameworks import FRAMEWORKS, WORKERS_ONLY, interfaces, key_value_store, role_of
from gangline.spec.launcher_commands import GLOO

WORKER = "worker"
INTERFACE = "lo"
HOST_NAME = "localhost"
"""Of this machine in the plan of Horovod's ranks."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What the contracts below know about the process they write variables for."""

    configuration: str
    rank: int
    world_size: int
    role: str
    index: int
    num_workers: int
    num_servers: int
    interface: str
    master_addr: str
    master_port: int
    threads: str
    ports: Sequence[int]
    hostfile: str
    launcher: str
    is_root: bool


def replica_environment(
    *,
    framework: str,
    configuration: str,
    rank: int,
    world_size: int,
    role: str,
    index: int,
    num_workers: int,
    num_servers: int = 0,
    interface: str = "",
    master_addr: str,
    master_port: int,
    cpus: float,
    ports: Sequence[int] = (),
    hostfile: str = "",
    launcher: str = "",
    is_root: bool = False,
    identifiers: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the variables of one replica, without PATH, HOME and the like and the person's own.

    ``cpus`` are those of one rank: under MPI a worker's, since the ranks inherit the launcher's
    variables. ``ports`` are the gang's in rank order; only TF needs them. ``hostfile``,
    ``launcher`` and ``is_root`` concern MPI. ``identifiers`` are the workload's GANGLINE_* and
    RUNAI_* variables.
    """
    place = _Place(
        configuration=configuration,
        rank=rank,
        world_size=world_size,
        role=role,
        index=index,
        num_workers=num_workers,
        num_servers=num_servers,
        interface=interface or INTERFACE,
        master_addr=master_addr,
        master_port=master_port,
        threads=str(max(1, int(cpus))),
        ports=ports,
        hostfile=hostfile,
        launcher=launcher,
        is_root=is_root,
    )
    common = _machine(place) | (interfaces(interface) if interface else {})
    known = FRAMEWORKS[framework]
    if not known.launches and role_of(framework, role).has_rank:
        common |= _rank(place)
    return dict(identifiers or {}) | common | CONTRACTS[framework](place)


def hostfile_text(*, num_workers: int) -> str:
    """Return Open MPI's host file: this machine with one slot per worker."""
    return f"localhost slots={num_workers}\n"


def _machine(place: _Place) -> dict[str, str]:
    """Variables of every process on this machine, whatever the framework."""
    return {
        "OMP_NUM_THREADS": place.threads,
        "GLOO_SOCKET_IFNAME": place.interface,
        "NCCL_SOCKET_IFNAME": place.interface,
        "GANGLINE_ROLE": place.role,
        "GANGLINE_REPLICA": f"{place.role}-{place.index}",
        "GANGLINE_NUM_WORKERS": str(place.num_workers),
    }


def _rank(place: _Place) -> dict[str, str]:
    """The common contract of all frameworks whose ranks we start: one rank per node."""
    return {
        "RANK": str(place.rank),
        "WORLD_SIZE": str(place.world_size),
        "LOCAL_RANK": "0",
        "NODE_RANK": str(place.rank),
        "GROUP_RANK": str(place.rank),
        "MASTER_ADDR": place.master_addr,
        "MASTER_PORT": str(place.master_port),
        "PYTHONUNBUFFERED": "1",
        "GANGLINE_RANK": str(place.rank),
        "GANGLINE_RANK_ADDRS": " ".join([place.master_addr] * place.world_size),
    }


def _pytorch(place: _Place) -> dict[str, str]:
    # A bare `torchrun train.py` reads PET_*; one process per node, as for a plain script.
    return {
        "PET_NNODES": str(place.world_size),
        "PET_NODE_RANK": str(place.rank),
        "PET_NPROC_PER_NODE": "1",
        "PET_MASTER_ADDR": place.master_addr,
        "PET_MASTER_PORT": str(place.master_port),
    }


def _tensorflow(place: _Place) -> dict[str, str]:
    if len(place.ports) < place.world_size:
        raise ValueError(f"{place.world_size} ranks need as many ports, not {len(place.ports)}")
    addresses = [f"{place.master_addr}:{port}" for port in place.ports[: place.world_size]]
    if place.configuration == WORKERS_ONLY:
        cluster = {"worker": addresses}
    else:
        cluster = {"chief": addresses[:1], "worker": addresses[1:]}
    task = {"type": "chief" if place.role != WORKER else "worker", "index": place.index}
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}


def _xgboost(place: _Place) -> dict[str, str]:
    return {
        "DMLC_TRACKER_URI": place.master_addr,
        "DMLC_TRACKER_PORT": str(place.master_port),
        # The tracker orders ranks by this text, so it is padded.
        "DMLC_TASK_ID": f"{place.rank:04d}",
        "DMLC_NUM_WORKER": str(place.world_size),
    }


def _jax(place: _Place) -> dict[str, str]:
    return {
        "COORDINATOR_ADDRESS": place.master_addr,
        "COORDINATOR_PORT": str(place.master_port),
        "NUM_PROCESSES": str(place.world_size),
        "PROCESS_ID": str(place.rank),
    }


def _mxnet(place: _Place) -> dict[str, str]:
    return {
        **key_value_store(place.role, servers=place.num_servers, workers=place.num_workers),
        "DMLC_INTERFACE": place.interface,
        "DMLC_PS_ROOT_URI": place.master_addr,
        "DMLC_PS_ROOT_PORT": str(place.master_port),
        "PYTHONUNBUFFERED": "1",
    }


def _mpi(place: _Place) -> dict[str, str]:
    """Let an unmodified ``mpirun`` start tagged ranks here, also more of them than cores.

    No RANK and WORLD_SIZE: the ranks inherit these variables, and all would believe to be rank 0.
    No PYTHONUNBUFFERED: ranks write to a terminal, which is prompt, and unbuffered Python writes a
    line in pieces, into which mpirun puts its tags.
    """
    if place.launcher == GLOO:
        return _over_gloo(place)
    variables = {
        "RUNAI_MPI_NUM_WORKERS": str(place.num_workers),
        "GANGLINE_HOSTFILE": place.hostfile,
        "HOROVOD_GLOO_IFACE": place.interface,
        "OMPI_MCA_orte_default_hostfile": place.hostfile,
        "OMPI_MCA_orte_tag_output": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        # Otherwise every gang on the machine binds its ranks to the same first cores.
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        # A waiting rank lets others work: with more ranks than cores it is ten times faster.
        "OMPI_MCA_mpi_yield_when_idle": "1",
        # The same for Open MPI 5, which knows no variable for tagged output.
        "PRTE_MCA_prte_default_hostfile": place.hostfile,
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
    }
    if place.is_root:
        variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return variables


def _over_gloo(place: _Place) -> dict[str, str]:
    """All ranks are on this host; none of them is started by another."""
    variables = {"RUNAI_MPI_NUM_WORKERS": str(place.num_workers), "PYTHONUNBUFFERED": "1"}
    if place.role != WORKER:
        return variables
    here = (str(place.index), place.num_workers)
    return {
        **variables,
        **rank_variables(rank=here[0], size=here[1], local=here, cross=("0", 1), host=HOST_NAME),
        **meeting_variables(place.master_addr, str(place.master_port)),
        "HOROVOD_GLOO_IFACE": place.interface,
    }


CONTRACTS: Mapping[str, Callable[[_Place], dict[str, str]]] = {
    "PyTorch": _pytorch,
    "TF": _tensorflow,
    "XGBoost": _xgboost,
    "MPI": _mpi,
    "JAX": _jax,
    "MXNet": _mxnet,
}
"""What each framework of the spec adds to the common variables."""
