"""Credentials on a real Kubernetes: copied where they are used, rotated, mended and removed."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from assets.models import Credential
from gangline.clusters import objects
from gangline.clusters.models import ClusterObject
from gangline.db.clock import db_now
from gangline.drivers.kubernetes.resources import SECRETS
from gangline.resources.registry import get
from gangline.resources.services import InUse, delete, make, update
from tests.beds.kubernetes.bed import Bed
from tests.support import kubernetes_engine
from tests.support.engine import current_attempt
from tests.support.kubernetes_engine import KubernetesEngine
from tests.support.waiting import wait_for
from workloads.models import Workload
from workloads.services import intents

pytestmark = pytest.mark.needs_kubernetes
CANARY = "c4n4ry-on-kubernetes"


@pytest.fixture
def engine(
    bed: Bed, transactional_db: None, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> Iterator[KubernetesEngine]:
    with kubernetes_engine.engine_on(bed, monkeypatch, settings) as made:
        yield made


def pairs(value: str) -> dict[str, Any]:
    return {"keyValuePairs": [{"key": "token", "value": value}]}


def secret(engine: KubernetesEngine, name: str) -> dict[str, Any] | None:
    """The Secret as the API server has it, its data in clear."""
    answer = engine.bed.client.get(SECRETS, engine.namespace, name)
    if not answer.ok:
        return None
    data = answer.body.get("data") or {}
    return {**answer.body, "data": {k: base64.b64decode(v).decode() for k, v in data.items()}}


def look() -> None:
    """One turn over everything that is kept on clusters, due or not."""
    ClusterObject.objects.update(due_at=db_now())
    objects.reconcile_due()


def test_a_credential_is_copied_used_rotated_and_removed(engine: KubernetesEngine) -> None:
    scope = engine.project.scope
    token = make("credential", scope=scope, name="hf", kind="genericSecret", given=pairs(CANARY))
    login = make(
        "credential",
        scope=scope,
        name="lab",
        kind="dockerRegistry",
        given={"url": "registry.example", "user": "dana", "password": CANARY},
    )
    own = make(
        "personal_credential",
        scope=scope,
        owner=engine.owner,
        name="mine",
        kind="password",
        given={"user": "dana", "password": CANARY},
    )
    variables = [
        {"name": "TOKEN", "secret": {"name": token.object_name, "key": "token"}},
        {"name": "OWN", "userCredential": {"name": "mine", "key": "Password"}},
    ]
    workload = engine.submit("reads", said={"environmentVariables": variables})
    comes_to(engine, token, {"token": CANARY})
    for one in (token, login, own):

        def is_kept(owner: str = str(one.pk)) -> bool:
            look()
            return ClusterObject.objects.get(owner_id=owner).state == "ok"

        wait_for(is_kept, seconds=30)
        kept = ClusterObject.objects.get(owner_id=str(one.pk))
        assert kept.problem is None
        assert CANARY not in json.dumps(kept.wanted)
    assert _data(engine, own)["Password"] == CANARY
    pull = secret(engine, login.object_name)
    assert pull is not None
    assert pull["type"] == "kubernetes.io/dockerconfigjson"
    auths = json.loads(pull["data"][".dockerconfigjson"])["auths"]
    assert auths["registry.example"]["password"] == CANARY

    engine.until(workload, "Running")
    (pod, *_) = engine.pods(workload)
    env = {one["name"]: one for one in pod["spec"]["containers"][0]["env"]}
    wanted = {"TOKEN": (token.object_name, "token"), "OWN": (own.object_name, "Password")}
    for name, (held, key) in wanted.items():
        assert env[name]["valueFrom"]["secretKeyRef"] == {"name": held, "key": key}
    assert {"name": login.object_name} in pod["spec"]["imagePullSecrets"]
    assert CANARY not in json.dumps([pod, engine.object(workload)])
    assert CANARY not in json.dumps(current_attempt(workload).rendered)

    _stays_that_of_others(engine)

    # Given other values, and mended after somebody has deleted it.
    update(get("credential"), actor=None, obj=token, values={"given": pairs("rotated")})
    comes_to(engine, token, {"token": "rotated"})
    there = secret(engine, token.object_name)
    assert there is not None
    uid = there["metadata"]["uid"]
    engine.bed.client.delete(SECRETS, engine.namespace, token.object_name, uid=uid)
    comes_to(engine, token, {"token": "rotated"})

    with pytest.raises(InUse):
        delete(get("credential"), actor=None, obj=token)
    intents.delete(workload_id=workload.pk, by="researcher")
    wait_for(lambda: Workload.objects.get(pk=workload.pk).deleted_at is not None, seconds=60)
    delete(get("credential"), actor=None, obj=login)

    def gone() -> bool:
        look()
        names = (token.object_name, login.object_name, own.object_name)
        return all(secret(engine, name) is None for name in names)

    wait_for(gone, seconds=30, what="the end of every copy")

    def forgotten() -> bool:
        look()
        return not ClusterObject.objects.filter(owner_type="credential").exists()

    wait_for(forgotten, seconds=30, what="the end of every row")
    assert Credential.objects.count() == 2


def _stays_that_of_others(engine: KubernetesEngine) -> None:
    """A Secret of others is found, or said to be missing, and outlives the credential."""
    scope, api = engine.project.scope, engine.bed.client
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "theirs"}}
    assert api.create(SECRETS, engine.namespace, {**body, "stringData": {"token": CANARY}}).ok
    before = secret(engine, "theirs")
    states = {}
    for name in ("theirs", "nowhere"):
        one = make("credential", scope=scope, name=name, kind="genericSecret",
                   given={"existingSecretName": name})  # fmt: skip

        def is_looked_for(owner: str = str(one.pk)) -> bool:
            look()
            return ClusterObject.objects.get(owner_id=owner).state != "waiting"

        wait_for(is_looked_for, seconds=30)
        row = ClusterObject.objects.get(owner_id=str(one.pk))
        states[name] = (row.state, (row.problem or {}).get("code"))
        delete(get("credential"), actor=None, obj=one)
    assert states == {"theirs": ("ok", None), "nowhere": ("failed", "missing:object")}
    look()
    assert secret(engine, "theirs") == before


def comes_to(engine: KubernetesEngine, one: Credential, data: dict[str, str]) -> None:
    """The Secret becomes this. The engine's own keeper may be at it already: then a turn of
    ours has nothing to do."""

    def is_so() -> bool:
        look()
        return (secret(engine, one.object_name) or {}).get("data") == data

    wait_for(is_so, seconds=30, what=f"the copy of {one.name}")


def _data(engine: KubernetesEngine, one: Credential) -> dict[str, str]:
    found = secret(engine, one.object_name)
    assert found is not None
    data: dict[str, str] = found["data"]
    return data
