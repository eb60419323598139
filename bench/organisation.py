"""An organisation of some size, made with the product's own services."""

from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth import login
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest

from bench import rules
from gangline.accounts.models import User
from gangline.accounts.services import create_user, make_token
from gangline.clusters import credentials
from gangline.clusters.models import Cluster
from gangline.clusters.services import refresh
from gangline.db.clock import db_now
from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.organization.models import Project
from gangline.people.services import give
from gangline.policies.models import Policy
from gangline.resources import services as resources
from gangline.scopes.models import Installation
from gangline.scopes.services import found
from gangline.settings.catalogue import (
    PERSON_REQUESTS,
    SIGN_INS,
    SUBMISSIONS,
    TOKEN_REQUESTS,
    TOLERATIONS,
    TOPOLOGY,
)
from tests.support.certificates import jwt
from tests.support.settings import turn

ADMINISTRATOR, RESEARCHER, NEWCOMER = "administrator", "researcher", "newcomer"
DEPARTMENTS, PROJECTS, PEOPLE = 4, 20, 30
FRAMEWORKS = ("PyTorch", "XGBoost", "MPI", "TF", "JAX")
FACTS: dict[str, Any] = {
    "version": "bench",
    "frameworks": [
        {"framework": name, "available": True, "reason": "", "version": "",
         "runtimes": [rules.IMAGE]}
        for name in FRAMEWORKS
    ],
    "runtimes": [
        {"reference": rules.IMAGE, "title": "Examples", "available": True,
         "frameworks": list(FRAMEWORKS), "detail": "", "reason": ""}
    ],
    "detail": {},
}  # fmt: skip
CAPACITY: dict[str, Any] = {
    "admission": "ours", "cpus": 512.0, "memory": 4 * 10**12, "gpus": [str(n) for n in range(64)],
    "gpus_declared": True, "ports": [16000, 32000],
}  # fmt: skip


@dataclass
class Organisation:
    """Twenty projects in four departments of one cluster."""

    installation: Installation
    cluster: Cluster
    projects: list[Project]
    people: list[User]
    by_name: dict[str, User] = field(default_factory=dict)


def make_once() -> Organisation:
    """Make it, or find it again."""
    known = Installation.objects.first()
    if known is None:
        return make()
    people = list(User.objects.order_by("username"))
    return Organisation(
        known, Cluster.objects.get(), list(Project.objects.order_by("name")),
        [user for user in people if user.username.startswith("person-")],
        {user.username: user for user in people},
    )  # fmt: skip


def make(access: ClusterCredentials | None = None) -> Organisation:
    """The administrator sees everything, the researcher two projects, the newcomer a small one.

    ``access``: of a Kubernetes that is their cluster, and is asked what it has.
    """
    installation = found(name="Bench")
    for limit in (PERSON_REQUESTS, SIGN_INS, SUBMISSIONS, TOKEN_REQUESTS):
        turn(limit, limit.most)  # requests are counted as ever, and nobody is told to wait
    cluster = connect(access) if access else _elsewhere()
    departments = [
        resources.make("department", cluster=cluster, name=f"department-{number}")
        for number in range(DEPARTMENTS)
    ]
    projects = [
        resources.make(
            "project", department=departments[number % DEPARTMENTS], name=f"project-{number:02}"
        )
        for number in range(PROJECTS)
    ]
    people = [create_user(username=f"person-{number:02}") for number in range(PEOPLE)]
    made = Organisation(installation, cluster, projects, people)
    for name, grants in {
        ADMINISTRATOR: [("system_administrator", installation.scope)],
        RESEARCHER: [("researcher", project.scope) for project in projects[:2]],
        NEWCOMER: [("researcher", projects[-1].scope)],
    }.items():
        made.by_name[name] = user = create_user(username=name)
        for role, scope in grants:
            give(actor=None, user=user, role=role, scope=scope)
    return made


def connect(access: ClusterCredentials) -> Cluster:
    """A Kubernetes cluster as the product has it once somebody has connected it."""
    cluster: Cluster = resources.make("cluster", actor=None, name="bed", kind="kubernetes")
    credentials.store(cluster, access, by=None)
    health = refresh(cluster)
    if not health.reachable:
        raise AssertionError(health.reason)
    return cluster


def has_everything(cluster: Cluster) -> None:
    """From now on it is a Kubernetes that was checked and lacks nothing; nobody calls it."""
    for setting in (TOLERATIONS, TOPOLOGY):
        turn(setting, True)
    offers = [
        {"framework": name, "available": True, "reason": "", "version": "v1", "runtimes": []}
        for name in FRAMEWORKS
    ]
    detail = {
        "nodes": {"largest": {"gpus": 8, "cpus": 64.0, "memory": 512 * 10**9}},
        "priorities": [{"name": "high", "value": 1000, "preempts": True, "default": False}],
        "storageClasses": [{"name": "fast", "provisioner": "csi.example.org", "default": True}],
    }
    Cluster.objects.filter(pk=cluster.pk).update(
        kind="kubernetes", host_id="",
        facts={"version": "v1.36.3", "frameworks": offers, "runtimes": [], "detail": detail},
    )  # fmt: skip
    cluster.refresh_from_db()
    nowhere = ClusterCredentials(
        "https://192.0.2.7:6443", token=jwt(sub="bench", exp=4_000_000_000)
    )
    credentials.store(cluster, nowhere, by=None)


def _elsewhere() -> Cluster:
    cluster: Cluster = resources.make(
        "cluster", actor=None, name="elsewhere", kind="local", host_id="another-machine"
    )
    now = db_now()
    Cluster.objects.update(
        facts=FACTS, capacity=CAPACITY, health="Connected", health_since=now, last_ok_at=now
    )
    return cluster


def rule(project: Project) -> None:
    """Store 50 rules in the four scopes that hold for ``project``."""
    scopes = [project.scope]
    while scopes[0].parent is not None:
        scopes.insert(0, scopes[0].parent)
    now = db_now()
    for scope, (_, text) in zip(scopes, rules.documents(), strict=True):
        Policy.objects.create(scope=scope, text=text, created_at=now, updated_at=now)


def token(name: str) -> str:
    """The header that calls the API as this person."""
    made = make_token(user=User.objects.get(username=name), name="bench", days=1)
    return f"Bearer {made.text}"


def cookie(name: str) -> str:
    """The header of a browser in which this person is signed in."""
    request = HttpRequest()
    request.session = SessionStore()
    request.META["REMOTE_ADDR"] = "127.0.0.1"
    user = User.objects.get(username=name)
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    request.session.save()
    from django.conf import settings

    return f"{settings.SESSION_COOKIE_NAME}={request.session.session_key}"
