"""Workloads on a real Slurm, from the API to the job and back."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gangline.spec.frameworks import WORKERS_AND_MASTER, WORKERS_ONLY
from tests.beds.slurm.lab import Lab
from tests.support import slurm_engine
from tests.support.engine import current_attempt
from tests.support.example_gangs import (
    EXAMPLES,
    ROOT,
    SYSTEM_PYTHON,
    digests,
    digits_csv,
    examples_python,
    falls,
)
from tests.support.mxnet_runtime import assert_learned, mxnet_python
from tests.support.slurm_engine import SlurmEngine
from tests.support.waiting import wait_for
from workloads.models import Replica, Workload
from workloads.selectors.figures import figures_of

pytestmark = pytest.mark.needs_slurm
RANK = ROOT / "tests/drivers/horovod_rank.py"
LOOPBACK = {"name": "GLOO_SOCKET_IFNAME", "value": "lo"}


@pytest.fixture
def engine(slurm_lab: Lab, transactional_db: None) -> Iterator[SlurmEngine]:
    with slurm_engine.engine_on(slurm_lab) as made:
        yield made


@pytest.mark.needs_torch
@pytest.mark.parametrize(
    "has_own_master",
    [
        pytest.param(False, id="workers only"),
        # Below every other framework has one.
        pytest.param(True, id="own master", marks=pytest.mark.thorough),
    ],
)
def test_pytorch_trains_and_its_ranks_agree(engine: SlurmEngine, has_own_master: bool) -> None:
    """A master that asks for more is another component of a heterogeneous job."""
    command = {
        "command": f"{SYSTEM_PYTHON} {EXAMPLES / 'digits_ddp.py'}",
        "args": f"--data {digits_csv()} --epochs 3",
        "environmentVariables": [LOOPBACK],
    }
    own = {"compute": {"cpuCoreRequest": 2, "cpuMemoryRequest": "900M"}, **command}
    workload = engine.submit(
        "digits",
        configuration=WORKERS_AND_MASTER if has_own_master else WORKERS_ONLY,
        master=own if has_own_master else None,
        distributedFramework="PyTorch",
        **command,
    )
    engine.until(workload, "Running")
    engine.until(workload, "Completed")
    names = ["master-0", "worker-0", "worker-1"][not has_own_master :]
    rows = Replica.objects.filter(attempt=current_attempt(workload)).order_by("rank")
    assert [(row.name, row.state, row.exit_code) for row in rows] == [
        (name, "Succeeded", 0) for name in names
    ]
    assert all(row.node for row in rows)
    texts = [engine.log(workload, name) for name in names]
    assert falls(texts[0])
    assert len({digest for text in texts for digest in digests(text)}) == 1
    figures = figures_of(workload, current_attempt(workload))
    for name in names:  # PyTorch alone takes that much
        assert (figures.of(name).total("cpu") or 0) > 0.3, name
        assert (figures.of(name).peak("memory") or 0) > 50e6, name


def test_xgboost_trains_and_its_ranks_agree(engine: SlurmEngine) -> None:
    workload = engine.submit(
        "digits",
        configuration=WORKERS_AND_MASTER,
        distributedFramework="XGBoost",
        command=f"{examples_python()} {EXAMPLES / 'digits_xgboost.py'} --rounds 4",
    )
    engine.until(workload, "Completed")
    names = ("master-0", "worker-0", "worker-1")
    texts = [engine.log(workload, name) for name in names]
    assert len({digest for text in texts for digest in digests(text)}) == 1


SCRIPT = """#!/bin/bash
#SBATCH --job-name=mine --output=mine.out
#SBATCH -N 2 --ntasks-per-node=1 -t 10 --mem=900M
srun -l printenv SLURM_PROCID > {{ result = ranks.txt }}
[ {{ code }} != 0 ] || srun bash -c 'end=$((SECONDS + 4)); while [ $SECONDS -lt $end ]; do :; done'
sort {{ result }}
exit {{ code }}
"""


@pytest.mark.parametrize(("code", "status"), [("0", "Completed"), ("3", "Failed")])
def test_a_persons_own_script_runs_as_after_sbatch_and_is_followed(
    engine: SlurmEngine, code: str, status: str
) -> None:
    """Its lines say how many nodes; what it says and how it ends is the workload's."""
    workload = engine.submit(
        "mine",
        distributedFramework="Script",
        numWorkers=None,
        compute={},
        slurm={"script": SCRIPT, "values": [{"name": "code", "value": code}]},
    )
    engine.until(workload, status)
    rows = Replica.objects.filter(attempt=current_attempt(workload)).order_by("index")
    assert [row.name for row in rows] == ["worker-0", "worker-1"]
    assert len({row.node for row in rows}) == 2
    assert rows[0].exit_code == int(code)
    lines = [one for one in engine.log(workload).splitlines() if not one.startswith("srun:")]
    assert " ".join(lines).split() == ["0:", "0", "1:", "1"]  # srun says when it had to wait
    if status == "Completed":
        figures = figures_of(workload, current_attempt(workload))
        for name in ("worker-0", "worker-1"):  # each node, though steps alone run on the second
            assert (figures.of(name).total("cpu") or 0) > 0.2, name
            assert (figures.of(name).peak("memory") or 0) > 1e6, name


