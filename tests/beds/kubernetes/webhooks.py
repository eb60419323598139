"""Operators' webhooks, served outside the cluster: certificate, address and rules of each."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import building, pki
from .components import COMPONENTS
from .layout import Layout


@dataclass(frozen=True)
class Served:
    """What the webhooks of one component are called, so that the component finds them."""

    component: str
    namespace: str
    service: str
    secret: str
    port: str
    """Name of its port in the layout."""
    configurations: Mapping[str, str]
    """Names of the configurations, by their kinds."""
    leaves_out: tuple[str, ...] = ()
    """Ends of the paths of webhooks that nobody serves here."""


SERVED = {
    one.component: one
    for one in (
        Served(
            component="training-operator",
            namespace="kubeflow",
            service="training-operator",
            secret="training-operator-webhook-cert",
            port="training-operator-webhook",
            configurations={
                "ValidatingWebhookConfiguration": "validator.training-operator.kubeflow.org"
            },
            leaves_out=("paddlejob",),
        ),
        Served(
            component="jobset",
            namespace="jobset-system",
            service="jobset-webhook-service",
            secret="jobset-webhook-server-cert",
            port="jobset-webhook",
            configurations={
                "ValidatingWebhookConfiguration": "jobset-validating-webhook-configuration",
                "MutatingWebhookConfiguration": "jobset-mutating-webhook-configuration",
            },
        ),
    )
}
_OF_JOBSETS = {
    "matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]
}


def objects(component: str, layout: Layout) -> Iterator[dict[str, Any]]:
    """Everything that the API server and the component need for its webhooks, if it has some.

    The API server itself looks up an ExternalName, and still checks the name of the service.
    """
    served = SERVED.get(component)
    if served is None:
        return
    files = pki.webhook_files()
    yield {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": served.secret, "namespace": served.namespace},
        "data": {key: _base64(text) for key, text in files.items()},
    }
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": served.service, "namespace": served.namespace},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    authority = _base64(files["ca.crt"])
    for name, shipped, hooks in _configurations(served):
        yield shipped | {
            "metadata": {"name": name},
            "webhooks": [
                _addressed(hook, served, layout.ports[served.port], authority) for hook in hooks
            ],
        }


def addresses(component: str, layout: Layout) -> Iterator[str]:
    """Where the component serves its webhooks; none for one that has none."""
    if (served := SERVED.get(component)) is not None:
        base = f"https://localhost:{layout.ports[served.port]}"
        for _, _, hooks in _configurations(served):
            yield from (base + hook["clientConfig"]["service"]["path"] for hook in hooks)


def _configurations(served: Served) -> Iterator[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    """Name of each configuration, the object as it is shipped, and the webhooks it has here."""
    for shipped in building.manifests(COMPONENTS[served.component]):
        if name := served.configurations.get(str(shipped["kind"])):
            hooks: Any = shipped["webhooks"]
            yield name, shipped, [hook for hook in hooks if not _is_left_out(hook, served)]


def _is_left_out(hook: dict[str, Any], served: Served) -> bool:
    return bool(hook["clientConfig"]["service"]["path"].endswith(served.leaves_out))


def _addressed(hook: dict[str, Any], served: Served, port: int, authority: str) -> dict[str, Any]:
    path = hook["clientConfig"]["service"]["path"]
    service = {"name": served.service, "namespace": served.namespace, "port": port, "path": path}
    changed = hook | {"clientConfig": {"caBundle": authority, "service": service}}
    if path.endswith("-pod"):
        # Pods of others must not wait for this one.
        changed["objectSelector"] = _OF_JOBSETS
    return changed


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
