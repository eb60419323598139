"""The JSON parser refuses what is ambiguous or harmful, with a sentence and a place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ParseError

from gangline.api.parsing import MAX_DEPTH, MAX_NODES, loads
from tests.support.api import ApiClient

REFUSED = {
    "duplicate key": (b'{"a": 1, "a": 2}', "a appears twice"),
    "duplicate key deep": (b'{"spec": {"x": 1, "x": 1}}', "x appears twice"),
    "NaN": (b'{"a": NaN}', "NaN"),
    "Infinity": (b'{"a": -Infinity}', "Infinity"),
    "overflow": (b'{"a": 1e400}', "too large"),
    "underflow": (b'{"a": 1e-400}', "too small"),
    "huge integer": (b'{"a": ' + b"9" * 5000 + b"}", "15 digits"),
    "16 digits": (b'{"a": 1000000000000000}', "15 digits"),
    "trailing comma": (b'{"a": 1,}', "not JSON"),
    "byte order mark": (b'\xef\xbb\xbf{"a": 1}', "byte order mark"),
    "not utf-8": (b'{"a": "\xff"}', "UTF-8"),
    "utf-16": ('{"a": 1}'.encode("utf-16"), "UTF-8"),
    "nul in a value": (b'{"a": {"b": ["\\u0000"]}}', "a.b[0] contains a NUL"),
    "nul in a key": (b'{"a\\u0000b": 1}', "NUL"),
    "half a surrogate pair": (b'{"a": "\\ud800"}', "surrogate"),
    "half a surrogate pair in a key": (b'{"\\udc00": 1}', "surrogate"),
    "deep lists": (b"[" * 100_000, "deeper than 20"),
    "deep objects": (b'{"a":' * 50 + b"1" + b"}" * 50, "deeper than 20"),
    "many values": (json.dumps([1] * MAX_NODES).encode(), "more than 10000"),
    "long text": (json.dumps({"a": "x" * 70_000}).encode(), "a is longer than 64 KiB"),
    "two documents": (b"{} {}", "not JSON"),
    "a comment": (b"{/* */}", "not JSON"),
    "single quotes": (b"{'a': 1}", "not JSON"),
    "leading zero": (b'{"a": 010}', "not JSON"),
    "hexadecimal": (b'{"a": 0x10}', "not JSON"),
    "underscores": (b'{"a": 1_000}', "not JSON"),
    "arabic digits": ('{"a": ١٢}'.encode(), "not JSON"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    raw, words = REFUSED[what]
    with pytest.raises(ParseError) as error:
        loads(raw)
    assert words in str(error.value.detail)
    assert len(str(error.value.detail)) < 300


@pytest.mark.parametrize(
    ("spec", "path", "sentence"),
    [
        (
            b'{"compute": {"cpuCoreRequest": NaN}}',
            "compute.cpuCoreRequest",
            "spec.compute.cpuCoreRequest is not a JSON number. You entered NaN.",
        ),
        (
            b'{"numWorkers": 1000000000000000}',
            "numWorkers",
            "spec.numWorkers has more than 15 digits. You entered 1000000000000000.",
        ),
        (b'{"a": [1e400]}', "a.0", "spec.a[0] is too large. You entered 1e400."),
        (
            b'{"args": "a\\u0000"}',
            "args",
            "spec.args contains a NUL character.",
        ),
        (
            b'{"args": "\\ud800"}',
            "args",
            "spec.args contains half of a surrogate pair.",
        ),
        (b'{"a": {"b": 1, "b": 2}}', "a.b", "spec.a.b appears twice in one object."),
        (b'{"": 1, "": 2}', "", "spec. appears twice in one object."),
        (b'{"a": "' + b"x" * 70_000 + b'"}', "a", "spec.a is longer than 64 KiB."),
    ],
)
def test_what_cannot_be_read_is_told_at_its_field(
    researcher: ApiClient, spec: bytes, path: str, sentence: str
) -> None:
    response = researcher.post("workloads/distributed", b'{"name": "a", "spec": ' + spec + b"}")
    body = response.json()
    (problem,) = body["problems"]
    assert (response.status_code, body["message"]) == (400, sentence)
    assert (problem["role"], problem["path"]) == ("worker", path)
    assert problem["accepted"]


def test_everything_that_cannot_be_read_is_told_at_once(researcher: ApiClient) -> None:
    raw = b'{"name": "\\u0000", "spec": {"numWorkers": NaN}, "masterSpec": {"args": "\\u0000"}}'
    problems = researcher.post("workloads/distributed", raw).json()["problems"]
    assert [(p["role"], p["path"]) for p in problems] == [
        ("workload", "name"),
        ("worker", "numWorkers"),
        ("master", "args"),
    ]


@pytest.mark.parametrize("raw", [b"{", b"[" * 30, json.dumps([1] * MAX_NODES).encode(), b"\xff"])
def test_a_body_that_is_wrong_as_a_whole_is_a_problem_too(
    researcher: ApiClient, raw: bytes
) -> None:
    (problem,) = researcher.post("workloads/distributed", raw).json()["problems"]
    assert (problem["role"], problem["path"], problem["label"]) == ("workload", "", "The body")
    assert problem["accepted"]


def test_brackets_inside_texts_do_not_count_as_depth() -> None:
    assert loads(b'{"a": "' + b"[" * 500 + b'\\"[["}')["a"].startswith("[[[")


def test_the_deepest_document_is_read() -> None:
    assert loads(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)


def test_an_empty_body_is_no_data() -> None:
    assert loads(b"") == loads(b"  \n") == {}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**14), 10**14) | st.floats(
        allow_nan=False, allow_infinity=False, width=32
    ).map(float) | st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=8),
        inner, max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@given(json_values)
def test_what_is_proper_is_read_as_it_is(value: object) -> None:
    assert loads(json.dumps({"v": value}).encode()) == {"v": value}


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_and_never_break_the_parser(raw: bytes) -> None:
    refused = ""
    try:
        loads(raw)
    except ParseError as error:
        refused = str(error.detail)
    assert refused == "" or refused.endswith(".")