def test_a_script_that_asks_for_more_than_a_node_has_is_refused(engine: SlurmEngine) -> None:
    asked = SCRIPT.replace("-t 10", "-c 64 --gres=gpu:9 -A nobody")
    answer = engine.post(
        "mine",
        distributedFramework="Script",
        numWorkers=None,
        compute={},
        slurm={"script": asked, "values": [{"name": "code", "value": "$(id)"}]},
    )
    assert answer.status_code == 400
    told = answer.content.decode()
    for path in ("values.0.value", "cpuCoreRequest", "gpuDevicesRequest"):
        assert path in told


@pytest.mark.needs_mpi
@pytest.mark.parametrize(
    "launcher", [pytest.param("mpirun", marks=pytest.mark.thorough), "srun --mpi=pmix"]
)
def test_a_launcher_starts_the_ranks(engine: SlurmEngine, launcher: str) -> None:
    """Which are measured on each node: under srun they are no children of the launcher."""
    workload = engine.submit(
        "digits",
        configuration=WORKERS_AND_MASTER,
        distributedFramework="MPI",
        command=f"{launcher} {examples_python()} {EXAMPLES / 'digits_mpi_sgd.py'} --epochs 1000",
    )
    engine.until(workload, "Completed", seconds=180)  # ranks that spin, on busy cores
    text = engine.log(workload, "master-0")
    assert falls(text)
    assert len(digests(text)) == 2
    assert len(set(digests(text))) == 1
    figures = figures_of(workload, current_attempt(workload))
    for name in ("worker-0", "worker-1") if launcher.startswith("srun") else ("worker-1",):
        assert (figures.of(name).peak("memory") or 0) > 10e6, name
        assert (figures.of(name).total("cpu") or 0) > 0.1, name
    for file in Path(engine.cluster.config["folder"]).rglob("metrics/*.tsv"):
        assert file.read_text().split(maxsplit=2)[1] == "0", f"{file}: it counts from nothing"


@pytest.mark.needs_mpi
@pytest.mark.parametrize("launcher", ["mpirun", "srun"])
def test_a_chosen_launcher_starts_the_program(engine: SlurmEngine, launcher: str) -> None:
    workload = engine.submit(
        "digits",
        configuration=WORKERS_AND_MASTER,
        distributedFramework="MPI",
        launcher=launcher,
        command=f"{examples_python()} {EXAMPLES / 'digits_mpi_sgd.py'} --epochs 3",
    )
    engine.until(workload, "Completed")
    text = engine.log(workload, "master-0")
    assert falls(text)
    assert len(digests(text)) == 2
    assert len(set(digests(text))) == 1


@pytest.mark.thorough
def test_ranks_of_horovod_meet_over_gloo(engine: SlurmEngine) -> None:
    workload = engine.submit(
        "meeting",
        configuration=WORKERS_AND_MASTER,
        distributedFramework="MPI",
        launcher="gloo",
        command=f"{mxnet_python()} {RANK}",
    )
    engine.until(workload, "Completed")
    told = engine.log(workload, "master-0").splitlines()
    assert sorted(told)[:2] == [f"{rank}: met rank 0, rank 1 over gloo" for rank in (0, 1)]


@pytest.mark.thorough
def test_ranks_over_gloo_end_as_soon_as_one_of_them_dies(engine: SlurmEngine) -> None:
    workload = engine.submit(
        "meeting",
        configuration=WORKERS_AND_MASTER,
        distributedFramework="MPI",
        launcher="gloo",
        command=f"{mxnet_python()} {RANK} 1",
    )
    engine.until(workload, "Failed")


@pytest.mark.thorough
def test_the_real_mxnet_learns(engine: SlurmEngine) -> None:
    workload = engine.submit(
        "kvstore",
        configuration=WORKERS_AND_MASTER,
        distributedFramework="MXNet",
        networkInterface="lo",
        numServers=1,
        command=f"{mxnet_python()} {EXAMPLES / 'kvstore_mxnet.py'}",
    )
    engine.until(workload, "Completed", seconds=180)
    assert_learned([engine.log(workload, name) for name in ("worker-0", "worker-1")])


