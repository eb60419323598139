"""The lines of a person's own script are judged as what anybody types."""

from typing import Any

from gangline.policies.effective import Layer, effective_policy
from gangline.policies.engine import Request, Resolution, inherited_values, resolve
from gangline.policies.parser import parse
from gangline.spec.frameworks import WORKERS_ONLY
from gangline.spec.problems import Role
from gangline.spec.slurm import OWN_SCRIPT
from gangline.spec.sources import OF_SCRIPT, Value

SCRIPT = """#!/bin/bash
#SBATCH --nodes=8 --gpus-per-node=4 -A {{ account }}
#SBATCH -o mine.out
srun python train.py {{ rate = 0.1 }}
"""
EVERYTHING = {"slurm.script": SCRIPT, "slurm.values": [{"name": "account", "value": "team-a"}]}


def resolved(policy: str = "", /, **more: Any) -> Resolution:
    given = {f"worker.{p}": Value(v) for p, v in {**EVERYTHING, **more}.items() if v is not None}
    request = Request(framework=OWN_SCRIPT, given=given)
    return resolve(request, _policy(policy))


def _policy(text: str) -> Any:
    return effective_policy([Layer("project", "vision", parse(text))] if text else [])


def codes(found: Resolution) -> list[tuple[str, str]]:
    return [(p.path, p.code) for p in found.problems]


def test_a_script_says_what_the_workload_has() -> None:
    found = resolved()
    assert codes(found) == []
    assert found.configuration == WORKERS_ONLY
    worker = found.values(Role.WORKER)
    assert (worker["numWorkers"], worker["compute.gpuDevicesRequest"]) == (8, 4)
    assert worker["slurm.account"] == "team-a"
    assert found.effective["worker.numWorkers"].source == OF_SCRIPT
    assert {one["name"]: one["value"] for one in worker["slurm.values"]} == {
        "account": "team-a", "rate": "0.1",
    }  # fmt: skip
    assert any("--output" in str(notice) for notice in found.notices)


def test_what_a_person_says_beside_it_counts_as_on_the_command_line_of_sbatch() -> None:
    assert resolved(numWorkers=2).values(Role.WORKER)["numWorkers"] == 2


def test_no_line_goes_round_a_policy() -> None:
    rules = "numWorkers: {max: 4}, slurm: {account: {options: [{value: team-b}]}}"
    found = resolved(f"rules: {{worker: {{{rules}}}}}")
    assert codes(found) == [("numWorkers", "max"), ("slurm.account", "options")]
    fixed = "defaults: {worker: {numWorkers: 2}}\nrules: {worker: {numWorkers: {canEdit: false}}}"
    assert resolved(fixed).values(Role.WORKER)["numWorkers"] == 2


def test_an_empty_place_and_one_that_is_not_there_are_named() -> None:
    left = resolved(**{"slurm.values": [{"name": "other", "value": "1"}, {"name": "account"}]})
    empty = ("slurm.values", "script:places")
    assert codes(left) == [empty, ("slurm.values.0", "script:no_place")]
    assert codes(resolved(**{"slurm.values": None})) == [empty]


def test_every_line_that_is_not_taken_is_named() -> None:
    script = "#!/bin/bash\n#SBATCH --array=1-9\n#SBATCH --uid=0 -N x\ntrue"
    found = resolved(**{"slurm.script": script, "slurm.values": None})
    assert codes(found) == [
        ("slurm.script.2", "script:option"),
        ("slurm.script.3", "script:value"),
        ("slurm.script.3", "script:option"),
    ]


def test_a_script_is_needed_and_for_its_own_framework_only() -> None:
    assert codes(resolved(**{"slurm.script": None, "slurm.values": None})) == [
        ("slurm.script", "required")
    ]
    other = resolve(
        Request(framework="PyTorch", given={"worker.slurm.script": Value(SCRIPT)}), _policy("")
    )
    assert codes(other) == [("slurm.script", "framework")]


def test_a_command_is_left_out() -> None:
    found = resolved(command="python train.py")
    assert "command" not in found.values(Role.WORKER)
    assert codes(found) == []


def test_the_form_shows_what_the_script_says_without_the_script_itself() -> None:
    given = {f"worker.{path}": Value(value) for path, value in EVERYTHING.items()}
    standing = inherited_values(
        Request(framework=OWN_SCRIPT, given=given), Role.WORKER, _policy("")
    )
    assert "slurm.script" not in standing
    assert standing["numWorkers"] == Value(8, OF_SCRIPT)
    assert [item["name"] for item in standing["slurm.values"].value] == ["account", "rate"]
