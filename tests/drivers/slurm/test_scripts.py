"""The batch scripts: as they are kept, good bash, and deaf to what people type."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef, NotYet
from gangline.drivers.slurm import rendering, script
from gangline.drivers.slurm.commands import LocalCommands, Programs
from gangline.drivers.slurm.effects import Effects
from gangline.drivers.slurm.observation import Attempt
from gangline.drivers.slurm.script import CannotWrite
from gangline.spec.frameworks import WORKERS_AND_MASTER, WORKERS_ONLY
from tests.drivers.slurm import goldens

ALL = dict(goldens.all_of_them())
HOSTILE = (
    "a\n#SBATCH --nodes=99\nb",
    'it\'s "quoted" `id` $(id) ${HOME} \\ !! %j',
    "GANGLINE\nrm -rf /\n",
    "; touch /tmp/no && exit 3 #",
    "",
    " leading and trailing ",
    "${IFS}\ttab\u00a0nbsp é",
)


def test_the_scripts_are_as_they_are_kept() -> None:
    kept = {path.name: path.read_text() for path in goldens.FOLDER.glob("*.sh")}
    assert kept == ALL, "run python -m tests.drivers.slurm.goldens and look at the difference"


@pytest.mark.parametrize("name", ALL)
def test_a_script_is_good_bash(name: str) -> None:
    _bash("-n", text=ALL[name])
    _bash("-n", text=_replica(ALL[name], "GANGLINE"))


def test_only_roles_that_ask_for_different_things_make_a_heterogeneous_job() -> None:
    """A master with its own set-up, the small scheduler of MXNet, and roles in containers."""
    found = sorted(name for name, text in ALL.items() if "hetjob" in text)
    assert found == [
        "container.sh",
        "defaults.sh",
        "mxnet-workersAndMaster.sh",
        "pytorch-ownMaster.sh",
    ]


@pytest.mark.parametrize("value", HOSTILE)
def test_what_people_type_reaches_programs_as_it_is(value: str) -> None:
    part = {
        "role": "worker",
        "command": ["printf", "%s|"],
        "arguments": [value],
        "variables": [["TYPED", value]],
    }
    text = f'{script.function(part)}\nworker; "${{COMMAND[@]}}"; printf %s "$TYPED"'
    assert _bash("-s", text=text) == f"{value}|{value}"


@pytest.mark.parametrize("value", HOSTILE)
def test_no_directive_comes_from_what_people_type(value: str) -> None:
    made = goldens.submission("PyTorch", WORKERS_ONLY)
    native = rendering.render(made)
    usual = _directives(script.script(native))
    native["identifiers"] = {"GANGLINE_WORKLOAD": value}
    native["parts"][0] |= {"arguments": [value], "workingDirectory": value, "category": value}
    assert _directives(script.script(native)) == usual


@pytest.mark.parametrize(
    "change",
    [
        {"variables": [["A B", "1"]]},
        {"variables": [["A", "\0"]]},
        {"arguments": ["\0"]},
        {"command": [], "arguments": []},
        {"asks": {"partitions": ["a\n#SBATCH --exclusive"]}},
        {"asks": {"partitions": ["--exclusive"]}},
        {"asks": {"feature": "a100 --exclusive"}},
    ],
)
def test_what_cannot_be_written_is_refused(change: dict[str, Any]) -> None:
    native = rendering.render(goldens.submission("PyTorch", WORKERS_ONLY))
    native["parts"][0] |= change
    with pytest.raises(CannotWrite):
        script.script(native)


@pytest.mark.parametrize("further", [["array", "1-9"], ["begin", "now\n#SBATCH -p x"], ["x", ""]])
def test_no_further_option_gets_into_a_script_but_those_of_the_list(further: list[str]) -> None:
    native = rendering.render(goldens.submission("PyTorch", WORKERS_ONLY)) | {"further": [further]}
    with pytest.raises(CannotWrite):
        script.script(native)


@pytest.mark.parametrize(
    "options", [{"wrap": "id"}, {"account": "a b"}, {"time": "1\n#SBATCH -p x"}]
)
def test_no_other_option_gets_into_a_script(options: dict[str, str]) -> None:
    native = rendering.render(goldens.submission("PyTorch", WORKERS_ONLY)) | {"options": options}
    with pytest.raises(CannotWrite):
        script.script(native)


@pytest.mark.parametrize("hostile", [v for v in HOSTILE if v])
def test_a_persons_own_script_stays_what_it_is_and_asks_sbatch_for_nothing(hostile: str) -> None:
    """Its lines were read before; whatever is in it is one text in a file of its own."""
    own = f"#!/bin/cat\n#SBATCH --array=1-9\n{hostile}\nGANGLINE\nlast\n"
    native = rendering.render(goldens.own_script(own))
    made = script.script(native)
    assert _directives(made) == _directives(ALL["own-script.sh"])
    begun = made.split("mv -f script.$$.new script || exit 73\n")[1]
    assert begun.startswith(own)
    assert f'COMMAND=(/bin/cat "$RUN/{script.OWN}")' in made


def test_another_versions_form_is_refused() -> None:
    with pytest.raises(CannotWrite):
        script.script({"form": "gangline.dev/slurm/v0"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)/x", "1/x"),
        ("$$(A)", "$(A)"),
        ("$(NONE)", "$(NONE)"),
        ("$(A B) $A ${A}", "$(A B) $A ${A}"),
        ("$(A)$(A)'", "11'"),
    ],
)
def test_references_are_expanded_as_kubernetes_does(text: str, expected: str) -> None:
    assert _bash("-s", text=f"A=1; printf %s {script.expanding(text)}") == expected


def test_a_master_of_its_own_has_its_own_command() -> None:
    made = goldens.submission("PyTorch", WORKERS_AND_MASTER, master=goldens.OWN_MASTER)
    master, worker = rendering.render(made)["parts"]
    assert "lead.py" in script.function(master)
    assert "train.py" in script.function(worker)


def test_no_typed_line_ends_the_text_of_a_replica_early() -> None:
    native = rendering.render(goldens.submission("PyTorch", WORKERS_ONLY))
    native["parts"][0]["arguments"] = ["a\nGANGLINE\nGANGLINE_\nb"]
    replica = _replica(script.script(native), "GANGLINE__")
    assert replica.rstrip().endswith("exit $code")


def _replica(text: str, mark: str) -> str:
    """What a script writes down for each of its replicas."""
    begun = text.split(f"<<'{mark}' && mv -f replica.sh.$$.new replica.sh || exit 73\n")[1]
    return begun.split(f"\n{mark}\n")[0]


def _directives(text: str) -> list[str]:
    """What sbatch would read: the lines before the first that is no comment."""
    lines = text.splitlines()
    first = next(n for n, line in enumerate(lines) if line and not line.startswith("#"))
    return [line for line in lines[:first] if line.startswith("#SBATCH")]


def _bash(option: str, *, text: str) -> str:
    done = subprocess.run(
        ["bash", option], input=text.encode(), capture_output=True, timeout=20, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def _never_looked_at(ref: AttemptRef) -> Attempt:
    raise LookupError(ref)


def test_sbatch_is_told_nothing_by_variables_of_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by those of the workload nor by our own; the job begins with none of either."""
    bin_folder, seen = tmp_path / "bin", tmp_path / "seen"
    bin_folder.mkdir()
    for name, text in {
        "squeue": "exit 0",
        "sbatch": f"env > {seen}.env; printf '%s\\n' \"$@\" > {seen}.options; echo 7",
    }.items():
        (bin_folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (bin_folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    for name in ("SBATCH_ACCOUNT", "LD_DEBUG", "GANGLINE_SECRET"):
        monkeypatch.setenv(name, "ours")
    variables = [{"name": "CANARY", "value": "c4n4ry"}, {"name": "PYTHONPATH", "value": "c4n4ry"}]
    made = goldens.own_script(environmentVariables=variables)
    native = rendering.render(made)
    ref = AttemptRef("install", "workload", 1, "ex7", rendered=native)
    effects = Effects(Programs(LocalCommands()), str(tmp_path / "runs"), _never_looked_at)
    assert isinstance(effects.create(ref), NotYet)
    options = Path(f"{seen}.options").read_text().split()
    assert "--export=NIL" in options
    told = dict(line.partition("=")[::2] for line in Path(f"{seen}.env").read_text().splitlines())
    assert not {"CANARY", "PYTHONPATH", "SBATCH_ACCOUNT", "LD_DEBUG", "GANGLINE_SECRET"} & set(told)
    assert "c4n4ry" not in "".join((*told.values(), *options))
    assert "c4n4ry" in next(tmp_path.rglob("job.sh")).read_text()
