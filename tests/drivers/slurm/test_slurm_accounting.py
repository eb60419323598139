"""How a job ended, from accounting: the last that is asked, on a real slurmdbd."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gangline.drivers.base import AttemptRef, ObservedState, Refused
from gangline.drivers.logs.store import LogStore
from gangline.drivers.metrics.accounted import Accounted, kept
from gangline.drivers.slurm import looks, states, totals
from gangline.drivers.slurm.totals import Totals
from tests.beds.slurm.lab import Lab, running
from tests.drivers.slurm.cases import Case
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.needs_slurm, pytest.mark.needs_slurmdbd]
FORGETFUL = ("MinJobAge=2", "AccountingStorageEnforce=associations")
GATHERING = ("JobAcctGatherType=jobacct_gather/linux", "JobAcctGatherFrequency=task=1")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Slurm forgets a job two seconds after its end; accounting does not."""
    with (
        TemporaryDirectory(prefix="slurm-") as name,
        running(Path(name), nodes=3, accounting=True, extra=FORGETFUL + GATHERING) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def case(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    made = Case(lab, tmp_path_factory.mktemp("data"))
    yield made
    made.close()


ENDS = {
    "exit 0": "",
    "exit 3": "Exited with code 3.",
    "exit 137": states.accounted("9:0"),
    "sleep 1000": states.ENDED[states.CANCELLED],
}


@pytest.fixture(scope="module")
def ended(case: Case) -> dict[str, AttemptRef]:
    """Attempts by their commands, as they are recorded, when Slurm has forgotten them."""
    made = {command: case.started(f"/bin/sh -c '{command}'") for command in ENDS}
    case.until(made["sleep 1000"], ObservedState.RUNNING)
    case.lab.run("scancel", case.number(made["sleep 1000"]))
    found = {}
    for command, ref in made.items():
        seen = case.until(ref, ObservedState.FAILED, ObservedState.SUCCEEDED)
        found[command] = replace(ref, ext_uid=seen.ext_uid)
    wait_for(lambda: not case.states(), seconds=40, every=0.2, what="Slurm to forget")
    return found


def test_its_own_records_go_before_accounting(case: Case, ended: dict[str, AttemptRef]) -> None:
    """Which cannot tell 137 from 9."""
    seen = case.driver.observe(ended["exit 137"])
    assert seen.replicas[0].signal == 9
    assert "accounting" not in seen.reason


def test_its_totals_are_kept_beside_the_logs(case: Case) -> None:
    """Of a job that has used a second of a processor and some memory."""
    program = "held = bytearray(60 << 20); import time\nwhile time.process_time() < 2.5: pass"
    ref = case.started(f"/usr/bin/python3 -c '{program}'")
    seen = case.until(ref, ObservedState.SUCCEEDED)
    place = LogStore(case.data_dir).attempt_folder(ref.workload, 1)
    asked = Totals(case.driver.programs, LogStore(case.data_dir))

    def told() -> Accounted | None:
        asked.take([case.driver._look(replace(ref, ext_uid=seen.ext_uid))])
        return kept(place)

    found = wait_for(told, seconds=20, every=0.3, what="the totals")
    assert found is not None
    assert 2.2 < found.cpu < 9
    assert found.memory > 60 << 20
    assert found.node


def test_totals_are_read_of_the_job_and_its_steps() -> None:
    rows = [
        "7|gang|2026-01-01T00:00:09|01:02.500||",
        "7.batch|batch|2026-01-01T00:00:09|00:00.100|3G|n1",
        "7.0|bash|2026-01-01T00:00:09|01:02.400|4194304K|n2",
        "71|other|2026-01-01T00:00:09|10:00||",
    ]
    assert totals.read(rows, 7, "gang") == Accounted(62.5, 4 << 30, "n2")
    assert totals.read(rows, 7, "another") is None
    assert totals.read([rows[0].replace("2026-01-01T00:00:09", "Unknown")], 7, "gang") is None
    parts = ["9+0|gang|2026-01-01T00:00:09|1-00:00:01||", "9+1|gang|2026-01-01T00:00:09|02:00:00||"]
    assert totals.read(parts, 9, "gang") == Accounted(86401 + 7200, 0, "")


def test_what_left_no_record_is_read_from_accounting(
    case: Case, ended: dict[str, AttemptRef]
) -> None:
    for command, ref in ended.items():
        shutil.rmtree(case.folder(ref), ignore_errors=True)
        seen = case.driver.observe(ref)
        assert seen.reason == ENDS[command]
        is_good = command == "exit 0"
        assert seen.state is (ObservedState.SUCCEEDED if is_good else ObservedState.FAILED)
        assert seen.ext_uid == ref.ext_uid
        assert seen.ended_at


def test_the_job_of_another_with_the_same_number_is_not_taken_for_it(
    case: Case, ended: dict[str, AttemptRef]
) -> None:
    mine = replace(case.ref(), ext_uid=ended["exit 3"].ext_uid)
    assert looks.job_name(mine) != looks.job_name(ended["exit 3"])
    assert case.driver.observe(mine).state is ObservedState.ABSENT


def test_accounting_that_is_away_is_doubt(
    case: Case, ended: dict[str, AttemptRef], tmp_path: Path
) -> None:
    """A job is not over because nobody can say how it ended."""
    shutil.rmtree(case.folder(ended["exit 0"]), ignore_errors=True)
    away = tmp_path / "sacct"
    away.write_text("#!/bin/sh\necho 'sacct: error: Problem talking to the database' >&2\nexit 1\n")
    away.chmod(0o755)
    unsure = case.driver_with(str(tmp_path))
    assert unsure.observe(ended["exit 0"]).state is ObservedState.UNKNOWN
    assert case.driver.observe(ended["exit 0"]).state is ObservedState.SUCCEEDED


def test_an_account_without_rights_is_refused_in_words(case: Case) -> None:
    ref = case.ref()
    ref.rendered["options"] = {"account": "team-b"}
    answer = case.driver.create(ref)
    assert isinstance(answer, Refused)
    assert "account" in answer.reason
    assert case.states(ref) == []
