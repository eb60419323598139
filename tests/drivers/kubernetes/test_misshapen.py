"""Answers that are not shaped as Kubernetes says: a told doubt, never an end of anything."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pytest

from gangline.drivers import addresses
from gangline.drivers.base import AttemptRef, ObservedState, Unknown
from gangline.drivers.checks import State, Step
from gangline.drivers.kubernetes import probe
from gangline.drivers.kubernetes.access import ClusterCredentials, Options
from gangline.drivers.kubernetes.client import Client, NotUnderstood
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.steps import StepName
from tests.support.api_server import Script, answering

HERE = addresses.AllowedAddresses(addresses.networks("127.0.0.0/8"))
DOUBT = "The answer of the cluster could not be read."
HTML = b"<!doctype html><title>Sign in</title>"
DEEP = b"[" * 200_000
REF = AttemptRef("i", "w", 1, "gang", "vision", rendered={"framework": "PyTorch"})
JOBS = {"kubeflow.org": {"v1": ["pytorchjobs"], "v2beta1": []}}
META = {"name": "n", "labels": {}}


@dataclass
class Odd(Script):
    """A good server but for what it answers at some paths."""

    odd: Mapping[str, Any] = field(default_factory=dict)

    def answer(self, path: str) -> tuple[int, Any]:
        plain = path.partition("?")[0]
        return (200, self.odd[plain]) if plain in self.odd else super().answer(path)


def look(access: ClusterCredentials) -> tuple[dict[str, Step], Any]:
    steps: dict[str, Step] = {}
    with closing(Client(access, HERE)) as client:
        health = probe.probe(
            client, tell=lambda step: steps.update({step.name: step}), ask_rights=True
        )
        probe.capacity(client)
    return steps, health


def nodes(**status: Any) -> dict[str, Any]:
    return {"items": [{"metadata": META, "spec": {}, "status": status}], "metadata": {}}


@pytest.mark.parametrize(
    ("path", "answer", "step"),
    [
        ("/api/v1/nodes", nodes(conditions="Ready"), "Nodes and GPUs"),
        ("/api/v1/nodes", {"items": [5]}, "Nodes and GPUs"),
        ("/api/v1/nodes", "hello", "Nodes and GPUs"),
        ("/apis/storage.k8s.io/v1/storageclasses",
         {"items": [{"metadata": {"name": "a", "annotations": 5}}]}, "Storage classes"),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", {"items": [{}]}, "Scheduler"),
    ],
)  # fmt: skip
def test_a_step_that_is_told_nonsense_says_so_and_the_others_go_on(
    path: str, answer: Any, step: str
) -> None:
    with answering(Odd(groups=JOBS, odd={path: answer})) as access:
        steps, health = look(access)
    assert steps[step].state == State.FAILED
    assert steps[step].sentence.startswith(DOUBT[:-1])
    assert tuple(steps) == tuple(StepName)
    assert [n for n in steps if steps[n].sentence.startswith(DOUBT[:-1])] == [step]
    assert health.reachable


@pytest.mark.parametrize(
    ("script", "name", "words", "fix"),
    [
        (Script(status=429, page=b"slow down"), "Identity", "rate limiting", "in a minute"),
        (Script(status=500, page=b"oops"), "Identity", "500: it is starting", "in a minute"),
        (Script(status=503, page=HTML), "Identity", "503: it is starting", "in a minute"),
        (Script(status=403, page=b"{}"), "Identity", "did not identify", "system:basic-user"),
        (Script(page=HTML), "Identity", "not as an API server of Kubernetes does", "address"),
        (Script(page=DEEP), "Identity", "not as an API server of Kubernetes does", "address"),
        (Script(page=b"9" * 9999), "Identity", "not as an API server of Kubernetes", "address"),
        (Odd(odd={"/version": DEEP.decode()}), "Version", "without a version", "address"),
    ],
)  # fmt: skip
def test_a_server_that_cannot_answer_is_told_from_one_that_is_none(
    script: Script, name: str, words: str, fix: str
) -> None:
    with answering(script) as access:
        steps, health = look(access)
    assert words in steps[name].sentence
    assert fix in steps[name].fix
    assert not health.reachable
    assert "Connection check" not in steps


@pytest.mark.parametrize(
    "date",
    ["Mon, 01 Jan 99999 00:00:00 GMT", "Mon, 01 Jan 999999999999999999999 00:00:00 GMT",
     "tomorrow", "", "Mon, 99 Jan 2026 99:99:99 GMT", "Mon, 01 Jan 0000 00:00:00 -9999"],
)  # fmt: skip
def test_a_clock_that_no_calendar_has_ends_nothing(date: str) -> None:
    with answering(Script(headers={"Date": date})) as access:
        steps, health = look(access)
    assert steps["Clock"].state in (State.SKIPPED, State.WARNING)
    assert tuple(steps) == tuple(StepName)
    assert health.facts is not None


@pytest.fixture(params=[HTML, DEEP, b"[]", b'{"items": 5, "resources": 5}'], ids=range(4))
def nonsense(request: pytest.FixtureRequest) -> Iterator[tuple[Script, KubernetesDriver]]:
    """The driver of a cluster that answers everything with nonsense."""
    script = Script(page=request.param)
    with answering(script) as access, closing(Client(access, HERE)) as client:
        yield script, KubernetesDriver(client, Options())


def test_what_a_driver_is_told_is_doubt(nonsense: tuple[Script, KubernetesDriver]) -> None:
    _, driver = nonsense
    seen = driver.observe(REF)
    assert seen.state is ObservedState.UNKNOWN
    told = [seen.reason]
    for found in (driver.owned_objects("i"), driver.delete(REF)):
        assert isinstance(found, Unknown)
        told.append(found.reason)
    assert all(reason.startswith(DOUBT[:-1]) for reason in told)
    assert driver.capacity() is None


@pytest.mark.parametrize("nonsense", [HTML], indirect=True)
def test_a_watch_backs_off_and_says_why_once(
    nonsense: tuple[Script, KubernetesDriver],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    script, driver = nonsense
    monkeypatch.setattr("gangline.drivers.kubernetes.watcher.FIRST_LIST", 2.0)
    told: list[str] = []
    began = time.monotonic()
    batches = driver.watch("i", "", told.append)
    with caplog.at_level(logging.WARNING):
        assert list(islice(batches, 2)) == [[], []]
    batches.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began > 2
    assert any(DOUBT in one for one in told)
    assert [r for r in caplog.records if r.exc_info] == []
    # Six collections, each asked at first, and after half a second, one, two …
    assert len(script.seen) < 50


def test_an_answer_that_is_none_is_kept_for_who_asked() -> None:
    with (
        answering(Script(page=HTML)) as access,
        closing(Client(access, HERE)) as client,
        pytest.raises(NotUnderstood) as why,
    ):
        client.request("GET", "/version")
    assert str(why.value) == DOUBT
    assert (why.value.answer.status, why.value.answer.body) == (200, HTML.decode())
