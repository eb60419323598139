"""A Kubernetes cluster of an installation under test, with the embedded parts at work on it."""

import ipaddress
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connections as database_connections
from pytest_django import Settings

from gangline.access.actor import Actor
from gangline.accounts.models import User
from gangline.accounts.services import create_user
from gangline.clusters import credentials
from gangline.clusters.models import Cluster
from gangline.clusters.services import refresh
from gangline.drivers.kubernetes import labels, log_collector
from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.resources import NAMESPACES, PODS
from gangline.organization.models import Project
from gangline.people.services import give
from gangline.resources import services as resources
from gangline.scopes.services import found
from gangline.spec.frameworks import FRAMEWORKS, WORKERS_AND_MASTER, WORKERS_ONLY
from gangline.spec.sources import Value
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.objects import CONFIG_MAPS, SERVICES
from tests.support.kubelet import Kubelet
from tests.support.waiting import wait_for
from workloads import refs
from workloads.models import Workload
from workloads.services import submission
from workloads.services.submission_types import SubmissionRequest
from workloads.watching.ticker import Ticker
from workloads.watching.watcher import Watchers

IMAGE = "registry.example/training:1"


@dataclass
class KubernetesEngine:
    """One cluster, one project on it, and an administrator who submits."""

    bed: Bed
    cluster: Cluster
    project: Project
    owner: User
    install: str
    made: list[Workload] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        return f"{self.cluster.config['namespacePrefix']}-{self.project.name}"

    def submit(
        self,
        name: str,
        *,
        framework: str = "PyTorch",
        configuration: str = "",
        workers: int = 2,
        behave: str = "sleep",
        said: Mapping[str, Any] | None = None,
    ) -> Workload:
        """Submit as a person does; `tests.support.kubelet` lets the pods ``behave``.

        ``configuration``: workers only, where the framework has that, unless said.
        """
        has = FRAMEWORKS[framework].configurations
        configuration = configuration or (WORKERS_ONLY if WORKERS_ONLY in has else has[0])
        values: dict[str, Any] = {
            "image": IMAGE,
            "command": f"{'mpirun ' if framework == 'MPI' else ''}behave {behave}",
            "numWorkers": workers,
            **(said or {}),
        }
        request = SubmissionRequest(
            name=name,
            project_id=self.project.pk,
            cluster_id=self.cluster.pk,
            framework=framework,
            configuration=configuration,
            master="same" if configuration == WORKERS_AND_MASTER else "none",
            given={f"worker.{path}": Value(value) for path, value in values.items()},
        )
        done = submission.submit(actor=Actor(self.owner, "api"), request=request)
        self.made.append(done.workload)
        return done.workload

    def until(self, workload: Workload, status: str, *, seconds: float = 90) -> Workload:
        """Wait for this word in the workload's row."""

        def look() -> bool:
            workload.refresh_from_db()
            return workload.status == status

        try:
            wait_for(look, seconds=seconds)
        except AssertionError:
            told = f"{workload.status}: {workload.reason} {workload.next_reason}"
            raise AssertionError(f"{workload.name} is not {status} but {told}") from None
        return workload

    def object(self, workload: Workload) -> dict[str, Any] | None:
        """The job object of a workload, as the API server has it now."""
        kind = KINDS[workload.framework]
        answer = self.bed.client.get(kind.resource, self.namespace, workload.name)
        return answer.body if answer.ok else None

    def pods(self, workload: Workload) -> list[dict[str, Any]]:
        """Its pods, as the API server has them now."""
        wanted = f"{labels.WORKLOAD}={workload.pk}"
        answer = self.bed.client.list(PODS, self.namespace, labelSelector=wanted)
        return list(answer.body["items"])

    def left(self) -> dict[str, int]:
        """How many objects of each kind bear this installation's label, or a job's."""
        found: dict[str, int] = {}
        for resource in (*(k.resource for k in KINDS.values()), PODS, SERVICES, CONFIG_MAPS):
            answer = self.bed.client.list(resource, self.namespace)
            items = [
                item
                for item in (answer.body.get("items") or () if answer.ok else ())
                if item["metadata"]["name"] != "kube-root-ca.crt"
            ]
            if items:
                found[resource.plural] = len(items)
        return found


@contextmanager
def engine_on(
    bed: Bed, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> Iterator[KubernetesEngine]:
    """An engine at work on ``bed`` for the length of a block."""
    # The bed's kubelet, unlike a real one, does not end the stream of a pod that has ended.
    monkeypatch.setattr(log_collector, "SILENCE", 2.0)
    loopback = (ipaddress.ip_network("127.0.0.0/8"),)
    settings.GANGLINE = settings.GANGLINE.model_copy(update={"cluster_addresses": loopback})
    made = make(bed, create_user(username="researcher"))
    try:
        with at_work(made):
            yield made
    finally:
        remove(made)


def make(bed: Bed, owner: User, access: ClusterCredentials | None = None) -> KubernetesEngine:
    """Found an installation whose cluster is the bed, as the user of the shipped roles.

    ``access``: another way there, such as through a proxy that fails.
    """
    found(name="Test")
    cluster = resources.make("cluster", actor=None, name="bed", kind="kubernetes")
    cluster.config = {"namespacePrefix": f"t{secrets.token_hex(3)}"}
    cluster.save(update_fields=["config"])
    credentials.store(cluster, access or bed.restricted, by=None)
    refresh(cluster)
    assert cluster.health == "Connected", cluster.health_reason
    department = resources.make("department", cluster=cluster, name="research")
    project = resources.make("project", department=department, name="vision")
    give(actor=None, user=owner, role="researcher", scope=project.scope)
    return KubernetesEngine(bed, cluster, project, owner, refs.installation_id())


@contextmanager
def at_work(engine: KubernetesEngine) -> Iterator[threading.Event]:
    """Ticker and watchers in threads, and pods that do what their scripts say."""
    with Kubelet(engine.bed, engine.install), parts_at_work() as stop:
        yield stop


@contextmanager
def parts_at_work() -> Iterator[threading.Event]:
    """Ticker and watchers in threads, whatever the cluster."""
    stop = threading.Event()

    def run(part: Ticker | Watchers) -> None:
        try:
            part.run(stop)
        finally:
            database_connections.close_all()

    parts: list[Callable[[], None]] = [lambda: run(Ticker()), lambda: run(Watchers())]
    threads = [threading.Thread(target=part) for part in parts]
    for thread in threads:
        thread.start()
    try:
        yield stop
    finally:
        stop.set()
        for thread in threads:
            thread.join(40)
        # Watchers are waited for shortly by the product, and must not outlive the database here.
        for thread in threading.enumerate():
            if thread.name.startswith("watch-"):
                thread.join(40)


def remove(engine: KubernetesEngine) -> None:
    """Remove the project's namespace and all that is in it."""
    client = engine.bed.client
    answer = client.get(NAMESPACES, "", engine.namespace)
    if not answer.ok:
        return
    for kind in KINDS.values():
        there = client.list(kind.resource, engine.namespace)
        # Not every bed has every kind.
        for item in (there.body.get("items") or ()) if there.ok else ():
            meta = item["metadata"]
            client.delete(kind.resource, engine.namespace, meta["name"], uid=meta["uid"])
    client.delete(NAMESPACES, "", engine.namespace, uid=answer.body["metadata"]["uid"])
