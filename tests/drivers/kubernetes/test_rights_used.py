"""Least privilege: a life of trainings on a real cluster uses every right of the shipped table.

What an API server was asked for is read from a proxy before it, as the verbs of RBAC.
https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb
"""

import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers import claims
from gangline.drivers.base import Done, KeptObject, ObservedState, Unknown
from gangline.drivers.kubernetes import labels, probe, volumes
from gangline.drivers.kubernetes.access import Options
from gangline.drivers.kubernetes.client import Answer, Unreachable
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.kinds import JOB_GROUPS
from gangline.drivers.kubernetes.permissions import CLUSTER, PROJECT, Rule
from gangline.drivers.kubernetes.resources import NAMESPACES, Resource
from gangline.drivers.kubernetes.tool_services import Entrance
from gangline.drivers.shells import ShellRequest
from tests.beds.kubernetes.bed import Bed
from tests.drivers.kubernetes.harness import Ground, LossyClient, changed
from tests.support.fault_proxy import Request, fault_proxy
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_kubernetes

S = ObservedState
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
Used = tuple[str, str, str]
"""Verb, resource, and whether in one namespace or ``everywhere``."""
WIDE, WITHIN = "everywhere", "in a namespace"
_PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/v[^/]+(?:/namespaces/(?P<place>[^/]+)(?=/.))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?"
)
JOB = "kubeflow.org/pytorchjobs"
UNSEEN = {
    ("bind", "rbac.authorization.k8s.io/clusterroles", WIDE): "asked for within the API server",
    **dict.fromkeys(
        (("create", "/pods/exec", WITHIN), ("create", "/pods/portforward", WITHIN)),
        "asked for within the API server, since 1.35",
    ),
    ("update", f"{JOB}/finalizers", WITHIN): "asked for within the API server of OpenShift",
    **dict.fromkeys(
        (("list", "/namespaces", WIDE), ("watch", "/pods", WITHIN), ("watch", JOB, WITHIN)),
        "where nothing may be followed on the whole cluster: test_watching.py",
    ),
    ("list", JOB, WITHIN): "where a job may not be read before the role is bound: objects.py",
}
"""Rights that this life does not use, and who does."""


@pytest.fixture
def life(bed: Bed, tmp_path: Path) -> Iterator[set[Used]]:
    """What was asked for while a cluster was connected and two trainings lived on it."""
    place = f"test-{secrets.token_hex(4)}"
    with fault_proxy(bed.restricted) as proxy, closing(LossyClient(proxy.access)) as client:
        entrance = Entrance("tools.lab.example", origin="https://gangline.example")
        driver = KubernetesDriver(client, Options(data_dir=tmp_path, entrance=entrance))
        ground = Ground(bed, driver, client, f"install-{secrets.token_hex(4)}", place)
        try:
            probe.probe(client, ask_rights=True)
            _one_that_runs(ground)
            _one_with_volumes(ground)
            _one_with_tools(ground)
            _one_without_pods(ground)
            _a_credential(ground)
            _a_config_map_of_others(ground)
            yield set(_used(proxy.requests))
        finally:
            answer = bed.client.get(NAMESPACES, "", place)
            if answer.ok:
                bed.client.delete(NAMESPACES, "", place, uid=answer.body["metadata"]["uid"])


def test_every_right_is_used_and_none_is_used_that_is_not_in_the_table(life: set[Used]) -> None:
    given = {*_given(CLUSTER, WIDE), *_given(PROJECT, WITHIN)}
    assert given - life - UNSEEN.keys() == set(), "no code uses them: take them out of the table"
    assert UNSEEN.keys() <= given - life, "they are used after all, or not in the table"
    anywhere = {(verb, resource) for verb, resource, _ in given}
    assert {one for one in life if one[:2] not in anywhere} == set()


def _one_that_runs(ground: Ground) -> None:
    """Checked, made, followed with its logs, stopped, let go on, found, deleted."""
    driver, ref = ground.driver, ground.ref("runs")
    driver.create(ref)
    driver.dry_run(ground.ref("tried"))
    ground.running(ref)
    _follow(driver, ground.install)
    driver.open_shell(ref, "worker-0", ShellRequest(("true",), tty=False))
    driver.open_port(ref, "worker-0", 6006)
    driver.suspend(ref)
    ground.until(ref, S.SUSPENDED)
    driver.resume(ref)
    ground.until(ref, S.RUNNING)
    assert driver.owned_objects(ground.install)
    wait_for(lambda: driver.delete(ref) == Done(), seconds=60, what="the deletion")


def _a_credential(ground: Ground) -> None:
    """Its copy is applied, given other values, and removed."""
    for value in ("Zmlyc3Q=", "c2Vjb25k"):
        manifest = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "genericsecret-hf",
                "namespace": ground.namespace,
                "labels": {labels.INSTALL: ground.install},
            },
            "type": "Opaque",
            "data": {"token": value},
        }
        kept = KeptObject("Secret", ground.namespace, "genericsecret-hf", manifest)
        assert ground.driver.apply(kept).state == "ok"
    wait_for(lambda: ground.driver.remove(kept).state == "gone", what="the end of the Secret")


