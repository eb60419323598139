"""A plan that this Gangline cannot follow ends its attempt in a sentence, and holds nothing up."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef, Done, ObservedState, Refused, Unknown
from gangline.drivers.local.driver import LAUNCHER, LocalDriver, Options
from gangline.drivers.local.shim import command, files
from tests.support.local_cluster import LocalCluster, processes_of
from tests.support.waiting import wait_for

DAMAGED = "The plan of this attempt is damaged, so it cannot continue. Run it again."
NEWER = "The plan of this attempt has version 2, and this Gangline follows version 1. Run it again."


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    cluster = LocalCluster(LocalDriver(tmp_path, "host-a", Options(use_sandbox=False)))
    yield cluster
    cluster.close()


def spoil(cluster: LocalCluster, ref: AttemptRef, kind: str) -> str:
    """Leave a plan of ``kind`` in the run folder; return the sentence that tells of it."""
    path = cluster.ctl(ref) / files.PLAN
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.read_text() if path.exists() else json.dumps({"version": 1, "replicas": []})
    if kind == "newer":
        path.write_text(json.dumps(json.loads(whole) | {"version": 2}))
        return NEWER
    path.write_bytes({"cut": whole[:-5].encode(), "empty": b"", "no text": b"\xff\xfe"}[kind])
    return DAMAGED


@pytest.mark.parametrize("kind", ["newer", "cut", "empty", "no text"])
def test_what_has_not_started_fails_with_the_reason(cluster: LocalCluster, kind: str) -> None:
    ref = cluster.ref("sleep 60")
    reason = spoil(cluster, ref, kind)
    assert cluster.driver.create(ref) == Refused(reason)
    seen = cluster.driver.observe(ref)
    assert (seen.state, seen.reason) == (ObservedState.FAILED, reason)
    assert not processes_of(ref)


@pytest.mark.parametrize("kind", ["newer", "cut"])
def test_what_runs_can_still_be_seen_and_ended(cluster: LocalCluster, kind: str) -> None:
    ref = cluster.start("sleep 60", replicas=2)
    cluster.running(ref)
    reason = spoil(cluster, ref, kind)
    seen = cluster.driver.observe(ref)
    assert (seen.state, seen.reason) == (ObservedState.RUNNING, reason)
    assert not cluster.driver.read_log(ref, "worker-0", 0, 100).end
    wait_for(lambda: cluster.driver.delete(ref) == Done(), seconds=15, what="the end")
    assert not processes_of(ref)
    assert cluster.driver.observe(ref).state is ObservedState.ABSENT


def test_others_are_still_found_and_watched(cluster: LocalCluster) -> None:
    good, bad = cluster.start("sleep 60"), cluster.ref("sleep 60")
    spoil(cluster, bad, "cut")
    owned = cluster.driver.owned_objects("install-a")
    assert not isinstance(owned, Unknown)
    assert [one.ref.workload for one in owned] == [good.workload]
    told = {o.workload: o.state for o in next(cluster.driver.watch("install-a", ""))}
    assert told[bad.workload] is ObservedState.FAILED
    assert good.workload in told


@pytest.mark.parametrize("kind", ["newer", "cut"])
def test_the_launcher_leaves_a_sentence_and_no_trace(cluster: LocalCluster, kind: str) -> None:
    ref = cluster.ref("sleep 60")
    reason = spoil(cluster, ref, kind)
    line = [sys.executable, "-I", "-S", str(LAUNCHER), str(cluster.ctl(ref).parent)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode, done.stderr) == (66, f"{reason}\n")


def test_a_rendered_form_of_another_version_is_refused(cluster: LocalCluster) -> None:
    ref = cluster.ref("sleep 60")
    foreign = replace(ref, rendered=ref.rendered | {"form": "gangline.dev/local/v2"})
    assert cluster.driver.create(foreign) == Refused(
        "Another version of Gangline prepared it. Run it again."
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"env": {"PATH": "/usr/bin:/bin", "A": "\0"}}, "ValueError: embedded null byte"),
        ({"cores": "x"}, "TypeError"),
    ],
)
def test_a_fault_before_the_command_runs_is_told(change: dict[str, Any], said: str) -> None:
    replica = {"argv": ["true"], "env": {"PATH": "/usr/bin:/bin"}, "cwd": "/", "cores": []}
    started = command.start(replica | {"runtime": "system", "sandbox": [], "opened": []} | change)
    assert isinstance(started, command.Refusal)
    assert started.code == 126
    assert started.reason.startswith(f"The command 'true' could not be started: {said}")