@pytest.mark.needs_mpi
def test_a_master_that_asks_for_more_leads_every_framework(engine: SlurmEngine) -> None:
    """All at once on the four nodes, where they wait for each other as Slurm sees fit."""
    python, own = examples_python(), {"cpuCoreRequest": 2, "cpuMemoryRequest": "900M"}
    boosting = f"{python} {EXAMPLES / 'digits_xgboost.py'} --rounds 4"
    ranks = f"mpirun {python} {EXAMPLES / 'digits_mpi_sgd.py'} --epochs 3"
    commands = {"XGBoost": boosting, "MPI": ranks, "TF": "printenv TF_CONFIG"}
    made = {
        framework: engine.submit(
            f"own-{framework.lower()}",
            configuration=WORKERS_AND_MASTER,
            distributedFramework=framework,
            master={"compute": own, "command": command},
            **({} if framework == "MPI" else {"command": command}),
        )
        for framework, command in commands.items()
    }
    for workload in made.values():
        engine.until(workload, "Completed")
    names = ("master-0", "worker-0", "worker-1")
    texts = [engine.log(made["XGBoost"], name) for name in names]
    assert len({digest for text in texts for digest in digests(text)}) == 1
    led = engine.log(made["MPI"], "master-0")
    assert falls(led)
    assert len(digests(led)) == 2
    assert len(set(digests(led))) == 1
    places = [json.loads(engine.log(made["TF"], name)) for name in names]
    assert [place["task"]["type"] for place in places] == ["chief", "worker", "worker"]
    assert len({json.dumps(place["cluster"]) for place in places}) == 1


CONTRACTS = {
    "TF": ("TF_CONFIG", WORKERS_AND_MASTER, ["master-0", "worker-0", "worker-1"]),
    "JAX": ("PROCESS_ID", WORKERS_ONLY, ["worker-0", "worker-1"]),
}


@pytest.mark.parametrize("framework", CONTRACTS)
def test_each_rank_finds_its_place(engine: SlurmEngine, framework: str) -> None:
    variable, configuration, names = CONTRACTS[framework]
    workload = engine.submit(
        "places",
        configuration=configuration,
        distributedFramework=framework,
        command="printenv RANK " + variable,
    )
    engine.until(workload, "Completed")
    told = [engine.log(workload, name).splitlines() for name in names]
    assert [rank for rank, _ in told] == [str(number) for number in range(len(names))]
    if framework == "JAX":
        assert [place for _, place in told] == ["0", "1"]
        return
    configs = [json.loads(text) for _, text in told]
    assert [config["task"] for config in configs] == [
        {"type": "chief", "index": 0},
        {"type": "worker", "index": 0},
        {"type": "worker", "index": 1},
    ]
    assert len({json.dumps(config["cluster"]) for config in configs}) == 1
    assert [len(found) for found in configs[0]["cluster"].values()] == [1, 2]


def test_the_gang_of_mxnet_finds_its_scheduler(engine: SlurmEngine) -> None:
    told = ("ROLE", "NUM_SERVER", "NUM_WORKER", "PS_ROOT_URI")
    workload = engine.submit(
        "kvstore",
        configuration=WORKERS_AND_MASTER,
        distributedFramework="MXNet",
        numServers=1,
        command="printenv " + " ".join(f"DMLC_{name}" for name in told),
    )
    engine.until(workload, "Completed")
    names = ("scheduler-0", "server-0", "worker-0", "worker-1")
    said = [engine.log(workload, name).split() for name in names]
    assert [words[:3] for words in said] == [[name.partition("-")[0], "1", "2"] for name in names]
    assert len({words[3] for words in said}) == 1


def test_a_stopped_workload_ends_on_the_cluster_and_runs_again(engine: SlurmEngine) -> None:
    workload = engine.submit("sleeper", command="sleep 1000", numWorkers=1)
    engine.until(workload, "Running")
    url = f"/api/v1/workloads/distributed/{workload.pk}"
    assert engine.client.post(f"{url}/suspend").status_code == 202
    engine.until(workload, "Stopped")
    assert _running(engine.lab, workload) == 0
    assert engine.client.post(f"{url}/resume").status_code == 202
    engine.until(workload, "Running")
    assert engine.client.delete(url).status_code == 202
    wait_for(lambda: _running(engine.lab, workload) == 0, seconds=30)


def _running(lab: Lab, workload: Workload) -> int:
    """Jobs of it alone: those of other tests may still be ending."""
    return lab.run("squeue", "-h", "-o", "%k").count(str(workload.pk))
