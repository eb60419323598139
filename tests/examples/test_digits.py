"""The shipped examples train for real: the loss falls, the ranks agree, the accuracy is right."""

from pathlib import Path

import pytest

from tests.support.example_gangs import (
    EXAMPLES,
    SYSTEM_PYTHON,
    Training,
    digits_csv,
    examples_python,
    gang,
    text,
    train,
)
from tests.support.waiting import wait_for


def assert_learned(training: Training, *, ranks: int, epochs: int, loss: float) -> None:
    """Check everything that does not depend on the framework."""
    assert set(training.exit_codes) == {0}, training.output
    assert training.joined == {(rank, ranks) for rank in range(ranks)}
    assert training.epochs == list(range(epochs))
    assert training.losses[-1] < loss < training.losses[0] / 5
    assert set(training.digests) == set(range(ranks))
    assert len(set(training.digests.values())) == 1


def test_xgboost_ranks_end_with_one_model(tmp_path: Path) -> None:
    """Takes some 5 s: three processes import XGBoost and scikit-learn and train."""
    training = train(
        framework="XGBoost",
        num_workers=2,
        command=[examples_python(), EXAMPLES / "digits_xgboost.py"],
        folder=tmp_path,
    )
    assert_learned(training, ranks=3, epochs=40, loss=0.02)
    assert training.accuracy >= 0.94


@pytest.mark.thorough
def test_xgboost_trains_as_long_as_it_is_told(tmp_path: Path) -> None:
    """Takes some 4 s: the processes import XGBoost and scikit-learn."""
    options = ["--rounds", "3", "--depth", "2", "--eta", "0.5", "--seed", "1"]
    training = train(
        framework="XGBoost",
        num_workers=1,
        command=[examples_python(), EXAMPLES / "digits_xgboost.py", *options],
        folder=tmp_path,
    )
    assert training.epochs == [0, 1, 2], training.output
    assert training.losses == sorted(training.losses, reverse=True)
    assert len(set(training.digests.values())) == 1


@pytest.mark.needs_torch
def test_pytorch_ranks_end_with_the_same_parameters(tmp_path: Path) -> None:
    """Takes some 5 s: three processes import PyTorch and train."""
    training = train(
        framework="PyTorch",
        num_workers=2,
        command=[SYSTEM_PYTHON, EXAMPLES / "digits_ddp.py", "--data", digits_csv()],
        folder=tmp_path,
    )
    assert_learned(training, ranks=3, epochs=15, loss=0.12)
    assert training.accuracy >= 0.95


@pytest.mark.thorough
@pytest.mark.needs_torch
def test_a_rank_that_is_killed_ends_the_pytorch_gang(tmp_path: Path) -> None:
    """Takes some 8 s: the other ranks notice after a few seconds."""
    options = ["--epochs", "100000", "--data", str(digits_csv())]
    with gang(
        framework="PyTorch",
        num_workers=2,
        command=[SYSTEM_PYTHON, EXAMPLES / "digits_ddp.py", *options],
        folder=tmp_path,
    ) as started:
        wait_for(lambda: "epoch 1 " in text(tmp_path), seconds=60)
        started[1].kill()
        wait_for(lambda: all(process.poll() is not None for process in started), seconds=60)
        codes = [process.returncode for process in started]
    assert codes[1] == -9
    assert 0 not in codes
    assert "accuracy" not in text(tmp_path)


@pytest.mark.needs_torch
def test_pytorch_without_the_data_says_what_to_do(tmp_path: Path) -> None:
    training = train(
        framework="PyTorch",
        num_workers=0,
        command=[SYSTEM_PYTHON, "-I", "-c", run_without_sklearn(EXAMPLES / "digits_ddp.py")],
        folder=tmp_path,
    )
    assert training.exit_codes == (1,)
    assert "name its digits.csv.gz with --data" in training.output


@pytest.mark.needs_mpi
def test_mpi_ranks_end_with_the_same_parameters(tmp_path: Path) -> None:
    training = train(
        framework="MPI",
        num_workers=3,
        command=["mpirun", examples_python(), EXAMPLES / "digits_mpi_sgd.py"],
        folder=tmp_path,
    )
    assert_learned(training, ranks=3, epochs=20, loss=0.15)
    assert training.accuracy >= 0.94
    assert "[1,2]<stdout>:rank 2 parameters sha256" in training.output


@pytest.mark.needs_mpi
def test_mpi_ends_the_gang_when_a_rank_fails(tmp_path: Path) -> None:
    training = train(
        framework="MPI",
        num_workers=2,
        command=["mpirun", examples_python(), EXAMPLES / "digits_mpi_sgd.py", "--batch", "5000"],
        folder=tmp_path,
    )
    assert training.exit_codes == (1,)
    assert "--batch 5000 is too large for 2 ranks." in training.output


@pytest.mark.thorough
def test_jax_processes_end_with_the_same_parameters(tmp_path: Path) -> None:
    """Takes some 6 s: two processes import JAX, which compiles the step."""
    training = train(
        framework="JAX",
        num_workers=1,
        command=[examples_python(), EXAMPLES / "digits_jax.py"],
        folder=tmp_path,
    )
    assert_learned(training, ranks=2, epochs=15, loss=0.1)
    assert training.accuracy >= 0.95


def run_without_sklearn(program: Path) -> str:
    """Return Python code that runs ``program`` as if scikit-learn were not installed."""
    return (
        "import importlib.util, runpy\n"
        "real = importlib.util.find_spec\n"
        "find = lambda name, *rest: None if name == 'sklearn' else real(name, *rest)\n"
        "importlib.util.find_spec = find\n"
        f"runpy.run_path({str(program)!r}, run_name='__main__')\n"
    )
