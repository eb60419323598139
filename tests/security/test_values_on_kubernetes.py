"""Wrong values of every field on a Kubernetes cluster: its driver sees none, and nothing breaks.

The cluster was checked once and is not there: what judges a value asks nobody.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from gangline.clusters import credentials
from gangline.clusters.models import Cluster
from gangline.drivers.base import Submission
from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.lib.sealing import KeyFile
from gangline.spec.catalogue import Kind, catalogue
from gangline.spec.problems import Role
from gangline.spec.values import flatten, validate
from gangline.spec.workload import SPEC, ReplicaSpec, WorkerSpec
from tests.support.api import ApiClient
from tests.support.certificates import jwt
from tests.support.examples import some
from tests.support.forms import Filler
from tests.support.world import World, make_world

FIELDS = catalogue(WorkerSpec)
WRONG: tuple[Any, ...] = (
    "lots", "-5", "1,5", "16 GB", "", "\x00", "é" * 5000, -5, 0, 10**30, 1.5, 1e308, True,
    [], [None], [1], ["x"], [[]], [{}], {}, {"name": 1}, {"pvc": 5},
)  # fmt: skip
WRONG_INSIDE: tuple[Any, ...] = (None, "lots", -5, [], {}, True)
TYPED = ("lots", "-5", "1,5", "0", "9" * 40, "💥")
DRY_RUN = "workloads/distributed?dryRun=true"
TOKEN = jwt(sub="system:serviceaccount:gangline:gangline", exp=4_000_000_000)
LARGEST = {"gpus": 8, "cpus": 64.0, "memory": 512 * 10**9}


@pytest.fixture
def world(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Its cluster is a Kubernetes that was checked, with nodes and classes to compare with."""
    keys = tmp_path / "sealing.keys"
    KeyFile(keys).add()
    changed = settings.GANGLINE.model_copy(update={"keys_file": keys})
    monkeypatch.setattr(settings, "GANGLINE", changed)
    world = make_world()
    offers: list[dict[str, Any]] = [
        {"framework": name, "available": True, "reason": "", "version": "v1", "runtimes": []}
        for name in ("PyTorch", "TF", "XGBoost", "JAX", "MPI")
    ]
    detail = {
        "nodes": {"largest": LARGEST},
        "priorities": [{"name": "high", "value": 1000, "preempts": True, "default": False}],
        "storageClasses": [{"name": "fast", "provisioner": "csi.example.org", "default": True}],
    }
    facts = {"version": "v1.36.3", "frameworks": offers, "runtimes": [], "detail": detail}
    Cluster.objects.filter(pk=world.cluster.pk).update(kind="kubernetes", host_id="", facts=facts)
    world.cluster.refresh_from_db()
    credentials.store(
        world.cluster, ClusterCredentials("https://192.0.2.7:6443", token=TOKEN), by=None
    )
    return world


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Submission]:
    """What reached the driver."""
    found: list[Submission] = []
    for name in ("check", "advise"):
        real = getattr(KubernetesDriver, name)

        def listened(self: Any, submission: Submission, facts: Any, real: Any = real) -> Any:
            found.append(submission)
            return real(self, submission, facts)

        monkeypatch.setattr(KubernetesDriver, name, listened)
    return found


def assert_sound(seen: list[Submission]) -> None:
    """Nothing that the spec refuses has reached the driver, in neither half."""
    for submission in seen:
        for role, spec in submission.halves:
            values, _ = flatten(type(spec), spec.model_dump(by_alias=True), role)
            assert validate(type(spec), role, values, is_whole=False) == []
    seen.clear()


def body(world: World, **spec: Any) -> dict[str, Any]:
    return world.spec_body(distributedFramework="PyTorch", image="busybox:1", **spec)


def placed(base: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    half: dict[str, Any] = json.loads(json.dumps(base))
    *groups, name = path.split(".")
    inner = half
    for group in groups:
        inner = inner.setdefault(group, {})
    inner[name] = value
    return half


def wrong_values() -> Iterator[tuple[str, Any]]:
    """Each field with some of the wrong values, and each wrong value at several fields."""
    wrong, wrong_inside = cycle(WRONG), cycle(WRONG_INSIDE)
    for path, field in FIELDS.items():
        yield path, next(wrong)
        yield path, next(wrong)
        for attribute in field.items if field.kind is Kind.ITEMIZED else ():
            yield (
                path,
                [placed({"name": "one"}, attribute.path, next(wrong_inside)), {"name": "two"}],
            )


def test_every_field_judges_every_wrong_value() -> None:
    """What the spec lets pass is all that a driver may have to judge."""
    for path, value in product(FIELDS, WRONG):
        values, problems = flatten(WorkerSpec, placed({}, path, value), Role.WORKER)
        for problem in (*problems, *validate(SPEC.worker, Role.WORKER, values, is_whole=False)):
            assert problem.rule, (path, value)
            assert problem.path.startswith(path), (path, value)


def test_no_value_of_a_field_breaks_the_api(world: World, seen: list[Submission]) -> None:
    researcher = ApiClient(world, "researcher-vision")
    researcher._client.raise_request_exception = False
    shared = body(world)
    own = {k: v for k, v in shared["spec"].items() if k in catalogue(ReplicaSpec)}
    for path, value in some(wrong_values()):
        sent = shared | {"spec": placed(shared["spec"], path, value)}
        sent |= {"masterSpec": placed(own, path, value), "masterSpecSameAsWorker": False}
        answer = researcher.post(DRY_RUN, sent)
        assert answer.status_code in (200, 400), (path, str(value)[:60], answer.content[:300])
        assert_sound(seen)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("compute.cpuMemoryRequest", "16 GB"),
        ("compute.cpuCoreRequest", [1]),
        ("storage.pvc", 5),
        ("environmentVariables", [None]),
    ],
)
def test_a_wrong_value_that_the_master_has_from_the_workers_is_told_once(
    world: World, path: str, value: Any
) -> None:
    sent = body(world)
    sent["spec"] = placed(sent["spec"], path, value)
    answer = ApiClient(world, "researcher-vision").post("workloads/distributed", sent)
    assert answer.status_code == 400
    (problem,) = answer.json()["problems"]
    assert problem["role"] == "worker"
    assert problem["path"].startswith(path)


def test_no_text_in_the_form_destroys_the_draft(world: World, seen: list[Submission]) -> None:
    filler = Filler(world, tab="tab-1")
    filler.client.raise_request_exception = False
    setup = {
        "workload.name": "digits",
        "workload.projectId": str(world.vision.pk),
        "worker.distributedFramework": "PyTorch",
    }
    assert filler.post("setup", setup).status == 303
    workers = {"worker.image": "busybox:1", "worker.command": "python train.py"}
    assert filler.post("workers", workers).status == 303
    page = filler.get("workers").page
    plain = [path for path, field in FIELDS.items() if field.kind is not Kind.ITEMIZED]
    for path, text in some(zip(plain, cycle(TYPED), strict=False)):
        kept = [pair for pair in page.fields() if pair[0] not in (f"worker.{path}", "_tab")]
        sent = [*kept, (f"worker.{path}", text), ("_tab", "tab-1"), ("_go", "autosave")]
        assert filler.send("workers", sent).status == 200, (path, text)
        assert filler.get("review").status == 200, (path, text)
    for step in ("workers", "master"):
        assert filler.get(step).status == 200
    assert_sound(seen)
