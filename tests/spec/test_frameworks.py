"""Which framework runs in which configuration."""

import pytest

from gangline.spec.frameworks import (
    FRAMEWORKS,
    WORKERS_AND_MASTER,
    WORKERS_ONLY,
    configuration_problem,
    has_gpus,
)


@pytest.mark.parametrize(
    ("framework", "master", "alone"),
    [
        ("PyTorch", True, True),
        ("TF", True, True),
        ("XGBoost", True, False),
        ("MPI", True, False),
        ("JAX", False, True),
    ],
)
def test_the_framework_matrix(framework: str, master: bool, alone: bool) -> None:
    assert (configuration_problem(framework, WORKERS_AND_MASTER) is None) is master
    assert (configuration_problem(framework, WORKERS_ONLY) is None) is alone


def test_only_a_launcher_has_no_gpus() -> None:
    without = {
        (name, role)
        for name in FRAMEWORKS
        for role in ("master", "worker")
        if not has_gpus(name, role)
    }
    assert without == {("MPI", "master")}


def test_a_refused_configuration_says_why() -> None:
    assert configuration_problem("MPI", WORKERS_ONLY) == (
        "cannot be “Workers only”: MPI needs a launcher"
    )
    assert configuration_problem("JAX", WORKERS_AND_MASTER) == (
        "cannot be “Workers & master”: JAX has no master"
    )


@pytest.mark.parametrize("configuration", ["", "workers", None, [], 5])
def test_an_unknown_configuration(configuration: object) -> None:
    assert configuration_problem("PyTorch", configuration) == (
        "must be one of workersAndMaster or workersOnly"
    )


@pytest.mark.parametrize("framework", ["Torch", None, []])
def test_the_spec_judges_an_unknown_framework(framework: object) -> None:
    assert configuration_problem(framework, WORKERS_ONLY) is None


def test_only_the_launcher_of_mpi_does_not_train() -> None:
    assert [f.name for f in FRAMEWORKS.values() if f.launches] == ["MPI"]
