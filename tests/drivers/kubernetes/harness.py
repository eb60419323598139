"""Attempts on the bed for the driver's own tests, made as the user of the shipped roles."""

import itertools
import json
import secrets
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import yaml

from gangline.drivers.base import (
    AttemptRef,
    Observation,
    ObservedState,
    Submission,
)
from gangline.drivers.kubernetes.access import ClusterCredentials, Options
from gangline.drivers.kubernetes.client import Answer, Client, Unreachable
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.namespaces import BINDINGS
from gangline.drivers.kubernetes.permissions import RBAC
from gangline.drivers.kubernetes.resources import NAMESPACES, Resource
from gangline.spec.catalogue import catalogue
from gangline.spec.typed import json_at, typed
from gangline.spec.workload import ReplicaSpec, WorkerSpec
from scripts.build_roles import FOLDER
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.objects import SERVICE_ACCOUNTS
from tests.support.waiting import wait_for

Spec = TypeVar("Spec", bound=ReplicaSpec)


def changed(spec: Spec, values: Mapping[str, Any]) -> Spec:
    """``spec`` with other values at these paths."""
    model = type(spec)
    return typed(model, {**{path: json_at(spec, path) for path in catalogue(model)}, **values})


JOBS = KINDS["PyTorch"].resource
ROLES = Resource(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_BINDINGS = Resource(
    RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)


class LossyClient(Client):
    """The real client over a network that does what a test says, request by request."""

    fault: Callable[[str, str, Callable[[], Answer]], Answer] | None = None
    """Gets method, path and the request itself, which it may make, or not."""

    def request(self, method: str, path: str, **more: Any) -> Answer:
        def really() -> Answer:
            return super(LossyClient, self).request(method, path, **more)

        return self.fault(method, path, really) if self.fault else really()


def lost(times: int, method: str) -> Callable[[str, str, Callable[[], Answer]], Answer]:
    """The answers to the next ``times`` requests of this kind get lost after their effect."""
    left = [times]

    def act(which: str, path: str, really: Callable[[], Answer]) -> Answer:
        answer = really()
        if which == method and left[0]:
            left[0] -= 1
            raise Unreachable("The connection broke.")
        return answer

    return act


@dataclass
class Ground:
    """One namespace of the bed and one installation; ``driver`` is what is tested."""

    bed: Bed
    driver: KubernetesDriver
    client: LossyClient
    install: str
    namespace: str
    made: list[AttemptRef] = field(default_factory=list)

    def ref(self, name: str = "gang", *, workers: int = 1, **changes: Any) -> AttemptRef:
        """An attempt that is not created yet."""
        submission = Submission(
            name=name,
            project="vision",
            framework="PyTorch",
            configuration="workersOnly",
            num_workers=workers,
            worker=WorkerSpec(image="registry.example/training:1", command="train"),
            master=None,
        )
        values: dict[str, Any] = {
            "install": self.install,
            "workload": str(uuid.uuid4()),
            "attempt": 1,
            "name": name,
            "namespace": self.namespace,
            "submission": submission,
            "rendered": json.loads(json.dumps(self.driver.render(submission))),
        }
        return AttemptRef(**(values | changes))

    def until(self, ref: AttemptRef, state: ObservedState, seconds: float = 30) -> Observation:
        def reached() -> Observation | None:
            seen = self.driver.observe(ref)
            return seen if seen.state is state else None

        found = wait_for(reached, seconds=seconds, what=f"{state} of {ref.name}")
        assert found is not None
        return found

    def running(self, ref: AttemptRef) -> Observation:
        """Make, release, wait."""
        self.driver.create(ref)
        self.driver.commit(ref)
        return self.until(ref, ObservedState.RUNNING)

    def raw(self, name: str = "gang") -> dict[str, Any] | None:
        """The object as it is, as administrator."""
        answer = self.bed.client.get(JOBS, self.namespace, name)
        return answer.body if answer.ok else None


@contextmanager
def ground(bed: Bed, data_dir: Path) -> Iterator[Ground]:
    """A driver and a place for it; in the end nothing is left."""
    client = LossyClient(bed.restricted)
    place = f"test-{secrets.token_hex(4)}"
    driver = KubernetesDriver(client, Options(data_dir=data_dir))
    try:
        yield Ground(bed, driver, client, f"install-{secrets.token_hex(4)}", place)
    finally:
        answer = bed.client.get(NAMESPACES, "", place)
        if answer.ok:
            bed.client.delete(NAMESPACES, "", place, uid=answer.body["metadata"]["uid"])


def shipped(name: str, file: str = "role.yaml") -> dict[str, Any]:
    """A ClusterRole of a shipped file, as the API server would give it back."""
    found = [
        one
        for one in yaml.safe_load_all((FOLDER / file).read_text(encoding="utf-8"))
        if one["kind"] == "ClusterRole" and one["metadata"]["name"] == name
    ]
    assert len(found) == 1
    return dict(found[0])


class Grant(Protocol):
    """Gives an account ``rules`` of RBAC: in ``namespace``, or everywhere."""

    def __call__(self, rules: Sequence[Mapping[str, Any]], namespace: str = "") -> None: ...


@contextmanager
def service_account(bed: Bed) -> Iterator[tuple[ClusterCredentials, Grant]]:
    """A service account of the bed without any rights, and a way to grant some."""
    name = f"probe-{secrets.token_hex(4)}"
    roles: list[str] = []
    with bed.namespace() as home:
        bed.client.create(SERVICE_ACCOUNTS, home, {"metadata": {"name": name}})
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = SERVICE_ACCOUNTS.path(home, name, "token")
        token = bed.client.request("POST", path, body=asked).body["status"]["token"]

        def grant(rules: Sequence[Mapping[str, Any]], namespace: str = "") -> None:
            own = {"metadata": {"name": f"{name}-{len(roles)}"}}
            roles.append(own["metadata"]["name"])
            binding = own | {
                "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": roles[-1]},
                "subjects": [{"kind": "ServiceAccount", "namespace": home, "name": name}],
            }
            assert bed.client.create(ROLES, "", own | {"rules": rules}).ok
            wanted = BINDINGS if namespace else CLUSTER_BINDINGS
            assert bed.client.create(wanted, namespace, binding).ok

        try:
            yield replace(bed.admin, token=token, client_certificate="", client_key=""), grant
        finally:
            for resource, one in itertools.product((CLUSTER_BINDINGS, ROLES), roles):
                found = bed.client.get(resource, "", one)
                if found.ok:
                    bed.client.delete(resource, "", one, uid=found.body["metadata"]["uid"])


def stranger(bed: Bed) -> ClusterCredentials:
    """A service account that may do nothing."""
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = bed.client.request("POST", path, body=body)
    assert answer.ok, answer.message
    return ClusterCredentials(
        bed.admin.server,
        certificate_authority=bed.admin.certificate_authority,
        tls_server_name=bed.admin.tls_server_name,
        token=answer.body["status"]["token"],
    )
