"""The connection check, against a real cluster and against servers that are not quite one."""

import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
import yaml

from gangline.drivers import addresses
from gangline.drivers.checks import State, Step
from gangline.drivers.facts import Health
from gangline.drivers.kubernetes import capabilities, connection_steps, probe
from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.steps import StepName
from tests.beds.kubernetes.bed import Bed
from tests.drivers.kubernetes.harness import service_account
from tests.support.api_server import TOKEN, Script, answering
from tests.support.certificates import pair

HERE = addresses.AllowedAddresses(addresses.networks("127.0.0.0/8,::1"))
OPERATORS = {
    "v1": ["pytorchjobs", "tfjobs", "xgboostjobs", "jaxjobs"],
    "v2beta1": ["mpijobs"],
}


def look(access: ClusterCredentials, **options: Any) -> tuple[dict[str, Step], Health]:
    """All steps by name, in their order, and what came out."""
    told: list[Step] = []
    with closing(Client(access, options.pop("reach", HERE))) as client:
        health = probe.probe(client, tell=told.append, ask_rights=True, **options)
    names = [step.name for step in told]
    assert names == list(StepName)[: len(names)]
    assert TOKEN not in repr(told)
    return {step.name: step for step in told}, health


def last(access: ClusterCredentials, **options: Any) -> Step:
    """The step at which the check of an unreachable cluster ended."""
    steps, health = look(access, **options)
    ended = list(steps.values())[-1]
    assert not health.reachable
    assert health.reason == ended.sentence
    assert ended.state == State.FAILED
    return ended


def steps_of(script: Script) -> dict[str, Step]:
    with answering(script) as access:
        return look(access)[0]


# A real cluster


def test_the_shipped_role_has_every_right_and_no_more(bed: Bed) -> None:
    steps, health = look(bed.restricted)
    assert tuple(steps) == tuple(StepName)
    assert [n for n, step in steps.items() if step.state == State.FAILED] == []
    assert steps["Permissions"].state == State.OK, steps["Permissions"]
    assert health.reachable
    assert health.facts is not None
    assert re.fullmatch(r"Kubernetes 1\.\d+\.\d+\S*", health.facts.version)
    assert {one.framework for one in health.facts.frameworks if one.available} == {
        "PyTorch", "TF", "XGBoost", "JAX", "MPI", "MXNet",
    }  # fmt: skip
    nodes = health.facts.detail["nodes"]
    with closing(Client(bed.restricted, HERE)) as client:
        room = probe.capacity(client)
    assert room is not None
    assert room.admission == "theirs"
    assert sum(one["total"] for one in nodes["gpus"]) == room.gpu_count > 0
    assert room.cpus > 0
    assert room.memory > 1 << 30


@pytest.mark.thorough
def test_an_administrator_is_told_that_it_is_too_much(bed: Bed) -> None:
    steps, _ = look(bed.admin)
    assert steps["Permissions"].state == State.WARNING
    assert "cluster-admin" in steps["Permissions"].sentence


@pytest.mark.thorough
def test_a_wrong_token_ends_the_check_at_the_identity(bed: Bed) -> None:
    ended = last(replace(bed.restricted, token="not-a-token-of-this-cluster"))
    assert ended.name == "Identity"
    assert "rejected the credential" in ended.sentence
    assert "create token" in ended.copy


def test_a_token_without_rights_is_told_the_very_rules_that_help(bed: Bed) -> None:
    """The rules that the check names are applied word for word; then nothing is missing."""
    with service_account(bed) as (access, grant):
        steps, health = look(access)
        assert health.reachable
        assert health.reason == "Failed in the check: Permissions, Storage classes, Nodes and GPUs."
        missing = steps["Permissions"]
        assert missing.state == State.FAILED
        assert "list nodes" in missing.sentence
        assert steps["Nodes and GPUs"].sentence == (
            "Gangline does not have permission to list nodes."
        )
        grant([rule for part in missing.copy.split("\n\n") for rule in yaml.safe_load(part)])
        steps, _ = look(access)
        assert steps["Permissions"].state == State.OK, steps["Permissions"]
        assert steps["Nodes and GPUs"].state == State.OK


@pytest.mark.thorough
def test_another_authority_is_not_believed(bed: Bed) -> None:
    ended = last(replace(bed.restricted, certificate_authority=pair("other").certificate))
    assert ended.name == "Certificate"
    assert "not issued by the given authority" in ended.sentence


@pytest.mark.thorough
def test_this_machine_is_not_dialled_unless_it_is_admitted(bed: Bed) -> None:
    ended = last(bed.restricted, reach=addresses.AllowedAddresses())
    assert ended.name == "Reachability"
    assert "loopback" in ended.sentence


def test_nobody_there() -> None:
    ended = last(ClusterCredentials("https://127.0.0.1:9", token=TOKEN))
    assert ended.sentence == "127.0.0.1 port 9 refuses connections: nothing listens there."


# Servers that cannot be had for real


def test_a_small_server_that_is_as_it_should_be() -> None:
    steps = steps_of(Script(groups={"kubeflow.org": OPERATORS}))
    assert steps["Operators"].state == State.OK


@pytest.mark.parametrize(("minor", "state"), [("28", "failed"), ("29+", "ok"), ("37", "ok")])
def test_versions(minor: str, state: str) -> None:
    assert steps_of(Script(minor=minor))["Version"].state == state


def test_an_old_version_is_said_and_ends_the_check() -> None:
    with answering(Script(minor="24")) as access:
        ended = last(access)
    assert ended.sentence == "Kubernetes 1.24.4 is too old: Gangline needs 1.29 or newer."


