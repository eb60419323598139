"""What the contract writes: values of each resource that are accepted, and some that are not."""

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
from tests.resources.data_volume_sample import DATA_VOLUME
from tests.resources.network_topology_sample import NETWORK_TOPOLOGY
from tests.resources.storage_class_sample import STORAGE_CLASS
from tests.resources.template_sample import TEMPLATE
from tests.support.world import World

from . import asset_samples, credential_samples
from .sample import Sample


def _alias(name: str) -> str:
    return name.lower().replace(" ", "-").replace("_", "-")[:40]


def _provider(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "alias": _alias(name),
        "issuer": "https://login.example.com",
        "client_id": "gangline",
    }


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
    "network_topology": Sample(**NETWORK_TOPOLOGY),
    "template": Sample(**TEMPLATE),
    "storage_class": Sample(**STORAGE_CLASS),
    "data_volume": Sample(**DATA_VOLUME),
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
    "saved_view": Sample(
        make=lambda world, name: make(
            "saved_view", owner=world.people["administrator"], table="projects", name=name
        ),
        form=lambda world, name: {
            "name": name,
            "table": "projects",
            "shared": "private",
            "query": "q=vis",
        },
        body=lambda world, name: {"name": name, "table": "projects", "query": "q=vis"},
        edit={"name": "renamed"},
        body_edit={"query": "q=vision"},
        bad=(
            ("name", ""),
            ("name", "x" * 61),
            ("table", "no-such"),
            ("shared", "all"),
            ("scope", "no-such"),
            ("query", "colour=red"),
        ),
        bad_body=(
            ("name", 7),
            ("name", ""),
            ("nme", "x"),
            ("table", "no-such"),
            ("shared", "all"),
            ("projectId", "x"),
            ("projectId", "999999"),
            ("query", "colour=red"),
            ("query", "q=" + "x" * 2000),
            ("owner", 7),
        ),
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
    "identity_provider": Sample(
        make=lambda world, name: make(
            "identity_provider", parts={"client_secret": "c4n4ry-x1"}, **_provider(name)
        ),
        form=lambda world, name: (
            _provider(name)
            | {
                "client_secret": "c4n4ry-x1",
                "makes_users": "on",
                "is_enabled": "on",
                "username_claim": "name",
                "email_claim": "email",
                "name_claim": "name",
                "scopes": "openid",
            }
        ),
        body=lambda world, name: {
            "name": name,
            "alias": _alias(name),
            "type": "oidc",
            "oidcData": {
                "clientId": "gangline",
                "clientSecret": "c4n4ry-x1",
                "issuer": "https://login.example.com",
                "scopes": ["openid"],
            },
            "mappers": {"groups": "roles"},
        },
        edit={"client_id": "other"},
        body_edit={"oidcData": {"clientId": "other"}},
        bad=(
            ("name", ""),
            ("alias", "Bad Alias"),
            ("issuer", "http://login.example.com"),
            ("client_secret", ""),
            ("scopes", "profile"),
            ("username_claim", "two words"),
        ),
        bad_body=(
            ("name", 7),
            ("alias", "A"),
            ("type", "saml"),
            ("oidcData", {"clientId": 7}),
            ("oidcData", {"clientID": "x"}),
            ("oidcData", {"scopes": "openid"}),
            ("oidcData", {"issuer": "ftp://x"}),
            ("mappers", {"uid": "x"}),
            ("isEnabled", "yes"),
            ("nme", "x"),
        ),
        secret_field="client_secret",
        name_field="alias",
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
        used=lambda world, shelf: (
            make("shelf", scope=shelf.scope, name=f"upon-{shelf.name}", above=shelf).name
        ),
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
    **asset_samples.SAMPLES,
    **credential_samples.SAMPLES,
}
