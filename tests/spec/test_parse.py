"""Text to values and back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.spec.base import Ui
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.parse import Unparsable, parse_text, show_text
from gangline.spec.words import DURATION_UNITS, split_duration
from gangline.spec.workload import WorkerSpec

FIELDS = catalogue(WorkerSpec)
INTEGER = FIELDS["numWorkers"]
NUMBER = FIELDS["compute.cpuCoreRequest"]
QUANTITY = FIELDS["compute.cpuMemoryRequest"]
DURATION = FIELDS["terminationGracePeriodSeconds"]
BOOLEAN = SpecField("sample", Kind.BOOLEAN, Ui("Sample"))


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (INTEGER, " 12 ", 12),
        (INTEGER, "-1", -1),
        (INTEGER, "0012", 12),
        (NUMBER, "0.5", 0.5),
        (NUMBER, "2", 2),
        (QUANTITY, " 16Gi ", "16Gi"),
        (QUANTITY, "16 GB", "16 GB"),
        (DURATION, "90", 90),
        (DURATION, "5min", 300),
        (DURATION, "2 h", 7200),
        (BOOLEAN, "True", True),
        (BOOLEAN, "false", False),
        (FIELDS["distributedFramework"], "TensorFlow", "TF"),
        (FIELDS["distributedFramework"], "Torch", "Torch"),
        (FIELDS["command"], " a\r\nb ", " a\nb "),
    ],
)
def test_text_is_read(field: SpecField, text: str, value: Any) -> None:
    parsed = parse_text(field, text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize("text", ["2.5", "1_000", "١٢", "NaN", "1e9", "", "true", "9" * 16, "1 0",
                                  "0x10", "twelve", "1\u00a0"])  # fmt: skip
def test_what_is_no_whole_number(text: str) -> None:
    with pytest.raises(Unparsable, match="a whole number") as caught:
        parse_text(INTEGER, text)
    assert caught.value.accepted == "a whole number from 1 to 9999"


@pytest.mark.parametrize("text", ["0,5", "1e-400", "nan", "inf", ".5", "1.", "٣", "1" * 5000])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(Unparsable, match="a number"):
        parse_text(NUMBER, text)


@pytest.mark.parametrize(("field", "text"), [(DURATION, "5 weeks"), (BOOLEAN, "1")])
def test_what_is_no_duration_and_no_boolean(field: SpecField, text: str) -> None:
    with pytest.raises(Unparsable, match=r"true or false|time|seconds"):
        parse_text(field, text)


def test_a_list_has_no_text() -> None:
    with pytest.raises(TypeError, match="labels: a list has no single text"):
        parse_text(FIELDS["labels"], "a=b")


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "numWorkers": st.integers(-(10**14), 10**14),
    "compute.cpuCoreRequest": st.one_of(
        st.integers(-(10**14), 10**14), st.decimals(0, 10**6, places=6).map(float)
    ),
    "terminationGracePeriodSeconds": st.integers(-(10**12), 10**12),
    "compute.cpuMemoryRequest": st.from_regex(r"\A[0-9]{1,9}(Mi|G)\Z"),
    "distributedFramework": st.sampled_from(FIELDS["distributedFramework"].choices),
    "command": st.text().map(lambda text: text.replace("\r\n", "\n")),
    "image": st.text().map(lambda text: text.replace("\r\n", "\n")),
}


@given(st.data())
def test_what_is_shown_is_read_back(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(VALUES)))
    value = data.draw(VALUES[path])
    assert parse_text(FIELDS[path], show_text(FIELDS[path], value)) == value


def test_booleans_and_nothing_are_shown() -> None:
    assert show_text(BOOLEAN, True) == "true"
    assert show_text(BOOLEAN, False) == "false"
    assert show_text(INTEGER, None) == ""
    assert show_text(NUMBER, 1e-07) == "0.0000001"
    assert show_text(NUMBER, 2.0) == "2"


@given(st.integers(0, 10**9))
def test_a_duration_splits_without_loss(seconds: int) -> None:
    number, unit = split_duration(seconds)
    assert number * DURATION_UNITS[unit] == seconds
