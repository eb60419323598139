"""The commands of the quick starts that people know, as printed but for the program's name."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.beds.kubernetes.bed import Bed
from tests.cli.conftest import PROJECT, Line
from tests.support.installation import embedded
from tests.support.waiting import wait_for

MPI = r"""
gangline config project team-a
gangline submit-dist mpi --workers=2 -g 1 \
        -i gcr.io/run-ai-demo/quickstart-distributed:v0.3.0 -e RUNAI_SLEEP_SECS=60
"""
LOOK = """
gangline list jobs
gangline describe job dist
gangline logs dist
"""
DELETE = """
        gangline delete job dist
"""
OLDER = r"""
gangline config project "project-name"
gangline submit-dist pytorch "workload-name" --workers=2 -g 0.1 \
   -i kubeflow/pytorch-dist-mnist:latest
"""
NEWER = r"""
gangline project set "project-name"
gangline distributed submit "workload-name" --framework PyTorch \
   -i kubeflow/pytorch-dist-mnist:latest --workers 2 \
   --gpu-request-type portion --gpu-portion-request 0.1 --gpu-devices-request 1 \
   --cpu-memory-request 100M
"""
HERE = " -i local://system --cpu 0.1"
"""This machine runs no containers: its own Python, with the script that an image brings."""
SCRIPT = " --command -- sh -c 'echo rank; sleep 60'"


def ran(line: Line, text: str) -> str:
    done = line.shell(text)
    assert done.code == 0, done
    return done.out


def status_of(line: Line, name: str) -> str:
    row = json.loads(line.ok("describe", name, "-o", "json"))["workload"]
    return str(row["status"])


def until(line: Line, name: str, *statuses: str) -> None:
    wait_for(lambda: status_of(line, name) in statuses, seconds=60, every=0.2, what=name)


def here(text: str) -> str:
    """The same in a project of the demo, and for what this machine can run."""
    for old, new in (
        ("team-a", PROJECT),
        ("project-name", PROJECT),
        (" -i gcr.io/run-ai-demo/quickstart-distributed:v0.3.0", HERE),
        (" -i kubeflow/pytorch-dist-mnist:latest", HERE),
    ):
        text = text.replace(old, new)
    return text.rstrip() + SCRIPT


def test_the_pytorch_quick_start_in_both_styles(gangline: Line) -> None:
    shares = []
    for text in (OLDER, NEWER):
        ran(gangline, here(text))
        row = json.loads(gangline.ok("list", "--json"))[0]
        shares.append(row["workloadRequestedResources"]["gpu"]["request"])
        assert row["requestedPods"]["number"] == 3
        ran(gangline, "gangline delete workload-name")
        until_gone(gangline, "workload-name")
    assert shares == [pytest.approx(0.3)] * 2


def test_the_mpi_quick_start_on_this_machine(gangline: Line) -> None:
    ran(gangline, here(MPI))
    until(gangline, "dist", "Running")
    wait_for(lambda: "rank" in gangline("logs", "dist").out, seconds=20, every=0.2)
    told = ran(gangline, LOOK)
    assert "dist-worker-1" in told
    assert "rank" in told.partition("MESSAGE")[2]
    ran(gangline, DELETE)
    until_gone(gangline, "dist")


def until_gone(line: Line, name: str) -> None:
    wait_for(lambda: line("describe", name).code == 5, seconds=60, every=0.2, what="its end")


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """A researcher of a product with the bed connected, by the command line itself."""
    folder = tmp_path_factory.mktemp("lab")
    with embedded(folder / "data", GANGLINE_CLUSTER_ADDRESSES="127.0.0.0/8") as site:
        site.start()
        admin = Line(folder / "admin", site.url)
        site.sign_in("administrator")
        admin.program("login", "token", site.url, "--password-stdin", given=site.token)
        body: dict[str, Any] = {
            "kind": "kubernetes",
            "connection": {"namespacePrefix": f"cli-{folder.parent.name[-4:]}".lower()},
            "credential": {"kubeconfig": bed.kubeconfig("gangline")},
        }
        (folder / "lab.json").write_text(json.dumps(body))
        admin.ok("cluster", "create", "lab", "-f", str(folder / "lab.json"))
        wait_for(lambda: is_connected(admin), seconds=90, every=0.3, what="the check")
        site.manage("project", "team-a", "--cluster", "lab", "--researcher", "researcher")
        site.sign_in("researcher")
        line = Line(folder / "researcher", site.url)
        line.program("login", "token", site.url, "--password-stdin", given=site.token)
        try:
            yield line
        finally:
            line("delete", "--all", "--yes", "-p", "team-a")
            wait_for(lambda: line.ok("list", "-A", "--json").strip() == "[]", seconds=60)
            site.stop()


def is_connected(line: Line) -> bool:
    rows = json.loads(line.ok("cluster", "list", "-o", "json"))
    return all(one["status"]["state"] == "Connected" for one in rows)


@pytest.mark.needs_kubernetes
@pytest.mark.thorough
def test_the_mpi_quick_start_on_kubernetes(lab: Line) -> None:
    ran(lab, MPI)
    until(lab, "dist", "Running")
    told = ran(lab, LOOK)
    assert "dist-worker-1" in told
    ran(lab, DELETE)
    until_gone(lab, "dist")
