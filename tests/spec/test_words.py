"""Values, bounds and choices in words."""

import pytest

from gangline.spec.base import Ui
from gangline.spec.catalogue import Bound, Kind, SpecField, catalogue
from gangline.spec.words import (
    accepted,
    did_you_mean,
    in_words,
    one_of,
    plain_number,
    span,
    with_unit,
)
from gangline.spec.workload import WorkerSpec

FIELDS = catalogue(WorkerSpec)
OPEN = SpecField("sample", Kind.NUMBER, Ui("Sample"), exclusive_minimum=0, maximum=1)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 seconds"), (1, "1 second"), (90, "90 seconds"), (300, "5 minutes"), (3600, "1 hour"),
     (2_592_000, "30 days")],
)  # fmt: skip
def test_durations(seconds: int, words: str) -> None:
    assert in_words(FIELDS["terminationGracePeriodSeconds"], seconds) == words


def test_other_values() -> None:
    assert in_words(FIELDS["compute.cpuMemoryLimit"], "16Gi") == "16 GiB"
    assert in_words(FIELDS["compute.cpuCoreLimit"], 1024.0) == "1024"
    assert in_words(SpecField("sample", Kind.BOOLEAN, Ui("Sample")), False) == "false"
    assert plain_number(1e20) == "100000000000000000000"
    assert one_of(["a"]) == "a"
    assert one_of(["a", "b", "c"]) == "a, b or c"


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("compute.cpuMemoryRequest", "256M", "256 MB"),
        ("compute.cpuMemoryRequest", "1.5k", "1.5 kB"),
        ("compute.cpuMemoryRequest", "500", "500 bytes"),
        ("compute.cpuCoreRequest", 1.0, "1 core"),
        ("compute.cpuCoreRequest", 0.5, "0.5 cores"),
        ("compute.gpuDevicesRequest", 4, "4 GPUs"),
        ("autoDeletionTimeAfterCompletionSeconds", 2_592_000, "30 days"),
        ("numWorkers", 2, "2 pods"),
        ("backoffLimit", 1, "1 retry"),
    ],
)
def test_values_with_their_unit(path: str, value: object, words: str) -> None:
    assert with_unit(FIELDS[path], value) == words


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (1, 4, "between 1 and 4"),
        (4, 4, "4"),
        (1, None, "at least 1"),
        (None, 4, "at most 4"),
    ],
)
def test_a_span(low: Bound | None, high: Bound | None, message: str) -> None:
    assert span(FIELDS["numWorkers"], low, high) == message


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("numWorkers", "a whole number from 1 to 9999"),
        ("compute.cpuCoreLimit", "a number from 0.001 to 1024"),
        ("compute.cpuMemoryLimit", "a size such as 512M or 16Gi from 1M to 1P"),
        ("terminationGracePeriodSeconds", "a whole number of seconds from 0 to 300"),
        ("distributedFramework", "one of PyTorch, TF, XGBoost, MPI, JAX, MXNet or Script"),
        ("labels", "a list of at most 32 items"),
        ("workingDir", "an absolute path such as /workspace"),
        ("command", "a command with closed quotes, such as python train.py"),
    ],
)
def test_what_is_accepted(path: str, words: str) -> None:
    assert accepted(FIELDS[path]) == words


def test_what_is_accepted_is_narrowed_by_a_policy() -> None:
    assert accepted(FIELDS["numWorkers"], 2, 4) == "a whole number from 2 to 4"
    assert accepted(OPEN) == "a number above 0 to 1"
    assert accepted(FIELDS["environmentVariables"].items[1]) == "text of at most 65536 characters"
    assert accepted(SpecField("sample", Kind.BOOLEAN, Ui("Sample"))) == "true or false"


def test_a_slip_is_recognised() -> None:
    assert did_you_mean("Step", ["min", "step"]) == "step"
    assert did_you_mean("gpu-devices-request", ["gpuDevicesRequest"]) == "gpuDevicesRequest"
    assert did_you_mean("x" * 100_000, ["step"]) == ""
    assert did_you_mean("privileged", []) == ""
