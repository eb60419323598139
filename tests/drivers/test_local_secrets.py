"""Values of credentials reach the processes of this machine, and no file of Gangline."""

import hashlib
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef, NotYet, ObservedState, Refused
from gangline.drivers.local.driver import LocalDriver, Options
from tests.support.local_cluster import LocalCluster

CANARY = "c4n4ry-value\nof two lines"
SECRETS = {"genericsecret-hf": {"token": CANARY}}


@pytest.fixture(
    params=[False, pytest.param(True, marks=pytest.mark.needs_bwrap)], ids=["plain", "sandboxed"]
)
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    made = LocalCluster(LocalDriver(tmp_path, "host-a", Options(use_sandbox=request.param)))
    yield made
    made.close()


def ref_of(cluster: LocalCluster, command: str, **more: Any) -> AttemptRef:
    variables = [
        {"name": "HF_TOKEN", "secret": {"name": "genericsecret-hf", "key": "token"}},
        {"name": "PLAIN", "value": "plain"},
    ]
    line = f"sh -c {shlex.quote(command)}"
    return cluster.ref(line, environmentVariables=variables, **more)


def test_a_variable_has_the_value_and_nothing_on_disk_has_it(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    digest = hashlib.sha256(CANARY.encode()).hexdigest()
    seen = f'[ "$(printf %s "$HF_TOKEN" | sha256sum | cut -c1-64)" = {digest} ]'
    ref = replace(ref_of(cluster, f"{seen} && echo same $PLAIN", replicas=2), secrets=SECRETS)
    assert isinstance(cluster.driver.create(ref), NotYet)
    assert cluster.over(ref).state is ObservedState.SUCCEEDED
    for replica in ("worker-0", "worker-1"):
        assert cluster.log(ref, replica) == [b"same plain"]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [file for file in files if file.name == "plan.json"]
    assert not [file for file in files if b"c4n4ry" in file.read_bytes()]
    assert "c4n4ry" not in repr(ref)


@pytest.mark.parametrize("secrets", [{}, {"genericsecret-hf": {"other": "x"}}])
def test_what_is_not_there_is_refused_by_name(cluster: LocalCluster, secrets: Any) -> None:
    ref = replace(ref_of(cluster, "true"), secrets=secrets)
    told = cluster.driver.create(ref)
    assert isinstance(told, Refused)
    assert "genericsecret-hf" in told.reason
    assert "HF_TOKEN" in told.reason
