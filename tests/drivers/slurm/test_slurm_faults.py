"""What goes wrong around a job on a real Slurm: nothing doubled, nothing lost, all said."""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gangline.drivers.base import (
    Done,
    NotYet,
    ObservedState,
    Refused,
    ReplicaState,
    Unknown,
)
from gangline.drivers.slurm import looks, rendering, states
from gangline.drivers.slurm.commands import Answer, NoAnswer
from tests.beds.slurm.lab import Lab
from tests.drivers.slurm.cases import Case
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_slurm
HOSTILE = "a\n#SBATCH --nodes=99\n'\"$(id)`id`${HOME}\\ GANGLINE\nGANGLINE\n; exit 9"


@pytest.fixture
def case(slurm_lab: Lab, tmp_path: Path) -> Iterator[Case]:
    made = Case(slurm_lab, tmp_path)
    yield made
    made.close()


def test_what_people_type_reaches_a_job_as_it_is(case: Case) -> None:
    ref = case.ref("printenv TYPED")
    ref.rendered["parts"][0]["variables"] = [["TYPED", HOSTILE]]
    ref.rendered["parts"][0]["annotations"] = [["a", HOSTILE]]
    ref.rendered["identifiers"] = {"GANGLINE_WORKLOAD": HOSTILE}
    assert isinstance(case.driver.create(ref), NotYet)
    case.driver.commit(ref)
    assert case.until(ref, ObservedState.SUCCEEDED, ObservedState.FAILED).reason == ""
    assert (case.folder(ref) / "logs" / "worker-0.out").read_text() == f"{HOSTILE}\n"


def test_secrets_stand_in_no_script_and_are_gone_after_the_end(case: Case) -> None:
    ref = case.ref("printenv KEY")
    ref.rendered["parts"][0]["late"] = [["KEY", "hub", "token"]]
    assert isinstance(case.driver.create(ref), Refused), "the credential is not there"
    given = replace(ref, secrets={"hub": {"token": "s3cr3t 'CANARY'"}})
    assert isinstance(case.driver.create(given), NotYet)
    folder = case.folder(ref)
    assert "CANARY" not in (folder / "job.sh").read_text()
    assert (folder / "secrets" / "worker").stat().st_mode & 0o077 == 0
    case.driver.commit(ref)
    case.until(ref, ObservedState.SUCCEEDED)
    assert (folder / "logs" / "worker-0.out").read_text() == "s3cr3t 'CANARY'\n"
    assert not (folder / "secrets").exists()


def test_a_lost_answer_makes_no_second_job(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    ref, run = case.ref(), case.driver.programs.commands.run

    def lost(program: str, seconds: float = 0.0) -> Answer:
        run(program)
        raise NoAnswer("The connection broke.")

    with monkeypatch.context() as patch:
        patch.setattr(case.driver.programs.commands, "run", lost)
        assert isinstance(case.driver.create(ref), Unknown)
    assert case.driver.observe(ref).state is ObservedState.HELD
    assert isinstance(case.driver.create(ref), NotYet)
    jobs = looks.look(case.driver.programs, str(case.runs), case.install, ()).jobs
    assert [len(found) for found in jobs.values()] == [1]


def test_only_the_recorded_job_is_released_and_the_other_goes(case: Case) -> None:
    ref = case.ref()
    case.driver.create(ref)
    recorded = case.driver.observe(ref).ext_uid
    comment = looks.comment(ref)
    twin = case.lab.run("sbatch", "--parsable", "-H", f"--comment={comment}", "--wrap", "true")
    known = replace(ref, ext_uid=recorded)
    assert isinstance(case.driver.commit(known), NotYet)
    assert case.until(known, ObservedState.RUNNING).ext_uid == recorded
    state = case.lab.run("squeue", "-h", "-t", "all", "-j", twin.strip(), "-o", "%T").strip()
    assert state == "CANCELLED"


def test_a_job_that_others_cancel_has_failed_with_the_reason(case: Case) -> None:
    ref = case.started()
    case.until(ref, ObservedState.RUNNING)
    case.lab.run("scancel", case.number(ref))
    seen = case.until(ref, ObservedState.FAILED)
    assert seen.reason == "The job was cancelled on the cluster."
    assert {r.state for r in seen.replicas} <= {ReplicaState.STOPPED, ReplicaState.FAILED}


def test_a_job_that_others_hold_is_not_released_by_gangline(case: Case) -> None:
    ref = case.ref(nodePools=[])
    case.driver.create(ref)
    case.lab.run("scontrol", "update", f"jobid={case.number(ref)}", "starttime=now+1hour")
    case.driver.commit(ref)
    wait_for(lambda: case.driver.observe(ref).reason == "Its earliest start time is still ahead.")
    case.lab.run("scontrol", "hold", case.number(ref))
    seen = case.driver.observe(ref)
    assert seen.state is ObservedState.PENDING
    assert seen.reason in (states.waits_for("JobHeldUser"), states.waits_for("JobHeldAdmin"))


def test_what_can_never_fit_is_impossible(case: Case) -> None:
    ref = case.started(workers=50)
    seen = case.until(ref, ObservedState.PENDING)
    assert wait_for(lambda: case.driver.observe(ref).is_impossible, seconds=20)
    assert not seen.state.is_over


@pytest.mark.parametrize("part", [{"megabytes": 10**7}, {"gpus": 50}, {"cpus": 99}])
def test_what_no_node_holds_does_not_start(case: Case, part: dict[str, object]) -> None:
    """Slurm takes a held job without a look at its size."""
    ref = case.ref()
    ref.rendered["parts"][0]["asks"] |= part
    if isinstance(case.driver.create(ref), Refused):
        return
    if isinstance(case.driver.commit(ref), Refused):
        return

    def ends() -> bool:
        seen = case.driver.observe(ref)
        return seen.is_impossible or seen.state is ObservedState.FAILED

    assert wait_for(ends, seconds=20)
    assert case.driver.observe(ref).reason


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"partitions": ["vanished"]}, "nvalid partition"),
        ({"feature": "nowhere"}, "nvalid feature"),
    ],
)
def test_what_slurm_refuses_is_refused_in_its_words(
    case: Case, part: dict[str, object], words: str
) -> None:
    ref = case.ref()
    ref.rendered["parts"][0]["asks"] |= part
    said = case.driver.create(ref)
    assert isinstance(said, Refused)
    assert words in said.reason
    told = case.driver.dry_run(ref)
    assert len(told.problems) == 1
    assert case.driver.observe(ref).state is ObservedState.ABSENT


