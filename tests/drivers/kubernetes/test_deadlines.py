"""Looks, effects and what belongs to them end in time, however slowly a cluster answers."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import (
    AttemptRef,
    DryRunResult,
    ObservedState,
    OwnedObject,
    Unknown,
)
from gangline.drivers.kubernetes import deadlines, log_collector, pods
from gangline.drivers.kubernetes.access import Options
from gangline.drivers.kubernetes.client import Answer, Client, Unreachable
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.logs.store import LogStore
from tests.drivers.kubernetes import raw
from tests.drivers.kubernetes.scripted import ScriptedClient, page
from tests.drivers.kubernetes.test_odd_answers import attempt
from tests.support.api_server import Script, answering


@pytest.mark.parametrize("act", ["delete", "suspend", "observe"])
def test_a_call_has_one_deadline_for_all_of_its_requests(
    act: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each answer comes in time, and the whole of them would not."""
    monkeypatch.setattr(deadlines, "BUDGET", 1.6)
    script = Script(seconds=0.6, groups={"kubeflow.org": {"v1": [], "v2beta1": []}})
    ref = AttemptRef("install", "workload", 1, "gang")
    with answering(script) as access, closing(Client(access)) as client:
        driver = KubernetesDriver(client, Options(data_dir=tmp_path))
        began = time.monotonic()
        told = getattr(driver, act)(ref)
        assert time.monotonic() - began < 3
        assert isinstance(told, Unknown) or told.state is ObservedState.UNKNOWN
        assert len(script.seen) == 3, "the first two in time, and none after the deadline"


LACKS = (
    'pytorchjobs.kubeflow.org is forbidden: User "x" cannot create resource "pytorchjobs" in API'
    ' group "kubeflow.org" in the namespace "vision"'
)


def _slowly(method: str, path: str, query: Mapping[str, Any]) -> Answer:
    """Gangline may do nothing yet in the project's namespace."""
    time.sleep(0.3)
    refusal = Answer(403, {"kind": "Status", "message": LACKS})
    if path.count("/") == 3:
        return Answer(200, {"resources": [{"name": "pytorchjobs"}]})
    if (method == "POST" and not path.endswith("reviews")) or "/pytorchjobs/" in path:
        return refusal
    if path.endswith("reviews"):
        return Answer(201, {"status": {"userInfo": {"username": "x"}}})
    if path.endswith("/namespaces/vision"):
        marks = {"gangline.dev/install": "i"}
        return Answer(200, {"metadata": {"name": "vision", "labels": marks}})
    return page(raw.job())


OWNED = OwnedObject(replace(raw.REF, ext_uid="job-1"), "PyTorchJob")


@pytest.mark.parametrize(
    "act",
    [
        lambda driver: driver.owned_objects("install-a"),
        lambda driver: driver.delete_object(OWNED),
        lambda driver: driver.dry_run(attempt(driver)),
    ],
    ids=["owned_objects", "delete_object", "dry_run"],
)
def test_what_is_asked_beside_the_attempts_has_one_deadline_too(
    act: Callable[[KubernetesDriver], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "BUDGET", 0.5)
    client = ScriptedClient(_slowly)
    told = act(KubernetesDriver(client, Options()))
    assert len(client.asked) == 2, "the second before the deadline, and none after it"
    doubt = told.doubts[-1] if isinstance(told, DryRunResult) else told.reason
    assert doubt.startswith("The cluster answers too slowly")


def test_what_a_trial_asks_about_rights_has_the_same_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who Gangline is, and whether it may bind itself, come last."""
    monkeypatch.setattr(deadlines, "BUDGET", 1.1)
    client = ScriptedClient(_slowly)
    driver = KubernetesDriver(client, Options())
    told = driver.dry_run(attempt(driver))
    assert client.asked[-1][1].endswith("/selfsubjectreviews")
    assert told.doubts[-1].startswith("The cluster answers too slowly")


def test_logs_of_a_pod_that_says_more_and_more_are_caught_up_with_for_a_while(
    tmp_path: Path,
) -> None:
    pod = pods.read(raw.pod())
    with answering(Script(endless=True)) as access, closing(Client(access)) as client:
        began = time.monotonic()
        log_collector.catch_up(client, LogStore(tmp_path), [pod], seconds=0.5)
        assert time.monotonic() - began < 3
    assert LogStore(tmp_path).read(*pod.key, pod.replica, 0, 100).data


class Deaf(ScriptedClient):
    """Has a gang that runs, whose logs hang, as those of a lost node do."""

    def __init__(self) -> None:
        super().__init__(_gang)

    @contextmanager
    def stream(self, path: str, **more: Any) -> Iterator[tuple[int, Iterator[bytes]]]:
        assert path.endswith("/log")
        time.sleep(more["silence"])
        raise Unreachable("It did not answer in time.")
        yield


class Dripping(ScriptedClient):
    """The logs come byte by byte, each just before the silence would count as one."""

    def __init__(self) -> None:
        super().__init__(_gang)

    @contextmanager
    def stream(self, path: str, **more: Any) -> Iterator[tuple[int, Iterator[bytes]]]:
        def pieces() -> Iterator[bytes]:
            while True:
                time.sleep(0.9 * more["silence"])
                yield b"x"

        yield 200, pieces()


def _gang(method: str, path: str, query: Mapping[str, Any]) -> Answer:
    if method == "GET" and path.endswith("s"):
        return page(raw.pod(0), raw.pod(1)) if path.endswith("/pods") else page()
    return Answer(200, raw.job())


@pytest.mark.parametrize("cluster", [Deaf, Dripping])
@pytest.mark.parametrize(("act", "sent"), [("suspend", "PATCH"), ("delete", "DELETE")])
def test_what_ends_a_gang_is_sent_in_time_whatever_its_logs_do(
    cluster: type[Deaf | Dripping],
    act: str,
    sent: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(deadlines, "BUDGET", 3.0)
    client = cluster()
    driver = KubernetesDriver(client, Options(data_dir=tmp_path))
    began = time.monotonic()
    getattr(driver, act)(raw.REF)
    assert client.count(sent) == 1
    assert time.monotonic() - began < 4.5


def test_a_log_that_hangs_leaves_time_for_the_others(tmp_path: Path) -> None:
    class Half(Deaf):
        @contextmanager
        def stream(self, path: str, **more: Any) -> Iterator[tuple[int, Iterator[bytes]]]:
            if "worker-0" in path:
                with super().stream(path, **more) as found:
                    yield found
            yield 200, iter([b"2026-11-22T10:00:00Z the last word\n"])

    gang = [pods.read(raw.pod(0)), pods.read(raw.pod(1))]
    log_collector.catch_up(Half(), LogStore(tmp_path), gang, seconds=0.6)
    assert b"the last word" in LogStore(tmp_path).read("w-1", 1, "worker-1", 0, 100).data
