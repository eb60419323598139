"""The environment contract of each framework on the local cluster."""

import json
from typing import Any

import pytest

from gangline.drivers.local.frameworks import (
    CONTRACTS,
    hostfile_text,
    replica_environment,
)
from gangline.spec.frameworks import PROGRAMS

PORTS = (16100, 16101, 16102)


def environment(framework: str, **changes: Any) -> dict[str, str]:
    arguments: dict[str, Any] = {
        "framework": framework,
        "configuration": "workersAndMaster",
        "rank": 2,
        "world_size": 3,
        "role": "worker",
        "index": 1,
        "num_workers": 2,
        "master_addr": "127.0.0.1",
        "master_port": 16100,
        "cpus": 1.0,
        "ports": PORTS,
    }
    return replica_environment(**(arguments | changes))


@pytest.mark.parametrize("framework", ["PyTorch", "TF", "XGBoost", "JAX"])
def test_every_rank_gets_the_common_contract(framework: str) -> None:
    found = environment(framework)
    expected = {
        "RANK": "2",
        "WORLD_SIZE": "3",
        "LOCAL_RANK": "0",
        "NODE_RANK": "2",
        "GROUP_RANK": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "16100",
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "PYTHONUNBUFFERED": "1",
        "GANGLINE_REPLICA": "worker-1",
        "GANGLINE_RANK_ADDRS": "127.0.0.1 127.0.0.1 127.0.0.1",
    }
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("framework", "expected"),
    [
        (
            "PyTorch",
            {
                "PET_NNODES": "3",
                "PET_NODE_RANK": "2",
                "PET_NPROC_PER_NODE": "1",
                "PET_MASTER_ADDR": "127.0.0.1",
                "PET_MASTER_PORT": "16100",
            },
        ),
        (
            "XGBoost",
            {
                "DMLC_TRACKER_URI": "127.0.0.1",
                "DMLC_TRACKER_PORT": "16100",
                "DMLC_TASK_ID": "0002",
                "DMLC_NUM_WORKER": "3",
            },
        ),
        (
            "JAX",
            {
                "COORDINATOR_ADDRESS": "127.0.0.1",
                "COORDINATOR_PORT": "16100",
                "NUM_PROCESSES": "3",
                "PROCESS_ID": "2",
            },
        ),
    ],
)
def test_a_framework_adds_its_own_variables_and_no_other_framework_s(
    framework: str, expected: dict[str, str]
) -> None:
    found = environment(framework)
    own = ("PET_", "DMLC_", "COORDINATOR_", "NUM_PROC", "PROCESS_", "TF_", "OMPI_", "PRTE_")
    assert {name: value for name, value in found.items() if name.startswith(own)} == expected


@pytest.mark.parametrize(
    ("changes", "cluster", "task"),
    [
        (
            {"rank": 0, "role": "master", "index": 0},
            {"chief": ["127.0.0.1:16100"], "worker": ["127.0.0.1:16101", "127.0.0.1:16102"]},
            {"type": "chief", "index": 0},
        ),
        (
            {"rank": 2, "role": "worker", "index": 1},
            {"chief": ["127.0.0.1:16100"], "worker": ["127.0.0.1:16101", "127.0.0.1:16102"]},
            {"type": "worker", "index": 1},
        ),
        (
            {"configuration": "workersOnly", "rank": 2, "index": 2, "num_workers": 3},
            {"worker": ["127.0.0.1:16100", "127.0.0.1:16101", "127.0.0.1:16102"]},
            {"type": "worker", "index": 2},
        ),
    ],
)
def test_tensorflow_gets_the_addresses_of_all_and_its_own_place(
    changes: dict[str, Any], cluster: dict[str, list[str]], task: dict[str, Any]
) -> None:
    config = json.loads(environment("TF", **changes)["TF_CONFIG"])
    assert config == {"cluster": cluster, "task": task}


def test_tensorflow_without_a_port_for_every_rank_is_a_bug() -> None:
    with pytest.raises(ValueError, match="3 ranks need as many ports, not 2"):
        environment("TF", ports=PORTS[:2])


def launcher(**changes: Any) -> dict[str, str]:
    place = {"rank": 0, "world_size": 2, "role": "master", "index": 0, "hostfile": "/run/x/hosts"}
    return environment("MPI", **(place | changes))


def test_the_mpi_launcher_finds_the_host_file_and_the_number_of_workers() -> None:
    found = launcher()
    assert found["RUNAI_MPI_NUM_WORKERS"] == "2"
    assert found["OMPI_MCA_orte_default_hostfile"] == "/run/x/hosts"
    assert found["OMPI_MCA_orte_tag_output"] == "1"
    assert found["OMPI_MCA_rmaps_base_oversubscribe"] == "1"
    assert found["OMPI_MCA_mpi_yield_when_idle"] == "1"


def test_the_mpi_launcher_passes_no_rank_on_to_its_ranks() -> None:
    assert not {"RANK", "WORLD_SIZE", "LOCAL_RANK", "GANGLINE_RANK"} & set(launcher())


def test_mpi_ranks_write_whole_lines_for_mpirun_to_tag() -> None:
    assert "PYTHONUNBUFFERED" not in launcher()


def test_only_root_is_allowed_to_run_mpi_as_root() -> None:
    names = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}
    assert not names & set(launcher())
    assert names <= set(launcher(is_root=True))


@pytest.mark.parametrize(
    ("cpus", "threads"), [(0.1, "1"), (0.99, "1"), (1.0, "1"), (2.5, "2"), (8.0, "8")]
)
def test_threads_are_whole_cpus_and_at_least_one(cpus: float, threads: str) -> None:
    assert environment("PyTorch", cpus=cpus)["OMP_NUM_THREADS"] == threads


def test_identifiers_are_passed_on_and_cannot_change_the_contract() -> None:
    identifiers = {"RUNAI_JOB_NAME": "digits", "GANGLINE_PROJECT": "vision", "RANK": "99"}
    found = environment("PyTorch", identifiers=identifiers)
    assert (found["RUNAI_JOB_NAME"], found["GANGLINE_PROJECT"]) == ("digits", "vision")
    assert found["RANK"] == "2"


def test_every_framework_of_the_spec_has_a_contract() -> None:
    assert set(CONTRACTS) == set(PROGRAMS)


def test_the_host_file_has_a_slot_for_every_worker() -> None:
    assert hostfile_text(num_workers=3) == "localhost slots=3\n"
