"""The Slurm that tests run on: real, of several nodes, and gone when it is stopped."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.beds.slurm.lab import Lab, find, make

pytestmark = pytest.mark.needs_slurm


def test_a_step_runs_on_several_nodes(slurm_lab: Lab) -> None:
    printed = slurm_lab.run("srun", "-N3", "printenv", "SLURMD_NODENAME")
    assert len(set(printed.split())) == 3


def test_a_stopped_lab_leaves_no_process_and_starts_again_in_its_folder() -> None:
    with TemporaryDirectory(prefix="slurm-") as name:
        folder = Path(name)
        try:
            make(folder, nodes=3).start()
            lab = find(folder)
            assert lab is not None
            assert len(lab.pids()) == 5
            lab.run("sbatch", "--wrap", "sleep 100")
            lab.stop()
            assert lab.pids() == {}
            lab.start()
            assert len(lab.pids()) == 5
        finally:
            if (left := find(folder)) is not None:
                left.stop()
