"""The commands of the quick starts that people know, as printed but for the program's name."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from gangline.drivers.kubernetes.resources import PODS
from tests.beds.kubernetes.bed import Bed
from tests.cli.conftest import PROJECT, Line
from tests.cli.terminals import Terminal
from tests.cli.test_forwarding import answers, forwarded
from tests.cli.test_lost_ways import server
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
SESSION = r"""
gangline submit-dist mpi dist-int --workers=2 -g 1 \
        -i gcr.io/run-ai-demo/quickstart-distributed:v0.3.0 --interactive \
        -- sh -c "sleep infinity"
"""
OLDER = r"""
gangline config project "project-name"
gangline submit-dist pytorch "workload-name" --workers=2 -g 0.1 \
   -i kubeflow/pytorch-dist-mnist:latest
"""
NEWER = r"""
gangline login --help
gangline project set "project-name"
gangline distributed submit "workload-name" --framework PyTorch \
   -i kubeflow/pytorch-dist-mnist:latest --workers 2 \
   --gpu-request-type portion --gpu-portion-request 0.1 --gpu-devices-request 1 \
   --cpu-memory-request 100M
"""
KVSTORE = r"""
gangline submit-dist mxnet kv -p team-a --workers 2 --servers 2 -i mxnet/python:1.9 --dry-run \
    --command -- python train.py
"""
"""The local tracker of MXNet's tutorial: dmlc_local.py -n 2 -s 2 python train.py."""
IMAGES = (
    " -i gcr.io/run-ai-demo/quickstart-distributed:v0.3.0",
    " -i kubeflow/pytorch-dist-mnist:latest",
)
HERE = " -i local://system --cpu 0.1"
"""This machine runs no containers: its own Python, with the script that an image brings."""
SCRIPT = " --command -- sh -c 'echo rank; sleep 60'"
ASKED, TOLD = "echo workers=$RUNAI_MPI_NUM_WORKERS\n", "workers=2"
PORT = 6006


def ran(line: Line, text: str) -> str:
    done = line.shell(text)
    assert done.code == 0, done
    return done.out


def status_of(line: Line, name: str) -> str:
    row = json.loads(line.ok("describe", name, "-o", "json"))["workload"]
    return str(row["status"])


def until(line: Line, name: str, *statuses: str) -> None:
    wait_for(lambda: status_of(line, name) in statuses, seconds=60, every=0.2, what=name)


def until_gone(line: Line, name: str) -> None:
    wait_for(lambda: line("describe", name).code == 5, seconds=60, every=0.2, what="its end")


def in_a_shell(line: Line, name: str) -> None:
    """At a terminal, in the launcher, which knows how many workers there are."""
    with Terminal(["gangline", "bash", name], line.shell_environment, rows=31, columns=99) as at:
        at.until_told(ASKED, TOLD)
        at.type("exit\n")
        assert at.code() == 0


def here(text: str) -> str:
    """The same in a project of the demo, and for what this machine can run."""
    for name in ("team-a", "project-name"):
        text = text.replace(name, PROJECT)
    for image in IMAGES:
        text = text.replace(image, HERE)
    return text.rstrip() + ("" if " -- " in text else SCRIPT)


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
    ran(gangline, here(SESSION))
    until(gangline, "dist-int", "Running")
    assert json.loads(gangline.ok("list", "--json"))[0]["runningPods"] == 3
    in_a_shell(gangline, "dist-int")


