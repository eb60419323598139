"""Looks, effects and what belongs to them end in time, however slowly a cluster answers."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gangline.clusters.drivers.base import AttemptRef, ObservedState, Unknown
from gangline.clusters.drivers.kubernetes import deadlines, logs, pods
from gangline.clusters.drivers.kubernetes.client import Answer, Client, Unreachable
from gangline.clusters.drivers.kubernetes.driver import KubernetesDriver
from gangline.clusters.drivers.kubernetes.options import Options
from tests.drivers.kubernetes import raw
from tests.drivers.kubernetes.scripted import ScriptedClient, page
from tests.support.api_server import Script, answering


@pytest.mark.parametrize("act", ["delete", "suspend", "observe"])
def test_a_call_has_one_deadline_for_all_of_its_requests(
    act: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each answer comes in time, and the whole of them would not."""
    monkeypatch.setattr(deadlines, "BUDGET", 0.8)
    script = Script(seconds=0.3, groups={"kubeflow.org": {"v1": [], "v2beta1": []}})
    ref = AttemptRef("install", "workload", 1, "gang")
    with answering(script) as access, closing(Client(access)) as client:
        driver = KubernetesDriver(client, Options(data_dir=tmp_path))
        began = time.monotonic()
        told = getattr(driver, act)(ref)
        assert time.monotonic() - began < 1.5
        assert isinstance(told, Unknown) or told.state is ObservedState.UNKNOWN
        assert len(script.seen) == 3, "the first two in time, and none after the deadline"


def test_logs_of_a_pod_that_says_more_and_more_are_caught_up_with_for_a_while(
    tmp_path: Path,
) -> None:
    pod = pods.read(raw.pod())
    with answering(Script(endless=True)) as access, closing(Client(access)) as client:
        began = time.monotonic()
        logs.catch_up(client, tmp_path, [pod], seconds=0.5)
        assert time.monotonic() - began < 3
    assert logs.read(logs.folder(tmp_path, pod.workload, pod.attempt, pod.replica), 0, 100).data


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
    logs.catch_up(Half(), tmp_path, gang, seconds=0.6)
    place = logs.folder(tmp_path, "w-1", 1, "worker-1")
    assert b"the last word" in logs.read(place, 0, 100).data