def _a_config_map_of_others(ground: Ground) -> None:
    """It is looked for, and left alone."""
    manifest = claims.manifest(claims.CONFIG_MAP, ground.namespace, "theirs")
    kept = KeptObject(claims.CONFIG_MAP, ground.namespace, "theirs", manifest)
    assert ground.driver.apply(kept).state != "ok"


def _follow(driver: KubernetesDriver, install: str) -> None:
    """Until the watch tells of what is there; its logs are caught up with at the stop."""
    batches = driver.watch(install, "")
    try:
        assert any(seen for seen in batches)
    finally:
        batches.close()  # type: ignore[attr-defined]


def _one_with_volumes(ground: Ground) -> None:
    """It waits for its claims, is stopped, retried and deleted."""
    driver = ground.driver
    wanted = [
        {"name": "data", "path": "/data", "claimInfo": _claim()},
        {"name": "scratch", "path": "/scratch", "ephemeral": True, "claimInfo": _claim()},
    ]
    plain = ground.ref("waits").submission
    assert plain is not None
    submission = replace(plain, worker=changed(plain.worker, {volumes.PATH: wanted}))
    first = ground.ref(
        "waits", submission=submission, rendered=driver.render(submission), goes_on=True
    )
    driver.create(first)
    driver.commit(first)
    driver.commit(first)
    ground.until(first, S.PENDING)
    driver.suspend(first)
    ground.until(first, S.SUSPENDED)
    second = replace(first, attempt=2, goes_on=False)
    wait_for(lambda: driver.delete(first) == Done(), seconds=60, what="the first attempt's end")
    driver.create(second)
    driver.commit(second)
    wait_for(lambda: driver.delete(second) == Done(), seconds=60, what="the deletion")


def _one_with_tools(ground: Ground) -> None:
    """Its release breaks off before the last word, and is repeated."""
    driver, plain = ground.driver, ground.ref("shows").submission
    assert plain is not None
    tool = {"name": "board", "container": 6006}
    wanted = {"exposedUrls": [tool], "ports": [{**tool, "container": 6007}]}
    submission = replace(plain, worker=changed(plain.worker, wanted))
    ref = ground.ref("shows", submission=submission, rendered=driver.render(submission))
    driver.create(ref)

    def broken(method: str, path: str, really: Callable[[], Answer]) -> Answer:
        if method == "PATCH":
            raise Unreachable("The connection broke.")
        return really()

    ground.client.fault = broken
    assert isinstance(driver.commit(ref), Unknown)
    ground.client.fault = None
    driver.commit(ref)
    assert ground.until(ref, S.RUNNING).tool_addresses
    wait_for(lambda: driver.delete(ref) == Done(), seconds=60, what="the deletion")


def _one_without_pods(ground: Ground) -> None:
    """A quota keeps its pods away; only an event says so."""
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    assert ground.bed.client.create(QUOTAS, ground.namespace, quota).ok
    ref = ground.ref("refused")
    ground.driver.create(ref)
    ground.driver.commit(ref)
    wait_for(lambda: "quota" in ground.driver.observe(ref).reason, seconds=30, what="the event")
    wait_for(lambda: ground.driver.delete(ref) == Done(), seconds=60, what="the deletion")


def _claim() -> dict[str, Any]:
    return {"size": "1Gi", "accessModes": {"readWriteMany": True}}


def _given(rules: Iterable[Rule], where: str) -> Iterator[Used]:
    """The rights of the table but for other kinds of jobs, and schedulers that the bed has not."""
    for rule in rules:
        for resource in () if rule.needs else rule.resources:
            if rule.group != "kubeflow.org" or resource.partition("/")[0] == "pytorchjobs":
                # Bindings are made in the namespaces that are not bound yet.
                used = WITHIN if resource == "rolebindings" else where
                yield from ((verb, f"{rule.group}/{resource}", used) for verb in rule.verbs)


def _used(requests: Iterable[Request]) -> Iterator[Used]:
    """What was asked for and not refused; what every signed-in client may do is left out."""
    for one in requests:
        found = _PATH.fullmatch(one.path)
        if found is None or one.status in (None, 403) or "self" in found["plural"]:
            continue
        if found["group"] in JOB_GROUPS and found["plural"] != "pytorchjobs":
            continue
        resource = "/".join(part for part in (found["plural"], found["sub"]) if part)
        where = WITHIN if found["place"] else WIDE
        for verb in _verbs(one, found["name"]):
            yield verb, f"{found['group'] or ''}/{resource}", where


def _verbs(request: Request, name: str | None) -> tuple[str, ...]:
    match request.method:
        case "GET" if request.query.get("watch") == "true":
            return ("watch",)
        case "GET":
            return ("get",) if name else ("list",)
        case "PATCH" if request.status == 201:
            return ("patch", "create")  # applied, and made with it
        case "POST" | "PATCH" | "DELETE" as method:
            return ({"POST": "create", "PATCH": "patch", "DELETE": "delete"}[method],)
    raise AssertionError(request.method)
