"""The demo organisation: a department, two projects, two people, one policy, ready templates."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from assets.models import Template
from gangline.accounts.models import User
from gangline.accounts.services import create_user, deactivate, reactivate
from gangline.clusters.models import Cluster
from gangline.organization.models import Department, Project
from gangline.organization.quotas import pools_of
from gangline.people.services import give
from gangline.policies import services as policies
from gangline.policies.models import Policy
from gangline.resources.services import make
from gangline.scopes.selectors import tenant_scope
from gangline.spec.frameworks import FRAMEWORKS, WORKERS_AND_MASTER, WORKERS_ONLY
from gangline.supervisor import installation

ADMINISTRATOR, RESEARCHER = "administrator", "researcher"
DEPARTMENT, VISION, NLP = "research", "vision", "nlp"

VISION_POLICY = """\
# Project vision: small gangs, so that everyone gets a turn.
defaults:
  worker:
    compute: {cpuMemoryRequest: 256M}
rules:
  worker:
    numWorkers: {min: 1, max: 4}
    backoffLimit: {max: 3}
    terminationGracePeriodSeconds: {canEdit: false}
"""

_COMPUTE = {"worker.numWorkers": 2, "worker.compute.cpuCoreRequest": 0.5}
_XGBOOST = _COMPUTE | {
    "worker.image": "local://examples",
    "worker.command": "python examples/digits_xgboost.py",
    "worker.args": "--rounds 30",
    "worker.compute.cpuMemoryRequest": "256M",
}
_PYTORCH = _COMPUTE | {
    "worker.image": "local://system",
    "worker.command": "python3 examples/digits_ddp.py",
    # The system's Python has no scikit-learn; the examples' runtime brings its digits along.
    "worker.args": "--epochs 15 --data $(GANGLINE_RUNTIMES)/examples",
    "worker.compute.cpuMemoryRequest": "512M",
}
_MPI = _COMPUTE | {
    "worker.image": "local://examples",
    "worker.command": "mpirun python examples/digits_mpi_sgd.py",
    "worker.args": "--epochs 20",
    "worker.compute.cpuMemoryRequest": "256M",
}
_JAX = _COMPUTE | {
    "worker.image": "local://examples",
    "worker.command": "python examples/digits_jax.py",
    "worker.args": "--epochs 15",
    "worker.compute.cpuMemoryRequest": "1G",
}
_TENSORFLOW = _COMPUTE | {
    "worker.image": "local://tensorflow",
    "worker.command": "python examples/digits_tensorflow.py",
    "worker.args": "--epochs 15",
    "worker.compute.cpuMemoryRequest": "1G",
}
_HOROVOD = _COMPUTE | {
    "worker.image": "local://horovod",
    "worker.launcher": "gloo",
    "worker.command": "python examples/digits_horovod.py",
    "worker.args": "--epochs 15 --data $(GANGLINE_RUNTIMES)/examples",
    "worker.compute.cpuMemoryRequest": "512M",
}
_TEMPLATES: tuple[tuple[str, str, str, Mapping[str, Any]], ...] = (
    ("digits-xgboost", "XGBoost", "Digits, distributed XGBoost: 2 workers and a master.", _XGBOOST),
    (
        "digits-pytorch-ddp",
        "PyTorch",
        "Digits, PyTorch DDP over gloo: 2 workers and a master.",
        _PYTORCH,
    ),
    ("digits-mpi-sgd", "MPI", "Digits, softmax regression by MPI all-reduce: 2 workers.", _MPI),
    ("digits-jax", "JAX", "Digits, data-parallel JAX: 2 workers.", _JAX),
    (
        "digits-tensorflow",
        "TF",
        "Digits, TensorFlow’s multi-worker strategy in a loop of its own: 2 workers and a chief.",
        _TENSORFLOW,
    ),
    ("digits-horovod", "MPI", "Digits, Horovod with PyTorch over Gloo: 2 workers.", _HOROVOD),
)


@transaction.atomic
def load() -> None:
    """Make what is missing of the demo. What people have changed since stays as it is."""
    installation.begin()
    administrator, researcher = _person(ADMINISTRATOR), _person(RESEARCHER)
    department = _department(installation.local() or installation.this_machine())
    vision = _project(department, VISION, gpus=2)
    nlp = _project(department, NLP)
    tenant = tenant_scope()
    give(actor=None, user=administrator, role="system_administrator", scope=tenant)
    for project in (vision, nlp):
        give(actor=None, user=researcher, role="researcher", scope=project.scope)
    if not Policy.objects.filter(scope=vision.scope).exists():
        policies.save(actor=None, scope=vision.scope, text=VISION_POLICY)
    there = set(Template.objects.filter(scope=tenant).values_list("name", flat=True))
    for name, framework, description, values in _TEMPLATES:
        if name not in there:
            make(
                "template",
                scope=tenant,
                name=name,
                description=description,
                framework=framework,
                configuration=configuration_of(framework),
                master="same",
                values=values,
            )


def configuration_of(framework: str) -> str:
    """With a master where the framework has one."""
    known = FRAMEWORKS[framework].configurations
    return WORKERS_AND_MASTER if WORKERS_AND_MASTER in known else WORKERS_ONLY


@transaction.atomic
def remove() -> None:
    """Take the demo's people and templates away, so that others may be let in.

    Projects stay with the workloads they hold; the people's names stay in the history.
    """
    for user in User.objects.filter(username__in=(ADMINISTRATOR, RESEARCHER), is_active=True):
        deactivate(user)
    names = [name for name, *_ in _TEMPLATES]
    Template.objects.filter(scope=tenant_scope(), name__in=names, created_by=None).delete()


def _person(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        return create_user(username=name)
    if not user.is_active:
        reactivate(user)
    return user


def _department(cluster: Cluster) -> Department:
    found = Department.objects.filter(cluster=cluster, name=DEPARTMENT).first()
    return found or make("department", cluster=cluster, name=DEPARTMENT)


def _project(department: Department, name: str, *, gpus: int = 0) -> Project:
    found = Project.objects.filter(cluster=department.cluster, name=name).first()
    parts = {"quotas": [{"node_pool": pools_of(department.cluster)[0], "gpus": gpus}]}
    return found or make("project", department=department, name=name, parts=parts)
