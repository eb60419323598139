"""Kueue's side of the contract, on a real API server that serves Kueue's kinds, without Kueue.

What Kueue would write is written here by the administrator: this shows what Gangline sends and how
it reads the answer, as the user of the shipped roles. It is no proof that Kueue does its part.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import Done, NotYet, ObservedState
from gangline.drivers.kubernetes.access import Options
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.probe import probe
from gangline.drivers.kubernetes.resources import Resource
from gangline.drivers.kubernetes.schedulers.kueue import (
    LOCAL_QUEUES,
    QUEUE,
    WORKLOADS,
)
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.objects import DEFINITIONS
from tests.drivers.kubernetes.harness import JOBS, Ground, ground
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_kubernetes

S = ObservedState
TEXT = {"type": "string"}
CONDITION = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("type", "status", "reason", "message"), TEXT),
        "lastTransitionTime": {"type": "string", "format": "date-time"},
    },
}
SCHEMAS = {
    WORKLOADS: {
        "spec": {
            "type": "object",
            "properties": {"active": {"type": "boolean", "default": True}, "queueName": TEXT},
        },
        "status": {
            "type": "object",
            "properties": {"conditions": {"type": "array", "items": CONDITION}},
        },
    },
    LOCAL_QUEUES: {"spec": {"type": "object", "properties": {"clusterQueue": TEXT}}},
}


@pytest.fixture
def place(native_bed: Bed, tmp_path: Path) -> Iterator[Ground]:
    """A driver for Kueue where its kinds are served, and nothing acts on them."""
    bed, made = native_bed, []
    for resource, properties in SCHEMAS.items():
        answer = bed.client.create(DEFINITIONS, "", _definition(resource, properties))
        assert answer.ok, answer.message
        made.append(answer.body["metadata"])
    try:
        for resource in SCHEMAS:
            wait_for(lambda r=resource: bed.client.list(r).ok, seconds=20)  # type: ignore[misc]
        with ground(bed, tmp_path) as ground_:
            ground_.driver = KubernetesDriver(
                ground_.client, Options(scheduler="kueue", data_dir=tmp_path)
            )
            yield ground_
    finally:
        for meta in made:
            bed.client.delete(DEFINITIONS, "", meta["name"], uid=meta["uid"])
        names = [meta["name"] for meta in made]
        wait_for(lambda: not any(bed.client.get(DEFINITIONS, "", n).ok for n in names), seconds=60)


def test_it_is_held_without_a_queue_let_go_into_one_and_stopped_at_its_workload(
    place: Ground,
) -> None:
    ref = place.ref(workers=2)
    assert isinstance(place.driver.create(ref), NotYet)
    assert place.driver.observe(ref).state is S.HELD
    assert QUEUE not in _job(place)["metadata"]["labels"]

    assert isinstance(place.driver.commit(ref), NotYet)
    job = _job(place)
    assert job["metadata"]["labels"][QUEUE] == "default"
    assert job["spec"]["runPolicy"]["suspend"] is True  # Kueue's to change
    seen = place.driver.observe(ref)
    assert (seen.state, seen.reason) == (S.PENDING, "Kueue has not picked it up yet.")

    _kueue_takes_it_up(place)
    message = "insufficient unused quota for nvidia.com/gpu in flavor h100, 4 more needed"
    _kueue_says(place, "QuotaReserved", "False", message)
    seen = place.driver.observe(ref)
    assert (seen.state, seen.reason) == (S.PENDING, f"Waiting for quota: {message}.")

    _kueue_says(place, "Admitted", "True", "admitted")
    _kueue_suspends(place, suspend=False)
    place.until(ref, S.RUNNING)

    assert isinstance(place.driver.suspend(ref), NotYet)
    assert _workload(place)["spec"]["active"] is False
    assert _job(place)["spec"]["runPolicy"]["suspend"] is False  # Kueue's too
    _kueue_suspends(place, suspend=True)
    place.until(ref, S.SUSPENDED)
    assert isinstance(place.driver.suspend(ref), Done)

    assert isinstance(place.driver.resume(ref), NotYet)
    assert _workload(place)["spec"]["active"] is True
    assert _job(place)["spec"]["runPolicy"]["suspend"] is True
    assert place.driver.observe(ref).state is S.PENDING
    _kueue_suspends(place, suspend=False)
    place.until(ref, S.RUNNING)


@pytest.mark.thorough
def test_one_that_waits_is_stopped_before_kueue_can_let_it_in(place: Ground) -> None:
    ref = place.ref()
    place.driver.create(ref)
    place.driver.commit(ref)
    _kueue_takes_it_up(place)
    place.driver.suspend(ref)
    assert _workload(place)["spec"]["active"] is False
    assert place.driver.observe(ref).state is S.SUSPENDED


@pytest.mark.thorough
def test_one_that_kueue_has_not_seen_leaves_its_queue_again(place: Ground) -> None:
    ref = place.ref()
    place.driver.create(ref)
    place.driver.commit(ref)
    place.driver.suspend(ref)
    assert QUEUE not in _job(place)["metadata"]["labels"]
    assert place.driver.observe(ref).state is S.SUSPENDED
    place.driver.resume(ref)
    assert _job(place)["metadata"]["labels"][QUEUE] == "default"


@pytest.mark.thorough
def test_a_project_needs_a_queue_in_its_own_namespace(place: Ground) -> None:
    health = probe(place.client, scheduler="kueue")
    assert health.facts is not None
    step = health.facts.detail["schedulers"]
    assert [(one["name"], one["proven"]) for one in step if one["used"]] == [("kueue", False)]
    submission = place.ref().submission
    assert submission is not None
    (problem,) = place.driver.check(submission, health.facts)
    assert problem.message == (
        "cannot be used yet: Kueue has no queue default in namespace gangline-vision; there is none"
    )
    place.driver.create(place.ref())  # makes the namespace
    assert place.bed.client.create(LOCAL_QUEUES, place.namespace, _queue("team-a")).ok
    facts = probe(place.client, scheduler="kueue").facts
    assert facts is not None
    assert facts.detail["queues"]["names"] == [f"{place.namespace}/team-a"]
    prefix, _, project = place.namespace.partition("-")
    driver = KubernetesDriver(place.client, Options(namespace_prefix=prefix, scheduler="kueue"))
    ours = replace(submission, project=project)
    assert driver.check(replace(ours, queue="team-a"), facts) == []
    assert len(driver.check(ours, facts)) == 1


def _definition(resource: Resource, properties: dict[str, Any]) -> dict[str, Any]:
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {"plural": resource.plural, "kind": resource.kind},
            "versions": [version],
        },
    }


def _queue(name: str) -> dict[str, Any]:
    return {
        "apiVersion": LOCAL_QUEUES.api_version,
        "kind": LOCAL_QUEUES.kind,
        "metadata": {"name": name},
        "spec": {"clusterQueue": "team-a"},
    }


def _job(place: Ground) -> dict[str, Any]:
    raw = place.raw()
    assert raw is not None
    return raw


def _workload(place: Ground) -> dict[str, Any]:
    answer = place.bed.client.get(WORKLOADS, place.namespace, "pytorchjob-gang-1a2b3")
    assert answer.ok, answer.message
    body: dict[str, Any] = answer.body
    return body


def _kueue_takes_it_up(place: Ground) -> None:
    job = _job(place)
    owner = {key: job[key] for key in ("apiVersion", "kind")}
    owner |= {key: job["metadata"][key] for key in ("name", "uid")}
    body = {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {"name": "pytorchjob-gang-1a2b3", "ownerReferences": [owner]},
        "spec": {"queueName": job["metadata"]["labels"][QUEUE]},
    }
    made = place.bed.client.create(WORKLOADS, place.namespace, body)
    assert made.ok, made.message


def _kueue_says(place: Ground, kind: str, status: str, message: str) -> None:
    said = {"type": kind, "status": status, "reason": "Pending", "message": message}
    where = (place.namespace, "pytorchjob-gang-1a2b3", {"status": {"conditions": [said]}})
    assert place.bed.client.patch(WORKLOADS, *where, "status").ok


def _kueue_suspends(place: Ground, *, suspend: bool) -> None:
    body = {"spec": {"runPolicy": {"suspend": suspend}}}
    assert place.bed.client.patch(JOBS, place.namespace, "gang", body).ok
