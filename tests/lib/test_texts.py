"""Numbers and times out of addresses."""

from datetime import UTC, datetime

import pytest

from gangline.lib.texts import hidden, moment, whole


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", " 1", "1.0", "1_0", "٣", "²", "9" * 16, "9" * 5000, "x"]
)
def test_what_is_no_small_whole_number_is_none(text: str) -> None:
    assert whole(text) is None


def test_a_whole_number() -> None:
    assert whole("007") == 7
    assert whole("9" * 15) == 999_999_999_999_999


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gpj\u202eexe", "U+202E"), ("a\u2066b", "U+2066"), ("a\u200fb", "U+200F"),
        ("a\u061cb", "U+061C"), ("\ufeffa", "U+FEFF"), ("a\u200bb", "U+200B"),
        ("a\xadb", "U+00AD"), ("a\u2029", "U+2029"), ("a\x1b[0m", "U+001B"), ("\0", "U+0000"),
        ("\U000e0041", "U+E0041"),
        ("", ""), ("مرحبا بالعالم", ""), ("می\u200cخواهم", ""), ("שלום abc", ""),
        ("👩\u200d🔬 ☎\ufe0f", ""), ("two\n\tlines\r\n", ""), ("e\u0301", ""), ("a\xa0b\u3000", ""),
    ],
)  # fmt: skip
def test_what_hides_in_a_text(text: str, found: str) -> None:
    assert hidden(text) == found


def test_a_moment_is_in_utc() -> None:
    assert moment("2026-03-02T10:15:04+01:00") == datetime(2026, 3, 2, 9, 15, 4, tzinfo=UTC)
    assert moment("2026-03-02") == datetime(2026, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"]
)
def test_what_is_no_moment_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        moment(text)


def test_a_moment_that_must_be_zoned() -> None:
    with pytest.raises(ValueError, match="no zone"):
        moment("2026-03-02T10:15:04", zoned=True)
