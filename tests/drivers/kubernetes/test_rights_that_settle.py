"""A project's first workload: its namespace and its right may be made by others, and come late."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import format_datetime
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef, Busy, NotYet, Refused, Result, Unknown
from gangline.drivers.kubernetes import effects, manifests, namespaces
from gangline.drivers.kubernetes.access import Options
from gangline.drivers.kubernetes.client import Answer
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.namespaces import BINDINGS, Namespaces
from tests.drivers.kubernetes import goldens, raw
from tests.drivers.kubernetes.scripted import ScriptedClient, status

PLACE, OURS = "gangline-vision", "install-a"
LACKS = (
    'pytorchjobs.kubeflow.org is forbidden: User "system:serviceaccount:gangline:gangline" cannot'
    ' create resource "pytorchjobs" in API group "kubeflow.org" in the namespace "gangline-vision"'
)


def said(code: int, message: str) -> Answer:
    return Answer(code, {"kind": "Status", "code": code, "message": message})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(namespaces, "SETTLE", 0.01)


@dataclass
class World:
    """Has the namespace, and refuses a job as often as is said."""

    refusals: int
    age: float = 0.0
    """Seconds since the binding was changed."""
    binds: Answer = field(default_factory=lambda: Answer(200, {}))
    who: Answer = field(
        default_factory=lambda: Answer(
            201, {"status": {"userInfo": {"username": "system:serviceaccount:gangline:gangline"}}}
        )
    )
    refusal: Answer = field(default_factory=lambda: said(403, LACKS))

    def say(self, method: str, path: str, query: Mapping[str, Any]) -> Answer:
        if path.endswith("/pytorchjobs"):
            self.refusals -= 1
            return self.refusal if self.refusals >= 0 else Answer(201, raw.job())
        if "selfsubjectreviews" in path:
            return self.who
        if BINDINGS.plural in path:
            meta = {
                "creationTimestamp": raw.at(-1e6),
                "managedFields": [{"manager": "gangline", "time": raw.at(-self.age)}],
            }
            date = format_datetime(raw.NOW, usegmt=True)
            return replace(self.binds, body={"metadata": meta}, date=date)
        return Answer(200, {"metadata": {"name": PLACE, "labels": {"gangline.dev/install": OURS}}})

    def create(self) -> tuple[Result, ScriptedClient]:
        submission = goldens.submission("PyTorch", goldens.SAME)
        ref: AttemptRef = replace(goldens.ref_of(submission), install=OURS, namespace=PLACE)
        client = ScriptedClient(self.say)
        return KubernetesDriver(client, Options()).create(ref), client


def tries(client: ScriptedClient) -> int:
    return len([path for _, path, _ in client.asked if path.endswith("/pytorchjobs")])


@pytest.mark.parametrize(
    "refusal",
    [
        said(403, LACKS),
        said(404, f'namespaces "{PLACE}" not found'),
    ],
)
def test_a_right_that_comes_late_is_waited_for(refusal: Answer) -> None:
    told, client = World(refusals=5, refusal=refusal).create()
    assert (told, tries(client)) == (NotYet(), 6)
    assert len([path for _, path, _ in client.asked if BINDINGS.plural in path]) == 1


def test_one_that_does_not_come_in_time_is_asked_for_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(effects, "PATIENCE", 0.5)
    told, client = World(refusals=1000, age=20).create()
    assert told == Busy(
        5.0, f"The cluster has not yet applied Gangline's permission in namespace {PLACE} yet."
    )
    assert tries(client) > 2


def test_one_that_is_missing_long_after_the_binding_is_missing() -> None:
    told, client = World(refusals=1000, age=61).create()
    assert isinstance(told, Refused)
    assert told.reason.endswith("its role on the cluster lacks that permission.")
    assert tries(client) == 2


@pytest.mark.parametrize("code", [403, 404])
def test_where_no_binding_can_be_made_the_refusal_stands(code: int) -> None:
    told, client = World(refusals=1000, binds=status(code)).create()
    assert isinstance(told, Refused)
    assert tries(client) == 2


def test_a_namespace_that_is_just_being_removed_is_waited_for() -> None:
    """Its binding is refused then, and so is the job, as if a right were missing."""
    world = World(refusals=1000, binds=status(403))

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        answer = world.say(method, path, query)
        if path.endswith(f"/namespaces/{PLACE}"):
            answer.body["metadata"]["deletionTimestamp"] = raw.at(-5)
        return answer

    told = Namespaces(ScriptedClient(say)).prepare(PLACE, OURS)
    assert told == Busy(3.0, "The project's namespace is being removed.")


def test_a_claim_of_its_volume_is_waited_for_as_well() -> None:
    """Of several API servers another one may be asked for it."""
    data = {"name": "data", "path": "/data", "claimInfo": {"size": "5G"}}
    submission = goldens.submission("PyTorch", goldens.SAME, storage__pvc=[data])
    ref = replace(goldens.ref_of(submission), install=OURS, namespace=PLACE)
    made = manifests.job(ref)
    made["metadata"] |= {"uid": "job-1", "resourceVersion": "7"}
    lacks = LACKS.replace("pytorchjobs", "persistentvolumeclaims").replace("kubeflow.org", "")
    world = World(refusals=1)

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        if path.endswith("/persistentvolumeclaims"):
            return said(403, lacks)
        if method == "GET" and "/pytorchjobs/" in path:
            return Answer(200, made)
        return world.say(method, path, query)

    client = ScriptedClient(say)
    driver = KubernetesDriver(client, Options())
    assert driver.create(ref) == NotYet()
    assert driver.commit(ref) == Busy(
        5.0, f"The cluster has not yet applied Gangline's permission in namespace {PLACE} yet."
    )
    assert not [path for method, path, _ in client.asked if method == "DELETE"]


def test_who_one_is_may_be_told_later() -> None:
    told, _ = World(refusals=1000, who=status(503, "ServiceUnavailable")).create()
    assert isinstance(told, Unknown)


def conflicts(times: int, of: str) -> Callable[[str, str, Mapping[str, Any]], Answer]:
    """Somebody makes the namespace (or changes the binding) at the same moment, so often."""
    left = [times]
    world = World(refusals=0)

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        is_concerned = (BINDINGS.plural if of == "binding" else "/namespaces/") in path
        if is_concerned and left[0] > 0 and (of == "binding" or BINDINGS.plural not in path):
            if method == "GET":
                return status(404, "NotFound")
            left[0] -= 1
            return status(409, "Conflict")
        return world.say(method, path, query)

    return say


@pytest.mark.parametrize("of", ["namespace", "binding"])
def test_what_others_do_at_the_same_moment_is_read_again(of: str) -> None:
    assert Namespaces(ScriptedClient(conflicts(2, of))).prepare(PLACE, OURS) is None


@pytest.mark.parametrize("of", ["namespace", "binding"])
def test_what_others_keep_doing_is_tried_again_later(of: str) -> None:
    told = Namespaces(ScriptedClient(conflicts(1000, of))).prepare(PLACE, OURS)
    assert told == Busy(5.0, f"Another client is changing the namespace {PLACE}.")
