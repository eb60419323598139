"""A person's own script: what its lines ask for, its places, and what it may not do."""

from typing import Any

import pytest

from gangline.spec import batch
from gangline.spec.slurm import PLACE_VALUE

SEED = """#!/usr/bin/env bash
#SBATCH -A {{ project }} -p alvis   # your project
#SBATCH --nodes=2 --ntasks-per-node=4
#SBATCH --gpus-per-node=T4:2 -t 0-00:30:00
#SBATCH -J "my job" --output=%j.out
# A comment, and an empty line:

#SBATCH --mem 16G
module load TensorFlow
#SBATCH --nodes=99
srun python ex7.py --epochs {{ epochs = 10 }}
"""


def of(*lines: str, **fills: str) -> batch.Read:
    return batch.read("\n".join(["#!/bin/bash", *lines, "true"]), fills)


def test_the_lines_become_values_and_places_are_filled_in() -> None:
    found = batch.read(SEED, {"project": "SNIC2021-1"})
    assert found.values == {
        "numWorkers": 2,
        "slurm.tasksPerNode": 4,
        "compute.cpuCoreRequest": 4,
        "compute.gpuDevicesRequest": 2,
        "slurm.gpuType": "T4",
        "compute.cpuMemoryRequest": "16384Mi",
        "slurm.account": "SNIC2021-1",
        "slurm.timeLimit": 1800,
        "nodePools": [{"name": "alvis"}],
        "slurm.values": [{"name": "project"}, {"name": "epochs", "value": "10"}],
    }
    assert not found.objections
    assert [line.option for line in found.left_out] == ["job-name", "output"]
    assert "--epochs 10\n" in batch.filled(SEED, {})
    assert "-A {{ project }}" in batch.filled(SEED, {}), "it is asked for"


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        (["-N2 -n8"], {"numWorkers": 2, "slurm.tasksPerNode": 4, "compute.cpuCoreRequest": 4}),
        (["--ntasks-per-node=2 -c 3"], {"slurm.tasksPerNode": 2, "compute.cpuCoreRequest": 6}),
        (["--gres=gpu:a100:4"], {"compute.gpuDevicesRequest": 4, "slurm.gpuType": "a100"}),
        (["-N 2", "-G 4"], {"numWorkers": 2, "compute.gpuDevicesRequest": 2}),
        (["-c 4 --mem-per-cpu=2G"], {"compute.cpuCoreRequest": 4,
                                    "compute.cpuMemoryRequest": "8192Mi"}),
        (["--nodes=2-2"], {"numWorkers": 2}),
        (["--nodes=1", "--nodes=3"], {"numWorkers": 3}),
        (["-C a100 -D /work/mine"], {"nodeType": "a100", "workingDir": "/work/mine"}),
        (["--exclusive", "-L matlab:1"], {"slurm.options": [
            {"name": "exclusive"}, {"name": "licenses", "value": "matlab:1"}]}),
    ],
)  # fmt: skip
def test_options_are_read_as_sbatch_reads_them(lines: list[str], values: dict[str, Any]) -> None:
    found = of(*(f"#SBATCH {line}" for line in lines))
    assert (found.values, found.objections) == (values, [])


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--array=1-100", "script:option"),
        ("-a 1-100", "script:option"),
        ("--wrap=id", "script:option"),
        ("--uid=0", "script:option"),
        ("--nod=5", "script:option"),  # what sbatch would complete
        ("--nodelist=n[1-9]", "script:option"),
        ("hetjob", "script:word"),
        ("-N 2-9", "script:value"),
        ("-n 8", "script:value"),
        ("--mem=0", "script:value"),
        ("--gres=gpu:1,shard:8", "script:value"),
        ("--gres=shard:8", "script:value"),
        ("--time=UNLIMITED", "script:value"),
        ("-A a&b", "script:value"),
        ('--comment="a', "script:quote"),
    ],
)
def test_what_goes_round_the_form_is_refused_with_its_line(line: str, code: str) -> None:
    (one,) = of(f"#SBATCH {line}").objections
    assert (one.code, one.params["line"]) == (code, 2)


def test_a_script_says_what_runs_it() -> None:
    assert [o.code for o in batch.read("python train.py", {}).objections] == ["script:first"]
    assert batch.interpreter("#!/usr/bin/env -S bash -e\n") == ["/usr/bin/env", "-S bash -e"]


@pytest.mark.parametrize(
    "hostile",
    [
        "a b",
        "a\n#SBATCH --nodes=9",
        "$(id)",
        "`id`",
        '"',
        "'",
        "a;id",
        "\0",
        "",
        "~",
        "a>b",
        "{a,b}",
    ],
)
def test_nothing_that_a_shell_reads_is_filled_in(hostile: str) -> None:
    assert not PLACE_VALUE.fullmatch(hostile)
    found = of("#SBATCH -A {{ account }}", account=hostile)
    assert set(found.values) == {"slurm.values"}


@pytest.mark.parametrize(
    "text",
    ["awk '{ print }'", "${x%%y}", "docker ps --format '{{.Names}}'", "{{a,b},c}", "[[ $a ]]"],
)
def test_what_bash_has_is_no_place(text: str) -> None:
    assert batch.places(text) == {}
    assert batch.filled(text, {"a": "1"}) == text
