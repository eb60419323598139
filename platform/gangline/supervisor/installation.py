"""What a new installation needs before its first page; every step may be repeated."""

from collections.abc import Iterator, Sequence

from django.db import transaction

from gangline.accounts.models import User
from gangline.accounts.services import create_user
from gangline.clusters.connections import host_id
from gangline.clusters.models import Cluster
from gangline.clusters.services import measure
from gangline.config.env import env
from gangline.lib.program import program
from gangline.organization.models import Project
from gangline.organization.quotas import pools_of
from gangline.people.services import give
from gangline.resources.registry import get
from gangline.resources.services import make, update
from gangline.scopes.models import Installation
from gangline.scopes.selectors import tenant_scope
from gangline.scopes.services import found

NAME = "Gangline"
LOCAL_NAME = "this-machine"
DEPARTMENT = "main"


_PART = {"compute.gpuDevicesRequest": 1, "compute.gpuRequestType": "portion"}
_SMALL = {"compute.cpuCoreRequest": 0.1, "compute.cpuMemoryRequest": "100M"}
_COMPUTE = (
    ("cpu-only", "No GPU.", _SMALL | {"compute.gpuDevicesRequest": 0}),
    ("small-fraction", "A tenth of a GPU.", _SMALL | _PART | {"compute.gpuPortionRequest": 0.1}),
    ("half-gpu", "Half a GPU.", _SMALL | _PART | {"compute.gpuPortionRequest": 0.5}),
    ("one-gpu", "A whole GPU.", _SMALL | {"compute.gpuDevicesRequest": 1}),
)
_IMAGES = (
    (
        "pytorch",
        "PyTorch",
        "PyTorch 2.5 with CUDA 12.4.",
        "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime",
    ),
    ("tensorflow", "TF", "TensorFlow 2.17 with CUDA.", "tensorflow/tensorflow:2.17.0-gpu"),
    (
        "xgboost",
        "XGBoost",
        "XGBoost and scikit-learn, from Ray’s image of libraries.",
        "rayproject/ray-ml:2.9.0-py310",
    ),
    ("open-mpi", "MPI", "Open MPI and sshd, to build programs upon.", "mpioperator/openmpi:v0.6.0"),
    (
        "horovod",
        "MPI",
        "Horovod 0.28 with PyTorch, TensorFlow and MXNet, over MPI.",
        "horovod/horovod:0.28.1",
    ),
    ("jax", "JAX", "NVIDIA’s JAX with CUDA.", "nvcr.io/nvidia/jax:25.04-py3"),
    ("mxnet", "MXNet", "MXNet 1.9, from Horovod’s image.", "horovod/horovod:0.28.1"),
)
"""Public images to start from: the form offers them where a cluster runs containers."""
_ON_THIS_MACHINE = (
    ("examples", "XGBoost, JAX, MPI and what the examples need.", {"image": "local://examples"}),
    ("system-python", "Debian’s Python, with PyTorch if installed.", {"image": "local://system"}),
    (
        "tensorflow",
        "Needs the runtime with this name, which `make tensorflow` installs.",
        {"image": "local://tensorflow"},
    ),
)


class CannotBootstrap(Exception):
    """What is missing, in a sentence with the way out."""


def begin() -> None:
    """The installation; a new one has assets to start from, once."""
    is_new = not Installation.objects.exists()
    scope = found(name=NAME).scope
    for name, description, values in _COMPUTE if is_new else ():
        make("compute", scope=scope, name=name, description=description, values=values)
    for name, framework, description, image in _IMAGES if is_new else ():
        make(
            "environment",
            scope=scope,
            name=name,
            framework=framework,
            description=description,
            values={"image": image},
        )


@transaction.atomic
def bootstrap(*, admin: str, project: str = "", local_cluster: bool = False) -> list[str]:
    """The first administrator, and a project on a cluster; returns what was made, in words."""
    made: list[str] = []
    begin()
    made += _administrator(admin)
    if local_cluster and local() is None:
        made.append(f"Cluster {this_machine().name}: this machine with this data folder.")
    if project:
        made += _project(project)
    return made


