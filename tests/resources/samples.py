"""What the contract writes: values of each resource that are accepted, and some that are not."""

from collections.abc import Callable, Mapping
from typing import Any

from gangline.access.roles import ROLES
from gangline.accounts.models import User
from gangline.accounts.services import create_user
from gangline.audit.services import record
from gangline.clusters import nodes
from gangline.clusters.models import Node
from gangline.drivers.facts import NodeFact
from gangline.people.services import give
from gangline.resources.services import make
from gangline.spec.sources import Value, asset_source
from tests.resources.data_volume_sample import DATA_VOLUME
from tests.resources.storage_class_sample import STORAGE_CLASS
from tests.resources.template_sample import TEMPLATE
from tests.support.world import IMAGE, World
from workloads.services.asking import SubmissionRequest
from workloads.services.submission import submit

from . import credential_samples
from .sample import Sample


def _person(name: str) -> User:
    return User.objects.filter(username=name).first() or create_user(username=name)


def _shelf(world: World, name: str) -> Any:
    return make("shelf", scope=world.department.scope, name=name)


def _entry(world: World, name: str) -> Any:
    return record(
        actor=world.actor("administrator"),
        action="project.edit",
        object_type="project",
        object_id="1",
        object_name=name,
        scope=world.vision.scope,
        detail={"name": {"from": "a", "to": name}},
    )


def _access_key(world: World, name: str) -> Any:
    """The administrator's, until they have enough."""
    for person in world.people.values():
        if person.client_secrets.count() < 10:
            return make("access_key", user=person, name=name)
    raise LookupError("nobody can have one more")


_BAD_NAMES = ("", "a", "A", "1a", "a b", "a-", "é" * 5, "a" * 64, "-a")


def _node(world: World, name: str) -> Node:
    there = world.cluster.nodes.values_list("name", flat=True)
    nodes.store(world.cluster, [NodeFact(one, "Ready", cpu=2.0) for one in (*there, name)])
    return Node.objects.get(cluster=world.cluster, name=name)


def _data_source(
    key: str,
    field: str,
    spec: Mapping[str, Any],
    bad: tuple[str, str],
    bad_spec: Mapping[str, Any],
    **typed: str,
) -> Sample:
    """One type of data source. ``typed``: texts of the form that differ from its JSON."""
    path = f"storage.{field}"
    texts = {**{k: v for k, v in spec.items() if isinstance(v, str)}, **typed}
    posted = {f"worker.{path}~item.{name}": text for name, text in texts.items()}
    return Sample(
        make=lambda world, name: make(
            key, scope=world.department.scope, name=name, values={path: [dict(spec)]}
        ),
        form=lambda world, name: {
            "scope": world.department.scope_id,
            "name": name,
            f"worker.{path}~rows": "item",
            **posted,
        },
        body=lambda world, name: {
            "meta": {"name": name, "scope": "department", "departmentId": world.department.pk},
            "spec": dict(spec),
        },
        edit={"description": "other words"},
        body_edit={"meta": {"description": "other words"}},
        bad=(("name", ""), (f"worker.{path}~item.{bad[0]}", bad[1]), ("scope", "x")),
        bad_body=(
            ("meta", {"name": "a", "scope": "moon"}),
            ("spec", dict(bad_spec)),
            ("spec", {**spec, "colour": "red"}),
            ("spec", "x"),
            ("sepc", {}),
        ),
        used=_using(path),
    )


RUNS = {
    "image": IMAGE,
    "command": "python train.py",
    "numWorkers": 1,
    "compute.cpuCoreRequest": 0.5,
    "compute.cpuMemoryRequest": "256M",
}


def _using(path: str) -> Callable[[World, Any], str]:
    """A workload that was given the asset."""

    def use(world: World, source: Any) -> str:
        request = SubmissionRequest(
            name="uses-it",
            project_id=world.vision.pk,
            cluster_id=world.cluster.pk,
            framework="XGBoost",
            configuration="workersAndMaster",
            master="same",
            given={f"worker.{p}": Value(v) for p, v in RUNS.items()},
            assets={f"worker.{path}": Value([], asset_source(source.pk, source.name))},
        )
        submit(actor=world.actor("administrator"), request=request, key="uses-it")
        return "uses-it"

    return use


