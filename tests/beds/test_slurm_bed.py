"""The Slurm that tests run on: real, of several nodes, and gone when it is stopped."""

import os
import pwd
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.beds.slurm.lab import Lab, find, make, running

pytestmark = pytest.mark.needs_slurm


def test_a_step_runs_on_several_nodes(slurm_lab: Lab) -> None:
    printed = slurm_lab.run("srun", "-Q", "-N3", "printenv", "SLURMD_NODENAME")
    assert len(set(printed.split())) == 3


def test_a_stopped_lab_leaves_no_process_and_starts_again_in_its_folder() -> None:
    with TemporaryDirectory(prefix="slurm-") as name:
        folder = Path(name)
        try:
            make(folder, nodes=3).start()
            lab = find(folder)
            assert lab is not None
            assert len(lab.pids()) == 5
            lab.run("sbatch", "-o", "/dev/null", "--wrap", "sleep 100")
            lab.stop()
            assert lab.pids() == {}
            lab.start()
            assert len(lab.pids()) == 5
        finally:
            if (left := find(folder)) is not None:
                left.stop()


def test_all_of_it_runs_as_an_ordinary_user_too() -> None:
    """As on a laptop: nothing of it needs root, whoever runs the tests."""
    user = "nobody" if os.getuid() == 0 else ""
    with TemporaryDirectory(prefix="slurm-") as name:
        Path(name).chmod(0o755)
        with running(Path(name) / "lab", nodes=3, user=user) as lab:
            uid = pwd.getpwnam(lab.owner).pw_uid
            assert uid != 0
            assert {Path(f"/proc/{pid}").stat().st_uid for pid in lab.pids().values()} == {uid}
            told = lab.run("srun", "-Q", "-N3", "sh", "-c", "id -u; hostname > /dev/null")
            assert told.split() == [str(uid)] * 3
            program = Path(lab.folder / "job.sh")
            program.write_text("#!/bin/sh\nsrun -N2 printenv SLURM_PROCID\n")
            lab.run("sbatch", "-N2", f"--chdir={lab.folder}", "-o", "out", "--wait", str(program))
            assert sorted((lab.folder / "out").read_text().split()) == ["0", "1"]
