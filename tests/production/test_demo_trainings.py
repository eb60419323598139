"""The demo's templates train for real: told from the logs and the end of the workloads alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.example_gangs import Training
from tests.support.horovod_runtime import horovod_python
from tests.support.installation import Embedded, embedded

TEMPLATES = {
    "digits-xgboost": ("XGBoost", 3, 0.94),
    "digits-pytorch-ddp": ("PyTorch", 3, 0.95),
    "digits-mpi-sgd": ("MPI", 2, 0.94),
    "digits-jax": ("JAX", 2, 0.95),
    "digits-horovod": ("MPI", 2, 0.94),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, examples_runtime: Path) -> Iterator[Embedded]:
    """A fresh installation with the runtime of the examples, as `make run` leaves it."""
    folder = tmp_path_factory.mktemp("demo") / "data"
    folder.mkdir()
    (folder / "runtimes").symlink_to(examples_runtime.parent)
    with embedded(folder) as server:
        server.start()
        server.sign_in("researcher")
        yield server


@pytest.mark.thorough  # their programs are run in `tests/examples`
@pytest.mark.parametrize(
    "name",
    [
        "digits-xgboost",
        pytest.param("digits-pytorch-ddp", marks=pytest.mark.needs_torch),
        pytest.param("digits-mpi-sgd", marks=pytest.mark.needs_mpi),
        "digits-jax",
        pytest.param("digits-horovod", marks=pytest.mark.needs_torch),
    ],
)
def test_a_template_of_the_demo_trains(site: Embedded, name: str) -> None:
    framework, ranks, least_accuracy = TEMPLATES[name]
    if name == "digits-horovod":
        horovod_python()
    code = f"from assets.models import Template; print(Template.objects.get(name={name!r}).pk)"
    template = site.manage("shell", "--verbosity=0", "-c", code).strip().splitlines()[-1]
    project = site.get("org-unit/projects")["projects"][0]
    answer = site.post_workload(
        {
            "name": name,
            "projectId": project["id"],
            "clusterId": project["clusterId"],
            "templateId": template,
            "spec": {"distributedFramework": framework},
        }
    )
    assert answer.status == 202, answer
    workload = str(answer.body["workloadId"])
    row = site.until(workload, "Completed", "Failed", seconds=120)
    log = site.request("GET", f"workloads/{workload}/logs?format=text").body
    training = Training(output=str(log), exit_codes=())
    assert row["status"] == "Completed", f"{row['phaseMessage']} {training.output}"
    assert len(training.digests) == ranks
    assert len(set(training.digests.values())) == 1
    assert training.losses[-1] < training.losses[0] / 3
    assert training.accuracy >= least_accuracy
