"""An organisation to test in: two projects on one local cluster, and a person in every role."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.test import Client

from gangline.access.actor import Actor
from gangline.access.models import AccessRule
from gangline.accounts.models import User
from gangline.accounts.services import make_token
from gangline.clusters.connections import host_id
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.organization.models import Department, Project
from gangline.resources.services import make
from gangline.scopes.models import Installation, Scope
from gangline.scopes.services import found
from workloads.models import Attempt, Workload

PASSWORD = "correct horse battery staple"
IMAGE = "local://examples"
FACTS: dict[str, Any] = {
    "version": "test",
    "frameworks": [
        {"framework": name, "available": True, "reason": "", "version": "", "runtimes": [IMAGE]}
        for name in ("PyTorch", "XGBoost", "MPI")
    ]
    + [
        {"framework": "TF", "available": False, "reason": "tensorflow cannot be imported.",
         "version": "", "runtimes": []},
        {"framework": "JAX", "available": False, "reason": "jax cannot be imported.",
         "version": "", "runtimes": []},
    ],
    "runtimes": [
        {"reference": IMAGE, "title": "Examples", "available": True,
         "frameworks": ["PyTorch", "XGBoost", "MPI"], "detail": "", "reason": ""}
    ],
    "detail": {},
}  # fmt: skip
CAPACITY: dict[str, Any] = {
    "admission": "ours",
    "cpus": 8.0,
    "memory": 16 * 10**9,
    "gpus": ["0", "1"],
    "gpus_declared": True,
    "ports": [16000, 32000],
}


@dataclass
class World:
    """Names of people are ``<role>-<project>``; the tenant's administrator is ``administrator``."""

    installation: Installation
    cluster: Cluster
    department: Department
    vision: Project
    nlp: Project
    people: dict[str, User] = field(default_factory=dict)
    roles: dict[str, tuple[str, Scope]] = field(default_factory=dict)
    """Role and scope of each person who has one."""
    _tokens: dict[str, str] = field(default_factory=dict)

    def actor(self, name: str) -> Actor:
        return Actor(user=self.people[name], channel="api")

    def token(self, name: str) -> str:
        """One bearer token per person."""
        if name not in self._tokens:
            new = make_token(user=self.people[name], name="tests", days=1)
            self._tokens[name] = new.text
        return self._tokens[name]

    def forget_tokens(self) -> None:
        """Make new tokens when they are asked for next."""
        self._tokens.clear()

    def client(self, name: str) -> Client:
        """A browser in which the person has signed in."""
        made = Client()
        made.force_login(self.people[name], backend="django.contrib.auth.backends.ModelBackend")
        return made

    def headers(self, name: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token(name)}"}

    def body(self, name: str = "digits", **changes: Any) -> dict[str, Any]:
        """A submission that is accepted; ``changes`` replace keys of it."""
        return {
            "name": name,
            "projectId": str(self.vision.pk),
            "clusterId": str(self.cluster.pk),
            "spec": {
                "distributedFramework": "XGBoost",
                "image": IMAGE,
                "command": "python train.py",
                "numWorkers": 2,
                "compute": {"cpuCoreRequest": 0.5, "cpuMemoryRequest": "256M"},
            },
            **changes,
        }

    def spec_body(self, name: str = "digits", **spec: Any) -> dict[str, Any]:
        """The same with changed fields of ``spec``; None takes a field away."""
        body = self.body(name)
        merged: Mapping[str, Any] = {**body["spec"], **spec}
        body["spec"] = {key: value for key, value in merged.items() if value is not None}
        return body


def make_world(*, capacity: Mapping[str, Any] | None = None) -> World:
    """Build it with the product's own services, but for the people."""
    installation = found(name="Test")
    cluster = make(
        "cluster",
        actor=None,
        name="this-machine",
        kind="local",
        host_id=host_id(settings.GANGLINE.data_dir),
    )
    now = db_now()
    Cluster.objects.filter(pk=cluster.pk).update(
        facts=FACTS,
        capacity=dict(capacity or CAPACITY),
        health="Connected",
        health_since=now,
        last_ok_at=now,
    )
    cluster.refresh_from_db()
    department = make("department", cluster=cluster, name="research")
    vision = make(
        "project",
        department=department,
        name="vision",
        parts={"quotas": [{"node_pool": cluster.pools.get(), "gpus": 2}]},
    )
    nlp = make("project", department=department, name="nlp")
    world = World(installation, cluster, department, vision, nlp)
    roles = {
        "administrator": ("system_administrator", installation.scope),
        "head": ("department_administrator", department.scope),
    }
    for project in (vision, nlp):
        for role in ("project_administrator", "researcher", "viewer"):
            roles[f"{role}-{project.name}"] = (role, project.scope)
    world.roles = roles
    world.people = _people([*roles, "stranger"])
    AccessRule.objects.bulk_create(
        AccessRule(user=world.people[name], role=role, scope=scope, created_at=now)
        for name, (role, scope) in roles.items()
    )
    return world


def _people(names: list[str]) -> dict[str, User]:
    """Make them in one statement: one by one through the services took half of a test's set-up."""
    people = [User(username=name, password=make_password(None)) for name in names]
    return {user.username: user for user in User.objects.bulk_create(people)}


def copies(workload: Workload, count: int) -> None:
    """That many more of a workload with one attempt."""
    attempt = workload.attempts.get()
    for start in range(0, count, 2000):
        made, tried = [], []
        for number in range(start, min(start + 2000, count)):
            one, first = copy(workload), copy(attempt)
            one.pk, one.name = uuid4(), f"copy-{number}"
            first.pk, first.workload_id = None, one.pk
            made.append(one)
            tried.append(first)
        Workload.objects.bulk_create(made)
        Attempt.objects.bulk_create(tried)