SAMPLES: dict[str, Sample] = {
    "cluster": Sample(
        make=lambda world, name: make("cluster", name=name, kind="kubernetes"),
        used=lambda world, cluster: make("department", cluster=cluster, name="on-it").name,
        body=lambda world, name: {"name": name},
        edit={"description": "in the basement"},
        body_edit={"description": "in the basement"},
        bad_body=(
            ("name", 7),
            ("name", ""),
            ("nme", "x"),
            ("kind", "mainframe"),
            ("connection", {"namespacePrefix": "kube-x"}),
            ("connection", {"runtimes": {}}),
            ("credential", {"way": "token", "server": "https://169.254.169.254", "token": "t"}),
        ),
    ),
    "node_pool": Sample(
        make=lambda world, name: make(
            "node_pool", cluster=world.cluster, name=name, label_key="pool", label_value=name
        ),
        form=lambda world, name: {
            "cluster": world.cluster.pk,
            "name": name,
            "label_key": "pool",
            "label_value": name,
        },
        body=lambda world, name: {
            "clusterId": str(world.cluster.pk),
            "name": name,
            "labelKey": "pool",
            "labelValue": name,
        },
        edit={"label_value": "other"},
        body_edit={"labelValue": "other"},
        bad=(("name", "A"), ("label_key", "a b"), ("label_value", "?")),
        bad_body=(
            ("name", 7),
            ("labelKey", ""),
            ("clusterId", "x"),
            ("isDefault", "yes"),
            ("overProvisioningRatio", 2),
            ("gpuNetworkAccelerationDetection", "None"),
        ),
        left_out={"in_use": "its nodes go to another pool"},
    ),
    "node": Sample(make=_node),
    "template": Sample(**TEMPLATE),
    "storage_class": Sample(**STORAGE_CLASS),
    "data_volume": Sample(**DATA_VOLUME),
    "environment": Sample(
        make=lambda world, name: make(
            "environment", scope=world.department.scope, name=name, values={"image": "one:1"}
        ),
        form=lambda world, name: {
            "scope": world.department.scope_id,
            "name": name,
            "worker.image": "one:1",
        },
        body=lambda world, name: {
            "meta": {"name": name, "scope": "department", "departmentId": world.department.pk},
            "spec": {"image": "one:1"},
        },
        edit={"worker.image": "two:2"},
        body_edit={"spec": {"image": "two:2"}},
        bad=(("name", ""), ("worker.image", ""), ("worker.image", "a b"), ("scope", "x")),
        bad_body=(
            ("meta", {"name": 7}),
            ("meta", {"name": "a", "scope": "moon"}),
            ("spec", {"image": 7}),
            ("spec", {"imag": "one:1"}),
            ("spec", {"compute": {}}),
            ("spec", "one:1"),
            ("sepc", {}),
        ),
        left_out={"in_use": "deleting it leaves workloads alone"},
    ),
    "compute": Sample(
        make=lambda world, name: make(
            "compute",
            scope=world.department.scope,
            name=name,
            values={"compute.cpuCoreRequest": 2},
        ),
        form=lambda world, name: {
            "scope": world.department.scope_id,
            "name": name,
            "worker.compute.cpuCoreRequest": "2",
        },
        body=lambda world, name: {
            "meta": {"name": name, "scope": "department", "departmentId": world.department.pk},
            "spec": {"cpuCoreRequest": 2},
        },
        edit={"worker.compute.cpuCoreRequest": "4"},
        body_edit={"spec": {"cpuCoreRequest": 4}},
        bad=(("name", ""), ("worker.compute.cpuCoreRequest", "many"), ("scope", "x")),
        bad_body=(
            ("spec", {"cpuCoreRequest": "2"}),
            ("spec", {"cpuCores": 2}),
            ("spec", {"image": "one:1"}),
        ),
        left_out={"in_use": "deleting it leaves workloads alone"},
    ),
    "nfs": _data_source(
        "nfs",
        "nfs",
        {"server": "nfs.lab", "path": "/exports", "mountPath": "/data"},
        ("server", "a b"),
        {"server": "nfs.lab", "mountPath": "/data"},
    ),
    "pvc": _data_source(
        "pvc",
        "pvc",
        {"path": "/data", "claimInfo": {"size": "10G"}},
        ("claimInfo.size", "0"),
        {"path": "/data"},
        **{"claimInfo.size": "10", "claimInfo.size~unit": "G"},
    ),
    "s3": _data_source(
        "s3",
        "s3",
        {"bucket": "datasets", "path": "/data"},
        ("bucket", "A"),
        {"bucket": "A", "path": "/data"},
    ),
    "git": _data_source(
        "git",
        "git",
        {"repository": "https://git.example/team/code", "path": "/code"},
        ("repository", "git"),
        {"repository": "https://me:pass@git.example/x", "path": "/code"},
    ),
    "host_path": _data_source(
        "host_path",
        "hostPath",
        {"path": "/mnt", "mountPath": "/data"},
        ("mountPath", "data"),
        {"path": "../mnt", "mountPath": "/data"},
    ),
    "config_map": _data_source(
        "config_map",
        "configMapVolume",
        {"configMap": "nccl", "mountPath": "/etc/nccl"},
        ("configMap", "A"),
        {"configMap": "nccl", "mountPath": "/etc/nccl", "defaultMode": "888"},
    ),
    "secret_volume": _data_source(
        "secret_volume",
        "secretVolume",
        {"secret": "keys", "mountPath": "/keys"},
        ("secret", ""),
        {"mountPath": "/keys"},
    ),
    "data_source": Sample(
        make=lambda world, name: make(
            "nfs",
            scope=world.department.scope,
            name=name,
            values={"storage.nfs": [{"server": "a", "path": "/b", "mountPath": "/c"}]},
        ),
        left_out={"in_use": "each type has it for itself"},
    ),
    "service_account": Sample(
        make=lambda world, name: make("service_account", name=name),
        form=lambda world, name: {"name": name},
        body=lambda world, name: {"name": name},
        edit={"enabled": ""},
        body_edit={"enabled": False},
        bad=tuple(("name", name) for name in _BAD_NAMES),
        bad_body=(("name", 7), ("name", "A"), ("nme", "x"), ("enabled", "no"), ("name", ["a"])),
        shows_secret=True,
        left_out={"in_use": "nothing uses it"},
    ),
    "access_key": Sample(
        make=_access_key,
        form=lambda world, name: {"name": name},
        body=lambda world, name: {"name": name},
        edit={"name": "renamed"},
        bad=tuple(("name", name) for name in _BAD_NAMES),
        bad_body=(("name", 7), ("name", "A"), ("nme", "x"), ("userId", 1)),
        shows_secret=True,
        left_out={"in_use": "nothing uses it"},
    ),
    "shelf": Sample(
        make=_shelf,
        form=lambda world, name: {
            "scope": str(world.department.scope_id),
            "name": name,
            "width": "80",
            "code": "c4n4ry-x1",
        },
        body=lambda world, name: {
            "scopeId": str(world.department.scope_id),
            "name": name,
            "code": "c4n4ry-x1",
        },
        edit={"width": "30"},
        body_edit={"width": 30},
        bad=(
            ("name", "Bad Name"),
            ("width", "9999"),
            ("width", "x"),
            ("name", ""),
            ("name", "é" * 70),
        ),
        bad_body=(
            ("name", 7),
            ("width", "80"),
            ("width", 9999),
            ("colour", "red"),
            ("name", "\x1b"),
        ),
        secret_field="code",
        used=lambda world, shelf: "",
        left_out={"in_use": "nothing uses a shelf"},
    ),
    "user": Sample(
        make=lambda world, name: make("user", username=name, password="!"),
        form=lambda world, name: {"username": name, "full_name": "New", "email": f"{name}@a.org"},
        body=lambda world, name: {"email": f"{name}@example.com"},
        edit={"full_name": "Another"},
        bad=(("username", ""), ("username", "a/b"), ("username", "x" * 151), ("email", "x")),
        bad_body=(("email", "x"), ("email", 7), ("notify", True), ("nme", "x")),
        name_field="username",
        left_out={
            "a_form_makes_one": "an invitation answers with its link, see tests/access",
            "in_use": "a user is deactivated, which nothing forbids",
        },
    ),
    "group": Sample(
        make=lambda world, name: make("group", name=name),
        form=lambda world, name: {"name": name, "description": "d"},
        body=lambda world, name: {"name": name},
        edit={"description": "other words"},
        body_edit={"description": "other words"},
        bad=(
            ("name", ""),
            ("name", "x" * 64),
            ("name", "a\u202eb"),
            ("members", "x"),
            ("members", "9" * 30),
            ("description", "x" * 401),
        ),
        bad_body=(
            ("name", 7),
            ("name", ""),
            ("name", "\ufeff"),
            ("members", ["x"]),
            ("members", "x"),
            ("nme", "x"),
        ),
        used=lambda world, group: str(
            give(actor=None, group=group, role="viewer", scope=world.vision.scope)
        ),
    ),
    "role": Sample(
        make=lambda world, name: make("role", name=name, permissions=["workload.view"]),
        form=lambda world, name: {"name": name, "permissions": ["workload.view"]},
        body=lambda world, name: {"name": name, "allows": ["workload.view"]},
        edit={"description": "other words"},
        body_edit={"description": "other words"},
        bad=(("name", ""), ("name", "x" * 41), ("permissions", ""), ("permissions", "root")),
        bad_body=(("name", 7), ("allows", "x"), ("allows", [7])),
        used=lambda world, role: str(
            give(actor=None, user=world.people["stranger"], role=role.key, scope=world.nlp.scope)
        ),
        left_out={
            "same_everywhere": "the built-in roles have no rows",
        },
    ),
    "access_rule": Sample(
        make=lambda world, name: give(
            actor=None, user=_person(name), role="viewer", scope=world.vision.scope
        ),
        form=lambda world, name: {
            "subject": f"user:{_person(name).uid}",
            "role": "viewer",
            "scope": str(world.vision.scope_id),
        },
        body=lambda world, name: {
            "subjectId": _person(name).username,
            "subjectType": "user",
            "roleId": ROLES["viewer"].id,
            "scopeId": str(world.vision.pk),
            "scopeType": "project",
        },
        bad=(("subject", "user:x"), ("subject", ""), ("role", "root"), ("scope", "x")),
        bad_body=(
            ("subjectId", "nobody"),
            ("subjectType", "robot"),
            ("roleId", 9999),
            ("roleId", "x"),
            ("scopeId", "x"),
            ("scopeType", "world"),
            ("clusterId", "3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11"),
            ("role", "viewer"),
        ),
        name_field="subject",
        left_out={"same_everywhere": "its name is put together from three columns"},
    ),
    "department": Sample(
        make=lambda world, name: make("department", cluster=world.cluster, name=name),
        form=lambda world, name: {
            "cluster": str(world.cluster.pk),
            "name": name,
            "description": "d",
        },
        body=lambda world, name: {"clusterId": str(world.cluster.pk), "name": name},
        edit={"description": "other words"},
        body_edit={"description": "other words"},
        bad=(
            ("name", "Bad Name"),
            ("name", ""),
            ("name", "a" * 64),
            ("name", "kube-system"),
            ("cluster", "3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11"),
            ("description", "x" * 401),
        ),
        bad_body=(
            ("name", 7),
            ("name", "A B"),
            ("clusterId", "x"),
            ("clusterId", "3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11"),
            ("nme", "x"),
            ("name", ["a"]),
        ),
        used=lambda world, department: (
            make("project", department=department, name=f"in-{department.name}").name
        ),
    ),
    "project": Sample(
        make=lambda world, name: make("project", department=world.department, name=name),
        form=lambda world, name: {
            "department": str(world.department.pk),
            "name": name,
            "quotas.0.gpus": "2",
            "quotas.0.memory": "64G",
            "quotas.0.over_quota": "on",
            "quotas.0.rank": "3",
        },
        body=lambda world, name: {
            "clusterId": str(world.cluster.pk),
            "name": name,
            "resources": [{"gpu": {"deserved": 2}}],
        },
        edit={"quotas.0.gpus": "3.5"},
        body_edit={"resources": [{"gpu": {"deserved": 3.5}}]},
        bad=(
            ("name", "Bad Name"),
            ("name", ""),
            ("name", "kube-system"),
            ("department", "no-such"),
            ("quotas.0.gpus", "-1"),
            ("quotas.0.gpus", "NaN"),
            ("quotas.0.gpus", "9" * 12),
            ("quotas.0.gpus_limit", "1"),
            ("quotas.0.memory", "64 apples"),
            ("quotas.0.memory", "99999999T"),
            ("quotas.0.rank", "9"),
        ),
        bad_body=(
            ("name", 7),
            ("clusterId", "x"),
            ("parentId", "999999"),
            ("resources", {}),
            ("resources", [{"gpu": {"deserved": "2"}}]),
            ("resources", [{"gpu": {"deserved": 2, "limit": 1}}]),
            ("resources", [{"memory": {"deserved": 1}}]),
            ("resources", [{"memory": {"deserved": 1, "units": []}}]),
            ("resources", [{"memory": {"deserved": 9e14, "units": "GB"}}]),
            ("resources", [{"priority": {}}]),
            ("resources", [{"nodePool": {"name": "none"}}]),
            ("defaultNodePools", ["none"]),
            ("requestedNamespace", "elsewhere"),
            ("nme", "x"),
        ),
        left_out={
            "in_use": "checked with a workload of its own test",
        },
    ),
    "audit": Sample(
        make=_entry,
        left_out={
            "same_everywhere": "its API is one of Run:ai's, with a test of its own",
            "audit": "it is never changed",
            "in_use": "it is never deleted",
        },
    ),
    **credential_samples.SAMPLES,
}