@transaction.atomic
def add_project(
    name: str,
    *,
    cluster_name: str,
    department_name: str = "",
    gpu_quota: int | None = None,
    researchers: Sequence[str] = (),
    queue: str | None = None,
) -> list[str]:
    """A project on a named cluster, and who may work in it by user names; returns what was made.

    ``queue`` is the scheduler's; of a project that is there already it can be said anew.
    Raises CannotBootstrap or Refused.
    """
    cluster = Cluster.objects.filter(name=cluster_name).first()
    if cluster is None:
        names = ", ".join(Cluster.objects.order_by("name").values_list("name", flat=True))
        raise CannotBootstrap(
            f"There is no cluster {cluster_name}. Clusters: {names or 'none yet'}."
        )
    if gpu_quota is not None and gpu_quota < 0:
        raise CannotBootstrap("The quota of GPUs is 0 or more.")
    known = Project.objects.filter(cluster=cluster, name=name).first()
    if known is not None and queue is not None:
        if department_name not in ("", known.department.name) or gpu_quota is not None:
            raise CannotBootstrap(f"Project {name} already exists: only its queue can be changed.")
        update(get("project"), actor=None, obj=known, values={"own_queue": queue})
        made = [f"Project {name}: {_in_queue(queue)}"]
        return made + [_researcher(username, known) for username in researchers]
    made = list(_in_department(cluster, department_name, name, gpu_quota, queue or ""))
    project = Project.objects.get(cluster=cluster, name=name)
    made += [_researcher(username, project) for username in researchers]
    if space := project.namespace:
        made.append(f"It uses the namespace {space}, created with its first workload.")
    return made


def local() -> Cluster | None:
    """The local cluster of this host and data folder, if it was made."""
    return Cluster.objects.filter(host_id=host_id(env().data_dir)).first()


def this_machine() -> Cluster:
    """Make the local cluster of this host and data folder; a second machine gets its own name."""
    name, number = LOCAL_NAME, 1
    while Cluster.objects.filter(name=name).exists():
        number += 1
        name = f"{LOCAL_NAME}-{number}"
    cluster: Cluster = make("cluster", name=name, kind="local", host_id=host_id(env().data_dir))
    # Now, and not by the first watcher: a workload may come earlier.
    measure(cluster)
    for environment, description, values in _ON_THIS_MACHINE:
        make(
            "environment",
            scope=cluster.scope,
            name=environment,
            description=description,
            values=values,
        )
    return cluster


def _administrator(name: str) -> Iterator[str]:
    user = User.objects.filter(username__iexact=name).first()
    if user is None:
        user = create_user(username=name)
        yield f"User {name}, who signs in by: {program()} sign-in-link {name}"
    elif not user.is_active:
        raise CannotBootstrap(f"{user.username} is deactivated. Name another administrator.")
    scope = tenant_scope()
    held = user.access_rules.filter(role="system_administrator", scope=scope).exists()
    if not held:
        give(actor=None, user=user, role="system_administrator", scope=scope)
        yield f"Role system administrator for {user.username}."


def _researcher(name: str, project: Project) -> str:
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise CannotBootstrap(
            f"There is no active user {name}. Create one with: {program()} create-user {name}"
        )
    give(actor=None, user=user, role="researcher", scope=project.scope)
    return f"Role researcher for {name} in project {project.name}."


def _project(name: str) -> Iterator[str]:
    cluster = local() or Cluster.objects.order_by("created_at").first()
    if cluster is None:
        raise CannotBootstrap(
            "A project belongs to a cluster, and there is none yet. Use --local-cluster to offer "
            "this machine, or connect a cluster first."
        )
    if Project.objects.filter(cluster=cluster, name=name).exists():
        return
    yield from _in_department(cluster, "", name)


def _in_department(
    cluster: Cluster,
    department_name: str,
    name: str,
    gpu_quota: int | None = None,
    queue: str = "",
) -> Iterator[str]:
    """A project in the named department or the first one, which is made where there is none."""
    known = cluster.departments.order_by("pk")
    department = known.filter(name=department_name).first() if department_name else known.first()
    if department is None:
        department = make("department", cluster=cluster, name=department_name or DEPARTMENT)
        yield f"Department {department.name} on {cluster.name}."
    parts = {"quotas": [{"node_pool": pools_of(cluster)[0], "gpus": gpu_quota}]}
    make(
        "project",
        department=department,
        name=name,
        own_queue=queue,
        parts=parts if gpu_quota is not None else None,
    )
    yield f"Project {name} in department {department.name}."
    if queue:
        yield f"Project {name}: {_in_queue(queue)}"


def _in_queue(queue: str) -> str:
    words = f"queue {queue}" if queue else "the default queue"
    return f"its further workloads wait in {words} of the cluster's scheduler."
