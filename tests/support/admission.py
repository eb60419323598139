"""The API server's own admission, turned against somebody.

https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.resources import Resource
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.objects import must

from .waiting import wait_for

KIND = KINDS["PyTorch"].resource
POLICIES = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
)
BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)


@contextmanager
def refused_in(bed: Bed, namespace: str, why: str) -> Iterator[None]:
    """Refuse every new PyTorchJob of a namespace with these words, for the length of a block."""
    client, name = bed.client, namespace
    policy = {
        "apiVersion": POLICIES.api_version,
        "kind": POLICIES.kind,
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["kubeflow.org"],
                        "apiVersions": ["*"],
                        "operations": ["CREATE"],
                        "resources": ["pytorchjobs"],
                    }
                ]
            },
            "validations": [{"expression": "false", "message": why, "reason": "Forbidden"}],
        },
    }
    where = {"matchLabels": {"kubernetes.io/metadata.name": name}}
    binding = {
        "apiVersion": BINDINGS.api_version,
        "kind": BINDINGS.kind,
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": where},
        },
    }
    made: list[tuple[Resource, str]] = []
    try:
        for resource, body in ((POLICIES, policy), (BINDINGS, binding)):
            answer = must(client.create(resource, "", body))
            made.append((resource, answer.body["metadata"]["uid"]))
        wait_for(lambda: client.create(KIND, name, _plain(name), dry_run=True).status == 403)
        yield
    finally:
        for resource, uid in made:
            client.delete(resource, "", name, uid=uid)


def _plain(name: str) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "registry.example/training:1"}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": "plain"},
        "spec": {"pytorchReplicaSpecs": {"Worker": worker}},
    }
