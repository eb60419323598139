"""Which framework runs in which configuration."""

import pytest

from gangline.spec.frameworks import (
    FRAMEWORKS,
    WORKERS_AND_MASTER,
    WORKERS_ONLY,
    configuration_problem,
    has_gpus,
    places,
)


@pytest.mark.parametrize(
    ("framework", "master", "alone"),
    [
        ("PyTorch", True, True),
        ("TF", True, True),
        ("XGBoost", True, False),
        ("MPI", True, False),
        ("JAX", False, True),
        ("MXNet", True, False),
        ("Script", False, True),
    ],
)
def test_the_framework_matrix(framework: str, master: bool, alone: bool) -> None:
    assert (configuration_problem(framework, WORKERS_AND_MASTER) is None) is master
    assert (configuration_problem(framework, WORKERS_ONLY) is None) is alone


def test_only_launchers_and_servers_have_no_gpus() -> None:
    without = {
        (name, role)
        for name in FRAMEWORKS
        for role in ("master", "worker")
        if not has_gpus(name, role)
    }
    assert without == {("MPI", "master"), ("MXNet", "master")}


def test_the_gang_of_mxnet() -> None:
    """Its servers are as many as the workers unless somebody says otherwise."""
    roles = FRAMEWORKS["MXNet"].gang(WORKERS_AND_MASTER)

    def gang(**workers: object) -> list[tuple[str, int]]:
        return [(role.name, role.count(workers)) for role in roles]

    assert gang(numWorkers=3) == [("scheduler", 1), ("server", 3), ("worker", 3)]
    assert gang(numWorkers=3, numServers=2)[1] == ("server", 2)
    assert [number for _, _, number in places((role, 1) for role in roles)] == [0, 1, 2]
    assert not any(role.has_rank for role in roles)
    assert FRAMEWORKS["MXNet"].leader.title == "Servers"
    words = [FRAMEWORKS[f].roles_in_words(WORKERS_AND_MASTER) for f in ("MXNet", "TF", "JAX")]
    assert words == ["Workers, servers & scheduler", *["Workers & master"] * 2]
    values = {"image": "a", "compute.cpuCoreRequest": 8, "exposedUrls": []}
    scheduler, server, _ = (role.values(values) for role in roles)
    assert (scheduler["image"], scheduler["compute.cpuCoreRequest"]) == ("a", 0.1)
    assert "exposedUrls" not in scheduler
    assert server == values


def test_a_refused_configuration_says_why() -> None:
    needs, has_none = (
        configuration_problem("MPI", WORKERS_ONLY),
        configuration_problem("JAX", WORKERS_AND_MASTER),
    )
    assert needs
    assert needs.message == "cannot be “Workers only”: MPI needs a launcher"
    assert has_none
    assert has_none.message == "cannot be “Workers & master”: JAX has no master"


@pytest.mark.parametrize("configuration", ["", "workers", None, [], 5])
def test_an_unknown_configuration(configuration: object) -> None:
    problem = configuration_problem("PyTorch", configuration)
    assert problem
    assert problem.message == "must be one of workersAndMaster or workersOnly"


@pytest.mark.parametrize("framework", ["Torch", None, []])
def test_the_spec_judges_an_unknown_framework(framework: object) -> None:
    assert configuration_problem(framework, WORKERS_ONLY) is None


def test_only_the_launcher_of_mpi_does_not_train() -> None:
    assert [f.name for f in FRAMEWORKS.values() if f.launches] == ["MPI"]