@dataclass
class Lab:
    """A researcher of a product with the bed connected, by the command line itself."""

    line: Line
    bed: Bed
    namespace: str

    def pods(self, name: str) -> list[str]:
        """Names of the pods of a workload on the cluster."""
        found = self.bed.client.list(PODS, self.namespace).body["items"]
        names = [str(one["metadata"]["name"]) for one in found]
        return [one for one in names if one.startswith(f"{name}-")]


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lab")
    prefix = f"cli-{folder.parent.name[-4:]}".lower()
    with embedded(folder / "data", GANGLINE_CLUSTER_ADDRESSES="127.0.0.0/8") as site:
        site.start()
        admin = Line(folder / "admin", site.url)
        site.sign_in("administrator")
        admin.program("login", "token", site.url, "--password-stdin", given=site.token)
        body: dict[str, Any] = {
            "kind": "kubernetes",
            "connection": {"namespacePrefix": prefix},
            "credential": {"kubeconfig": bed.kubeconfig("gangline")},
        }
        (folder / "lab.json").write_text(json.dumps(body))
        admin.ok("cluster", "create", "lab", "-f", str(folder / "lab.json"))
        wait_for(lambda: is_connected(admin), seconds=90, every=0.3, what="the check")
        for name in ("team-a", "project-name"):
            site.manage("project", name, "--cluster", "lab", "--researcher", "researcher")
        site.sign_in("researcher")
        line = Line(folder / "researcher", site.url)
        line.program("login", "token", site.url, "--password-stdin", given=site.token)
        try:
            yield Lab(line, bed, f"{prefix}-team-a")
        finally:
            for name in ("team-a", "project-name"):
                line("delete", "--all", "--yes", "-p", name)
            wait_for(lambda: line.ok("list", "-A", "--json").strip() == "[]", seconds=60)
            site.stop()


def is_connected(line: Line) -> bool:
    rows = json.loads(line.ok("cluster", "list", "-o", "json"))
    return all(one["status"]["state"] == "Connected" for one in rows)


@pytest.mark.needs_kubernetes
@pytest.mark.thorough
def test_the_mpi_quick_start_on_kubernetes(lab: Lab, tmp_path: Path) -> None:
    line = lab.line
    ran(line, MPI)
    until(line, "dist", "Running")
    pods = lab.pods("dist")
    assert len(pods) == 3
    for pod in pods:
        lab.bed.write_log(lab.namespace, pod, [f"a line of {pod}"])
    wait_for(lambda: line("logs", "dist").out.count("a line of") == 3, seconds=30, every=0.3)
    told = ran(line, LOOK)
    assert "dist-worker-1" in told
    ran(line, DELETE)
    until_gone(line, "dist")

    ran(line, SESSION)
    until(line, "dist-int", "Running")
    (launcher,) = [pod for pod in lab.pods("dist-int") if "launcher" in pod]
    lab.bed.serve_exec(lab.namespace, launcher, tmp_path)
    wait_for(lambda: line("exec", "dist-int", "--", "true").code == 0, seconds=30, every=0.5)
    in_a_shell(line, "dist-int")
    with server(lambda path: (200, "hello\n" * 100_000)) as url:
        lab.bed.serve_port(lab.namespace, launcher, PORT, int(url.rpartition(":")[2]))
        with forwarded(line, "dist-int", PORT, PORT + 1) as ((page, foreign), end):
            wait_for(lambda: answers(page), seconds=30, every=0.5, what="the page")
            assert httpx.get(f"{page}/small").text == "hello\n" * 100_000
            assert not answers(foreign)
            assert str(PORT + 1) in end()


@pytest.mark.needs_kubernetes
@pytest.mark.thorough
def test_the_pytorch_quick_start_on_kubernetes(lab: Lab) -> None:
    """A cluster whose scheduler gives out whole GPUs says so of a part of one; whole ones run."""
    for text, flag, part, whole in (
        (OLDER, "--gpu", "-g 0.1", "-g 1"),
        (
            NEWER,
            "--gpu-portion-request",
            "--gpu-request-type portion --gpu-portion-request 0.1",
            "",
        ),
    ):
        refused = lab.line.shell(text)
        assert (refused.code, flag in refused.err) == (3, True), refused
        ran(lab.line, text.replace(part, whole))
        until(lab.line, "workload-name", "Running")
        row = json.loads(lab.line.ok("list", "--json"))[0]
        assert row["workloadRequestedResources"]["gpu"]["request"] == 3
        ran(lab.line, "gangline delete workload-name")
        until_gone(lab.line, "workload-name")


@pytest.mark.needs_kubernetes
@pytest.mark.thorough
def test_a_key_value_store_as_its_tutorial_starts_it(lab: Lab) -> None:
    manifest = yaml.safe_load(ran(lab.line, KVSTORE))
    jobs = manifest["spec"]["replicatedJobs"]
    pods = {one["name"]: one["template"]["spec"]["parallelism"] for one in jobs}
    assert (manifest["kind"], pods["server"], pods["worker"]) == ("JobSet", 2, 2)
