"""What is put on a new cluster: definitions, nodes, rules of the pods, webhooks, rights."""

import functools
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from gangline.drivers.kubernetes import resources
from gangline.drivers.kubernetes.client import Answer, Client
from gangline.drivers.kubernetes.resources import Resource

from . import building, webhooks
from .components import needed
from .layout import Layout
from .processes import BedFailed, fetch

ROOT = Path(__file__).resolve().parents[3]
ROLES = ROOT / "deploy" / "kubernetes"
RESTRICTED_USER = "gangline"
NODES, GPUS_PER_NODE = 4, 8
NAMESPACES = {
    "training-operator": "kubeflow",
    "mpi-operator": "mpi-operator",
    "volcano": "volcano-system",
    "jobset": "jobset-system",
}
"""Where each component expects what is its own."""
DISCOVERED_SECONDS = 120
_RBAC, _HOOKS, _KWOK = "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "kwok.x-k8s.io"


def _cluster(group: str, version: str, plural: str, kind: str) -> Resource:
    return Resource(group, version, plural, kind, namespaced=False)


STAGES = _cluster(_KWOK, "v1alpha1", "stages", "Stage")
LOGS = Resource(_KWOK, "v1alpha1", "logs", "Logs")
EXECS = Resource(_KWOK, "v1alpha1", "execs", "Exec")
PORT_FORWARDS = Resource(_KWOK, "v1alpha1", "portforwards", "PortForward")
SERVICES = Resource("", "v1", "services", "Service")
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
DEFINITIONS = _cluster(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"
)
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
_KINDS = {
    resource.kind: resource
    for resource in (
        *(resources.NAMESPACES, resources.NODES, resources.STORAGE_CLASSES),
        *(CONFIG_MAPS, DEFINITIONS, SECRETS, SERVICES, SERVICE_ACCOUNTS, STAGES),
        _cluster(_RBAC, "v1", "clusterroles", "ClusterRole"),
        _cluster(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding"),
        Resource(_RBAC, "v1", "roles", "Role"),
        Resource(_RBAC, "v1", "rolebindings", "RoleBinding"),
        _cluster(_HOOKS, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
        _cluster(_HOOKS, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
        _cluster("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass"),
    )
}

Object = Mapping[str, Any]


def install(client: Client, layout: Layout) -> None:
    """Put everything on the cluster that the bed's processes expect. Raises BedFailed."""
    parts = needed(layout.with_)
    found = [one for part in parts for one in building.manifests(part)]
    spaces = [_namespace(NAMESPACES[part.name]) for part in parts if part.name in NAMESPACES]
    hooks = [one for part in parts for one in webhooks.objects(part.name, layout)]
    definitions = [one for one in found if one["kind"] == "CustomResourceDefinition"]
    stages = [one for one in found if one["kind"] == "Stage"]
    _apply(client, [*spaces, *definitions])
    _await_discovery(layout, definitions)
    rules = yaml.load_all((Path(__file__).parent / "stages.yaml").read_text(), yaml.CSafeLoader)
    _apply(client, [*_nodes(), *stages, *rules, _STORAGE_CLASS, *hooks])
    grant(client, ROLES / "role.yaml")


def grant(client: Client, path: Path) -> None:
    """Give the restricted user what a role of Gangline's has, and nothing more."""
    if not path.exists():
        return
    shipped = [one for one in yaml.load_all(path.read_text(), yaml.CSafeLoader) if one]
    first = [one for one in shipped if one["kind"] == "Namespace"]
    bindings = [one for one in shipped if one["kind"].endswith("Binding")]
    _apply(client, first)
    _apply(client, [*(one for one in shipped if one not in first), *map(_for_user, bindings)])


def _for_user(binding: dict[str, Any]) -> dict[str, Any]:
    """The same binding for the bed's user in place of the service account."""
    name = f"{binding['metadata']['name']}-{RESTRICTED_USER}-of-the-bed"
    user = {"apiGroup": _RBAC, "kind": "User", "name": RESTRICTED_USER}
    return binding | {"metadata": binding["metadata"] | {"name": name}, "subjects": [user]}


def must(answer: Answer) -> Answer:
    """The answer, if it is a good one. Raises BedFailed."""
    if not answer.ok:
        raise BedFailed(f"The cluster said {answer.status}: {answer.message or answer.body}")
    return answer


def apply(client: Client, body: Object) -> None:
    """Make one object as it is said here. Raises BedFailed."""
    resource = _KINDS[body["kind"]]
    metadata = body["metadata"]
    answer = client.apply(resource, metadata.get("namespace", ""), metadata["name"], body)
    if not answer.ok:
        said = answer.message or answer.body
        raise BedFailed(f"{body['kind']} {metadata['name']} was refused: {said}")


def _apply(client: Client, bodies: Iterable[Object]) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(functools.partial(apply, client), bodies))


def _await_discovery(layout: Layout, definitions: Iterable[Object]) -> None:
    """Until then an operator may find that its own kinds do not exist, and end."""
    waiting = {_kind_of(one) for one in definitions}
    deadline = time.monotonic() + DISCOVERED_SECONDS
    while waiting := waiting - _discovered(layout):
        if time.monotonic() > deadline:
            names = ", ".join(sorted(plural for _, _, plural in waiting))
            raise BedFailed(f"The API server does not serve in time: {names}.")
        time.sleep(0.1)


def _kind_of(definition: Object) -> tuple[str, str, str]:
    spec = definition["spec"]
    version = next(one["name"] for one in spec["versions"] if one["served"])
    return spec["group"], version, spec["names"]["plural"]


def _discovered(layout: Layout) -> set[tuple[str, str, str]]:
    """Groups, versions and plurals of what the API server says it serves, in one answer.

    https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
    """
    pki = layout.pki
    answer = fetch(
        f"{layout.server}/apis",
        authority=pki.path("ca.crt"),
        token=pki.token("admin"),
        accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    )
    return {
        (group["metadata"]["name"], version["version"], resource["resource"])
        for group in json.loads(answer or b'{"items": []}')["items"]
        for version in group["versions"]
        for resource in version.get("resources", [])
    }


def _namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


_STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "local"},
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def _nodes() -> Iterator[dict[str, Any]]:
    """Machines with GPUs, two in each zone."""
    for number in range(1, NODES + 1):
        name = f"gpu-node-{number}"
        room = {
            "cpu": "64",
            "memory": "512Gi",
            "ephemeral-storage": "1Ti",
            "pods": "110",
            "nvidia.com/gpu": str(GPUS_PER_NODE),
        }
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "annotations": {"kwok.x-k8s.io/node": "fake"},
                "labels": {
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64",
                    "topology.kubernetes.io/zone": "zone-a" if number <= NODES / 2 else "zone-b",
                    "nvidia.com/gpu.count": str(GPUS_PER_NODE),
                    "nvidia.com/gpu.memory": "81920",
                    "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
                    "kai.scheduler/node-pool": "default",
                },
            },
            "status": {"capacity": room, "allocatable": room},
        }