def test_a_command_that_is_not_there_says_so(case: Case) -> None:
    ref = case.started("no-such-program")
    seen = case.until(ref, ObservedState.FAILED)
    assert seen.reason == "Exited with code 127 (the command was not found on the node)."
    assert "srun: " not in case.log(ref), "nothing that the replica did not print"
    seen = case.until(case.started("true", workingDir="/no/such/folder"), ObservedState.FAILED)
    assert "working directory" in seen.reason


def test_what_holds_for_every_job_of_the_cluster_holds_for_this_one(case: Case) -> None:
    ref = case.ref()
    ref.rendered["options"] = {"time": "01:00:00", "account": "team-a"}
    case.driver.create(ref)
    told = case.lab.run("squeue", "-h", "-j", case.number(ref), "-o", "%l %a")
    assert told.split() == ["1:00:00", "team-a"]


def test_a_module_that_is_not_there_says_so(case: Case) -> None:
    ref = case.ref("true")
    ref.rendered["modules"] = ["no-such/module"]
    case.driver.create(ref)
    case.driver.commit(ref)
    assert "worker-0" in case.until(ref, ObservedState.FAILED).reason
    assert "module" in case.log(ref), "what the shell of the job said, where people read"


def test_nothing_is_left_of_what_was_deleted_long_ago(case: Case) -> None:
    """The mark stays while a call could be on its way that must find it."""
    old, new = case.ref(), case.ref()
    for ref in (old, new):
        assert case.driver.delete(ref) == Done()
    assert isinstance(case.driver.create(old), Refused)
    mark = case.folder(old) / "deleted"
    os.utime(mark, (time.time() - 3600,) * 2)
    assert case.driver.delete(new) == Done()
    assert not case.folder(old).parent.exists()
    assert (case.folder(new) / "deleted").exists()


def test_a_run_folder_that_goes_away_ends_in_words(case: Case) -> None:
    ref = case.started()
    case.until(ref, ObservedState.RUNNING)
    number = case.number(ref)
    shutil.rmtree(case.folder(ref))
    assert case.driver.observe(ref).state is ObservedState.STARTING
    case.lab.run("scancel", number)
    assert case.until(ref, ObservedState.FAILED).reason == "The job was cancelled on the cluster."


@pytest.mark.parametrize("configuration", ["workersOnly", "workersAndMaster"])
def test_replicas_that_share_a_node_have_their_own_gpus(case: Case, configuration: str) -> None:
    """Four of them on two nodes, in the order of their ranks; their GPUs are counted from 0."""
    show = "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES; echo $GANGLINE_RANK_ADDRS | wc -w"
    asks = {"compute.gpuDevicesRequest": 1, "nodePools": []}
    ref = case.ref(f"/bin/sh -c '{show}'", workers=4, **asks)
    for part in ref.rendered["parts"]:
        part["asks"] |= {"shares": True, "partitions": ["pool-a"]}
    if configuration == "workersAndMaster":
        master = {**ref.rendered["parts"][0], "role": "master", "pods": 1}
        ref.rendered["parts"][0]["pods"] = 3
        ref.rendered["parts"].insert(0, master)
    case.driver.create(ref)
    case.driver.commit(ref)
    assert case.over(ref).reason == "", case.log(ref)
    names = [f"{role}-{index}" for role, index, _ in rendering.replicas(ref.rendered)]
    told = [case.printed(ref, name).split() for name in names]
    nodes = [node for node, _, _ in told]
    assert nodes == sorted(nodes)
    assert len(set(nodes)) == 2
    assert {(node, gpu) for node, gpu, _ in told} == {(n, g) for n in set(nodes) for g in "01"}
    assert [count for _, _, count in told] == ["4"] * 4
