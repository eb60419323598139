"""Why a job waits, its place in the queue, and when Slurm expects it to start."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gangline.drivers.base import AttemptRef, ObservedState
from gangline.drivers.slurm import looks, states
from gangline.drivers.slurm.commands import Answer, LocalCommands, Programs
from gangline.drivers.slurm.observation import attempt, observe
from tests.beds.slurm.lab import Lab
from tests.support.waiting import wait_for


@pytest.fixture
def full(slurm_lab: Lab) -> Iterator[Lab]:
    """Every node is taken, for longer than the test."""
    slurm_lab.run("scancel", "--me")
    wait_for(lambda: not slurm_lab.run("squeue", "-h"), seconds=30)
    slurm_lab.run(
        "sbatch", "-N", "4", "--exclusive", "-t", "60", "--output=/dev/null", "--wrap=sleep 600"
    )
    wait_for(lambda: slurm_lab.run("squeue", "-h", "-t", "RUNNING"), seconds=20)
    yield slurm_lab
    slurm_lab.run("scancel", "--me")


@pytest.mark.needs_slurm
def test_the_place_in_the_queue_is_slurms_own(full: Lab, tmp_path: Path) -> None:
    ref = AttemptRef("install-q", "w-1", 1, "gang")
    common = ("sbatch", "--parsable", "-t", "5", "--output=/dev/null", "--wrap=true", "-N", "4")
    full.run(*common)
    full.run(*common, f"--comment={looks.comment(ref)}")
    programs = Programs(LocalCommands(), config=str(full.config))

    def reason() -> str:
        seen = looks.look(programs, str(tmp_path), ref.install, [("w-1", 1)])
        found = observe(attempt(ref, seen))
        assert found.state is ObservedState.PENDING
        return found.reason

    wait_for(lambda: "Number 2" in reason() and "expects" in reason(), seconds=20)


def test_what_slurm_prints_is_read_into_words() -> None:
    row = (
        "job 12|PENDING|2|2026-01-01T00:00:00|2026-01-01T10:21:40|N/A|Priority"
        "|gangline:install-q:w-1:1:gang"
    )
    seen = looks.read(Answer(0, f"now 1767262800\n{row}\nplace 12 3\nend\n", ""), "install-q")
    (job,) = seen.jobs["w-1", 1]
    assert (job.place, job.expected) == (3, datetime(2026, 1, 1, 10, 21, 40, tzinfo=UTC))
    said = observe(attempt(job.ref, seen)).reason
    assert "Number 3" in said
    assert "10:25 UTC on 1 January" in said


def test_one_that_is_held_has_no_place_that_counts() -> None:
    assert states.queued(0, None, datetime.now(UTC)) == ""
    assert "JobHeldUser" not in states.QUEUED