def test_a_version_of_tomorrow_is_tried() -> None:
    steps = steps_of(Script(minor="52"))
    assert steps["Version"].state == State.WARNING
    assert "newer than the versions Gangline was tested with" in steps["Version"].sentence
    assert "Nodes and GPUs" in steps


@pytest.mark.parametrize(("off", "words"), [(90.0, "ahead of"), (-90.0, "behind")])
def test_a_clock_that_is_off(off: float, words: str) -> None:
    step = steps_of(Script(clock_off=off))["Clock"]
    assert step.state == State.WARNING
    assert re.search(rf"clock is (8|9)\d s {words} this machine", step.sentence)


def test_no_operator() -> None:
    step = steps_of(Script())["Operators"]
    assert step.state == State.FAILED
    assert "No framework can run here" in step.sentence
    assert step.copy.count("kubectl apply") == 2


def test_only_the_old_kind_of_mpi() -> None:
    script = Script(groups={"kubeflow.org": {"v1": [*OPERATORS["v1"], "mpijobs"]}})
    with answering(script) as access:
        steps, health = look(access)
    assert steps["Operators"].state == State.WARNING
    assert health.facts is not None
    mpi = next(one for one in health.facts.frameworks if one.framework == "MPI")
    assert not mpi.available
    assert "only as v1, of the training operator: Gangline needs v2beta1" in mpi.reason
    assert "--enable-scheme" in mpi.remedy


def test_trainer_2_alone_is_named() -> None:
    step = steps_of(Script(groups={"trainer.kubeflow.org": {"v1alpha1": []}}))["Operators"]
    assert "the cluster has Kubeflow Trainer 2" in step.sentence


@pytest.mark.parametrize(
    ("group", "version", "words"),
    [
        ("scheduling.volcano.sh", "v1beta1", "Volcano"),
        ("scheduling.k8s.io", "v1alpha2", "Kubernetes"),
        ("scheduling.x-k8s.io", "v1alpha1", "scheduler-plugins is installed too"),
    ],
)
def test_schedulers_are_found(group: str, version: str, words: str) -> None:
    assert words in steps_of(Script(groups={group: {version: []}}))["Scheduler"].sentence


def test_a_scheduler_that_was_chosen_and_is_not_there() -> None:
    with answering(Script()) as access:
        step = look(access, scheduler="volcano")[0]["Scheduler"]
    assert step.state == State.FAILED
    assert "was chosen, but the cluster does not have it" in step.sentence


@pytest.mark.parametrize(
    ("script", "name", "words"),
    [
        (Script(page=b"<html>CANARY sign in</html>"), "Identity", "not as an API server"),
        (Script(status=302, headers={"Location": "http://169.254.169.254/"}), "Identity",
         "a redirect, which Gangline does not follow"),
        (Script(status=500, page=b"CANARY"), "Identity", "answered 500"),
        (Script(endless=True), "Identity", "sends an endless answer"),
    ],
)  # fmt: skip
def test_what_is_no_api_server(script: Script, name: str, words: str) -> None:
    with answering(script) as access:
        ended = last(access)
    assert (ended.name, words in ended.sentence) == (name, True), ended
    assert "CANARY" not in ended.sentence
    assert len(script.seen) == 1


def test_a_server_that_drips_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "ONE_ANSWER", 1.0)
    with answering(Script(drip=True)) as access:
        assert "answers too slowly" in last(access).sentence


@pytest.mark.parametrize(
    ("begins", "ends", "words"),
    [(-9, -2, "certificate expired on "), (3, 9, "certificate is not valid before ")],
)
def test_dates_of_the_servers_certificate(begins: int, ends: int, words: str) -> None:
    own = pair("dated", begins=begins, ends=ends, server=True)
    script = Script()
    with answering(script, own) as access:
        ended = last(access)
    assert ended.name == "Certificate"
    assert re.search(rf"{words}\d+ \w+ 20\d\d, \d\d:\d\d UTC", ended.sentence)
    assert script.seen == []


def test_a_certificate_that_ends_soon_is_worth_knowing() -> None:
    with answering(Script(), pair("soon", ends=5, server=True)) as access:
        steps, health = look(access)
    assert steps["Certificate"].state == State.WARNING
    assert health.reachable


def test_a_certificate_of_another_name() -> None:
    with answering(Script()) as access:
        ended = last(replace(access, server=access.server.replace("127.0.0.1", "localhost")))
    assert "is for another name than localhost" in ended.sentence


def test_no_step_takes_the_check_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> Step:
        raise ZeroDivisionError

    monkeypatch.setattr(connection_steps, "clock", broken)
    with answering(Script()) as access, closing(Client(access, HERE)) as client:
        health = probe.probe(client)
    assert health.facts is None
    assert health.reason == "Failed in the check: Connection check."


def test_nodes_that_take_no_pods_do_not_count() -> None:
    step, detail = capabilities.nodes_in_words(
        [node("a"), node("b", unschedulable=True), node("c", ready="False"), {}]
    )
    assert (detail["total"], detail["usable"]) == (4, 1)
    assert detail["gpus"] == [
        {"resource": "nvidia.com/gpu", "product": "H100", "nodes": 1, "total": 8}
    ]
    assert step.sentence.startswith("1 of 4 nodes take pods: 63.5 CPU cores, ")
    assert capabilities.nodes_in_words([])[0].state == State.WARNING


def node(name: str, *, ready: str = "True", unschedulable: bool = False) -> Mapping[str, Any]:
    return {
        "metadata": {"name": name, "labels": {"nvidia.com/gpu.product": "H100"}},
        "spec": {"unschedulable": unschedulable},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "allocatable": {"cpu": "63500m", "memory": "512Gi", "nvidia.com/gpu": "8"},
        },
    }
