"""Every framework on Slurm as people run it: two workers, and a master that asks for more.

The form submits it, as a browser without scripts does. What is real here is the frameworks
themselves; the contract of each is in test_slurm_gang.
"""

import fcntl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gangline.spec.frameworks import WORKERS_AND_MASTER, WORKERS_ONLY
from tests.beds.slurm.lab import Lab
from tests.support import slurm_engine
from tests.support.example_gangs import (
    EXAMPLES,
    ROOT,
    SYSTEM_PYTHON,
    digests,
    digits_csv,
    examples_python,
    falls,
)
from tests.support.horovod_runtime import horovod_python
from tests.support.mxnet_runtime import assert_learned, mxnet_python
from tests.support.slurm_engine import SlurmEngine

pytestmark = [pytest.mark.needs_slurm, pytest.mark.thorough]
OWN = {"cpuCoreRequest": 2, "cpuMemoryRequest": "1200M"}


@pytest.fixture
def engine(slurm_lab: Lab, transactional_db: None) -> Iterator[SlurmEngine]:
    with slurm_engine.engine_on(slurm_lab) as made:
        yield made


def tensorflow_python() -> Path:
    """The interpreter of TensorFlow's runtime, which is installed where it is first needed."""
    python = ROOT / "var/runtimes/tensorflow/bin/python"
    with (ROOT / "var/runtimes/tensorflow.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not python.exists():
            subprocess.run([ROOT / "scripts/install.sh", "tensorflow"], check=True, cwd=ROOT)
    return python


def _torch() -> str:
    return f"{SYSTEM_PYTHON} {EXAMPLES / 'digits_ddp.py'} --data {digits_csv()} --epochs 3"


def _torchrun() -> str:
    # The agent of this old release fails under Python 3.11 unless some rank, here none, redirects.
    agent = f"{SYSTEM_PYTHON} -m torch.distributed.run --redirects 9:3 --tee 9:3"
    return _torch().replace(str(SYSTEM_PYTHON), agent, 1)


def _jax() -> str:
    return f"{examples_python()} {EXAMPLES / 'digits_jax.py'} --epochs 3"


def _tensorflow() -> str:
    data = f"--data {digits_csv()}"
    return f"{tensorflow_python()} {EXAMPLES / 'digits_tensorflow.py'} {data} --epochs 3"


def _xgboost() -> str:
    return f"{examples_python()} {EXAMPLES / 'digits_xgboost.py'} --rounds 4"


TRAININGS: dict[str, tuple[str, Callable[[], str], tuple[bool, ...]]] = {
    "PyTorch": ("PyTorch", _torch, (False, True)),
    "torchrun": ("PyTorch", _torchrun, (False, True)),
    "JAX": ("JAX", _jax, (False,)),
    "TensorFlow": ("TF", _tensorflow, (False, True)),
    "XGBoost": ("XGBoost", _xgboost, (True,)),
}
"""Framework, program, and whether it has a master: JAX has none, and XGBoost always."""


@pytest.mark.needs_torch
@pytest.mark.parametrize(
    ("training", "has_own_master"),
    [(name, has_own) for name, (*_, ways) in TRAININGS.items() for has_own in ways],
)
def test_ranks_train_together_and_agree(
    engine: SlurmEngine, training: str, has_own_master: bool
) -> None:
    framework, command, _ = TRAININGS[training]
    workload = engine.submit_by_form(
        "digits",
        framework=framework,
        configuration=WORKERS_AND_MASTER if has_own_master else WORKERS_ONLY,
        worker={"command": command(), "networkInterface": "lo"},
        master=slurm_engine.typed(OWN) if has_own_master else None,
    )
    engine.until(workload, "Completed", seconds=240)
    names = ["master-0", "worker-0", "worker-1"][not has_own_master :]
    texts = [engine.log(workload, name) for name in names]
    assert any(falls(text) for text in texts), texts
    told = [found for text in texts for found in digests(text)]
    assert len(told) == len(names)
    assert len(set(told)) == 1


@pytest.mark.needs_mpi
@pytest.mark.parametrize("launcher", ["mpirun", "srun --mpi=pmix"])
def test_ranks_of_mpi_that_a_master_of_its_own_starts(engine: SlurmEngine, launcher: str) -> None:
    program = f"{examples_python()} {EXAMPLES / 'digits_mpi_sgd.py'} --epochs 3"
    workload = engine.submit_by_form(
        "digits",
        framework="MPI",
        configuration=WORKERS_AND_MASTER,
        worker={"command": f"{launcher} {program}"},
        master=slurm_engine.typed(OWN),
    )
    engine.until(workload, "Completed", seconds=240)
    text = engine.log(workload, "master-0")
    assert falls(text)
    assert len(digests(text)) >= 2
    assert len(set(digests(text))) == 1


@pytest.mark.needs_torch
@pytest.mark.needs_mpi
@pytest.mark.parametrize("has_own_master", [False, True])
@pytest.mark.parametrize("launcher", ["gloo", "mpirun", "srun"])
def test_horovod_trains_by_each_launcher(
    engine: SlurmEngine, launcher: str, has_own_master: bool
) -> None:
    program = f"{horovod_python()} {EXAMPLES / 'digits_horovod.py'} --data {digits_csv()}"
    workload = engine.submit_by_form(
        "digits",
        framework="MPI",
        configuration=WORKERS_AND_MASTER,
        worker={
            "command": f"{program} --epochs 3",
            "launcher": launcher,
            "networkInterface": "lo",
        },
        master=slurm_engine.typed(OWN) if has_own_master else None,
    )
    engine.until(workload, "Completed", seconds=240)
    text = engine.log(workload, "master-0")
    assert falls(text)
    assert len(digests(text)) == 2
    assert len(set(digests(text))) == 1


def test_mxnet_learns_with_servers_that_ask_for_something_else(engine: SlurmEngine) -> None:
    program = f"{mxnet_python()} {EXAMPLES / 'kvstore_mxnet.py'}"
    workload = engine.submit_by_form(
        "kvstore",
        framework="MXNet",
        configuration=WORKERS_AND_MASTER,
        worker={"command": program, "networkInterface": "lo", "numServers": "1"},
        master=slurm_engine.typed(OWN),
    )
    engine.until(workload, "Completed", seconds=240)
    assert_learned([engine.log(workload, name) for name in ("worker-0", "worker-1")])
