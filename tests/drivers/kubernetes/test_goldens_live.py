"""The real API server, with the operators' webhooks, judges manifests: a dry run."""

from collections.abc import Callable
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from gangline.drivers.kubernetes.client import Answer
from gangline.drivers.kubernetes.effects import DEPENDENTS
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.resources import Resource
from tests.beds.kubernetes.bed import Bed
from tests.drivers.kubernetes import goldens
from tests.drivers.kubernetes.goldens import SAME, Case

pytestmark = pytest.mark.needs_kubernetes


def cases(more_than: int) -> list[ParameterSet]:
    """Combinations of more than so many objects; those without a golden file run thoroughly."""
    golden = {case.name for case in goldens.cases()}
    return [
        pytest.param(case, id=case.name, marks=() if case.name in golden else pytest.mark.thorough)
        for case in goldens.combinations()
        if len(case.objects()) > more_than
    ]


RESOURCES = DEPENDENTS | {
    (kind.resource.api_version, kind.resource.kind): kind.resource for kind in KINDS.values()
}
Send = Callable[[dict[str, Any]], Answer]


@pytest.fixture
def send(bed: Bed, namespace: str) -> Send:
    """Create an object in a namespace of the test's own, for show."""

    return lambda made: _dry_run(bed, namespace, made)


def _dry_run(bed: Bed, namespace: str, made: dict[str, Any]) -> Answer:
    made["metadata"]["namespace"] = namespace
    return bed.client.create(_resource(made), namespace, made, dry_run=True)


def _resource(made: dict[str, Any]) -> Resource:
    return RESOURCES[(made["apiVersion"], made["kind"])]


ADD_ONS = {"volcano": "volcano", "native": "native-gang"}
"""What a bed needs so that it serves the objects of a scheduler."""


@pytest.mark.parametrize("case", cases(0))
def test_the_job_is_taken_and_nothing_of_it_is_dropped(case: Case, send: Send) -> None:
    job = case.objects()[0]
    answer = send(job)
    assert answer.ok, answer.message
    assert _missing(job, answer.body) == []


@pytest.mark.usefixtures("bed")
@pytest.mark.parametrize("case", cases(1))
def test_what_belongs_to_it_is_taken(case: Case, bed_with: Callable[[str], Bed]) -> None:
    bed = bed_with(ADD_ONS.get(case.scheduler, ""))
    with bed.namespace() as namespace:
        for made in case.objects()[1:]:
            answer = _dry_run(bed, namespace, made)
            assert answer.ok, answer.message
            assert _missing(made, answer.body) == []


@pytest.mark.thorough
def test_an_unknown_field_is_refused(send: Send) -> None:
    """The control: a slip in a manifest would be found above."""
    job = Case("PyTorch", SAME, "plain").objects()[0]
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["comand"] = []
    answer = send(job)
    assert answer.status == 400
    assert "comand" in answer.message


@pytest.mark.thorough
def test_the_webhook_of_the_operator_is_asked(send: Send) -> None:
    """The control: no schema knows that XGBoost needs a master."""
    job = Case("XGBoost", SAME, "plain").objects()[0]
    del job["spec"]["xgbReplicaSpecs"]["Master"]
    answer = send(job)
    assert not answer.ok
    assert "validator.xgboostjob.training-operator.kubeflow.org" in answer.message


def _missing(sent: Any, got: Any, path: str = "") -> list[str]:
    """Places in ``sent`` that are not alike in ``got``; what the server adds does not matter."""
    if isinstance(sent, dict):
        if not isinstance(got, dict):
            return [path]
        return [
            place for key in sent for place in _missing(sent[key], got.get(key), f"{path}.{key}")
        ]
    if isinstance(sent, list):
        if not isinstance(got, list) or len(got) != len(sent):
            return [path]
        pairs = enumerate(zip(sent, got, strict=True))
        return [place for n, (one, other) in pairs for place in _missing(one, other, f"{path}.{n}")]
    return [] if sent == got else [path]
