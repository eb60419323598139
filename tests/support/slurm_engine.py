"""A Slurm cluster of an installation under test, with the embedded parts at work on it."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from django.test import Client

from gangline.accounts.models import User
from gangline.accounts.services import create_user, make_token
from gangline.clusters import credentials
from gangline.clusters.connections import driver_for
from gangline.clusters.models import Cluster
from gangline.clusters.services import refresh
from gangline.drivers.slurm.access import ClusterCredentials
from gangline.organization.models import Project
from gangline.people.services import give
from gangline.resources import services as resources
from gangline.scopes.services import found
from gangline.spec.frameworks import WORKERS_ONLY
from tests.beds.slurm.lab import Lab
from tests.support.forms import Filler
from tests.support.kubernetes_engine import parts_at_work
from tests.support.waiting import wait_for
from tests.support.world import World
from workloads import refs
from workloads.models import Workload

OVER = ("Completed", "Failed")
SMALL = {"cpuCoreRequest": 1, "cpuMemoryRequest": "900M"}


@dataclass
class SlurmEngine:
    """One cluster, one project on it, and a researcher who submits through the API."""

    lab: Lab
    cluster: Cluster
    project: Project
    owner: User
    client: Client

    def submit(
        self,
        name: str,
        *,
        configuration: str = WORKERS_ONLY,
        master: Mapping[str, Any] | None = None,
        **spec: Any,
    ) -> Workload:
        """``master``: a set-up of its own."""
        answer = self.post(name, configuration=configuration, master=master, **spec)
        assert answer.status_code == 202, answer.content
        return Workload.objects.get(pk=answer.json()["workloadId"])

    def post(
        self,
        name: str,
        *,
        configuration: str = WORKERS_ONLY,
        master: Mapping[str, Any] | None = None,
        **spec: Any,
    ) -> Any:
        """What the API answers."""
        body: dict[str, Any] = {
            "name": name,
            "projectId": str(self.project.pk),
            "clusterId": str(self.cluster.pk),
            "configuration": configuration,
            "spec": {"numWorkers": 2, "compute": SMALL, **spec},
        }
        if master is not None:
            body |= {"masterSpecSameAsWorker": False, "masterSpec": master}
        return self.client.post(
            "/api/v1/workloads/distributed", body, content_type="application/json"
        )

    def submit_by_form(
        self,
        name: str,
        *,
        framework: str,
        configuration: str = WORKERS_ONLY,
        worker: Mapping[str, str],
        master: Mapping[str, str] | None = None,
    ) -> Workload:
        """What a person types into the fields of each step, by their paths."""
        filler = Filler(cast(World, self), self.owner.username)

        def fill(step: str, role: str, said: Mapping[str, str], go: str = "") -> None:
            answer = filler.post(
                step, {f"{role}.{path}": text for path, text in said.items()}, go=go
            )
            assert answer.status == 303, (step, answer.page.links)

        where = {"projectId": str(self.project.pk), "configuration": configuration}
        fill("setup", "worker", {"distributedFramework": framework}, go="apply")
        fill("setup", "workload", {"name": name, **where})
        fill("workers", "worker", {"numWorkers": "2", **typed(SMALL), **worker})
        if master is not None:
            fill("master", "master", {"different": "on"}, go="apply")
            fill("master", "master", {"different": "on", **master})
        fill("review", "workload", {}, go="create")
        workload = Workload.objects.get(name=name)
        assert workload.framework == framework
        return workload

    @property
    def people(self) -> Mapping[str, User]:
        return {self.owner.username: self.owner}

    @property
    def vision(self) -> Project:
        return self.project

    def until(self, workload: Workload, status: str, *, seconds: float = 90) -> Workload:
        """Wait for this word in the workload's row."""

        def look() -> bool:
            workload.refresh_from_db()
            return workload.status in (status, *OVER)

        wait_for(look, seconds=seconds, every=0.1, what=f"{workload.name} to be {status}")
        assert workload.status == status, f"{workload.reason} {self._logs(workload)}"
        return workload

    def _logs(self, workload: Workload) -> str:
        return "\n".join(self.log(workload, r.name) for r in workload.attempts.get().replicas.all())

    def log(self, workload: Workload, replica: str = "worker-0") -> str:
        """All that a replica printed, once nothing more comes."""
        attempt = workload.attempts.order_by("-no")[0]
        driver, ref = driver_for(workload.cluster), refs.attempt_ref(workload, attempt)
        wait_for(lambda: driver.read_log(ref, replica, 2**40, 10).end, seconds=30)
        lines = driver.read_log(ref, replica, 0, 2**20).data.decode().splitlines()
        return "\n".join(line.split(" ", 3)[3] for line in lines)


def typed(sizes: Mapping[str, Any]) -> dict[str, str]:
    """Sizes as a person types them, each with its unit."""
    said = {f"compute.{name}": str(value) for name, value in sizes.items()}
    memory = "compute.cpuMemoryRequest"
    return {**said, memory: said[memory][:-1], f"{memory}~unit": said[memory][-1]}


@contextmanager
def engine_on(lab: Lab) -> Iterator[SlurmEngine]:
    """An engine at work on the lab for the length of a block."""
    made = make(lab)
    with parts_at_work():
        yield made


def make(lab: Lab) -> SlurmEngine:
    """Found an installation whose cluster is the lab, by commands of this machine."""
    found(name="Test")
    owner = create_user(username="researcher")
    cluster = resources.make("cluster", actor=None, name="lab", kind="slurm")
    runs = lab.folder / "runs" / secrets.token_hex(4)
    cluster.config = {"folder": str(runs), "config": str(lab.config)}
    cluster.save(update_fields=["config"])
    credentials.store(cluster, ClusterCredentials(), by=None)
    refresh(cluster)
    assert cluster.health == "Connected", cluster.health_reason
    department = resources.make("department", cluster=cluster, name="research")
    project = resources.make("project", department=department, name="vision")
    give(actor=None, user=owner, role="researcher", scope=project.scope)
    token = make_token(user=owner, name="tests", days=1).text
    client = Client(headers={"Authorization": f"Bearer {token}"})
    return SlurmEngine(lab, cluster, project, owner, client)
