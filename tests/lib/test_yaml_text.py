"""The accepted part of YAML, and what everything else is answered."""

import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gangline.lib import yaml_text
from gangline.lib.yaml_text import UnreadableYaml, read

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(8)
)


@pytest.fixture(params=["C", "Python"], autouse=True)
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both parsers answer alike: the C one where it is built in, and the one that always is."""
    if request.param == "Python":
        monkeypatch.setattr(yaml_text, "_LOADER", yaml.SafeLoader)
    return str(request.param)


def refusal(text: str | bytes, **limits: int) -> UnreadableYaml:
    with pytest.raises(UnreadableYaml) as caught:
        read(text, **limits)
    return caught.value


NO_YAML = "this is not valid YAML: found a character that is not allowed"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: 2\n\0", 3, NO_YAML),
        ("é: 1\r\nb: x\x07y\nc: 3\n", 2, NO_YAML),
        ("é: 😀\n\n\nb: '\ufffe'\n", 4, NO_YAML),
        ("\0", 1, NO_YAML),
        (b"a: 1\nb: \xff\n", 2, "this must be UTF-8 text"),
        ("a: é\nb: 1\nc: \ud800", 3, "this must be UTF-8 text"),
    ],
)
def test_a_character_that_no_text_may_hold_is_told_with_its_line(
    text: str | bytes, line: int, words: str
) -> None:
    """One parser counts bytes and the other one characters."""
    error = refusal(text)
    assert (error.line, error.message) == (line, words)
    assert error.suggestion.startswith("Remove the character U+") == (words == NO_YAML)


def test_json_types_are_read_and_every_part_has_a_line() -> None:
    document = read(
        "a: 1\nb:\n  - -2.5\n  - {c: true, d: false}\ne: ~\nf:\ng: null\nh: |\n  two\n  lines\n"
        "i: 'yes'\nj: \"22:30\"\nk: 16Gi\nl: local://x\nm: 1-2\nn: 10.0.0.1\n'<<': x\n"
    )
    assert document.data == {
        "a": 1,
        "b": [-2.5, {"c": True, "d": False}],
        "e": None,
        "f": None,
        "g": None,
        "h": "two\nlines\n",
        "i": "yes",
        "j": "22:30",
        "k": "16Gi",
        "l": "local://x",
        "m": "1-2",
        "n": "10.0.0.1",
        "<<": "x",
    }
    assert document.line(("a",)) == 1
    assert document.line(("b",)) == 2
    assert document.line(("b", 1)) == 4
    assert document.line(("b", 1, "d")) == 4
    assert document.line(("b", 1, "nothing", "there")) == 4
    assert document.line(("nothing",)) == 1


def test_bytes_are_read_as_utf_8() -> None:
    assert read("a: ä\n".encode()).data == {"a": "ä"}


def test_other_digits_are_text() -> None:
    assert read("a: ١٢\n").data == {"a": "١٢"}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: &x 1", 2, "anchors are not allowed"),
        ("&a [*a]", 1, "anchors are not allowed"),
        ("a: *x", 1, "aliases are not allowed"),
        ("a: !!binary x", 1, "tags are not allowed"),
        ("a: !custom 1", 1, "tags are not allowed"),
        ("a: ! x", 1, "tags are not allowed"),
        ('!!python/object/apply:os.system ["id"]', 1, "tags are not allowed"),
        ("privileged: false\nprivileged: true", 2, "duplicate key “privileged”"),
        ("x:\n  a: {b: 1}\n  a: 2", 3, "duplicate key “a”"),
        ("<<: {a: 1}", 1, "merge keys are not allowed"),
        ("a: 1\n---\nb: 1", 2, "this must be exactly one object"),
        ("", 1, "this must be exactly one object"),
        ("# nothing\n", 1, "this must be exactly one object"),
        ("--- \n", 2, "this must be exactly one object"),
        ("x", 1, "this must be exactly one object"),
        ("- 1", 1, "this must be exactly one object"),
        ("%TAG ! tag:x,2000:\n---\na: 1", 1, "directives are not allowed"),
        ("%YAML 1.1\n---\na: 1", 1, "directives are not allowed"),
        ("\ufeffa: 1", 1, "this must not start with a byte order mark"),
        ('a: "\\0"', 1, "text must not contain NUL or half of a character"),
        ("1: a", 1, "a key must be text"),
        ("true: a", 1, "a key must be text"),
        ("? [a]\n: 1", 1, "a key must be text"),
        ("a: \ud800", 1, "this must be UTF-8 text"),
        (b"\xff\xfea", 1, "this must be UTF-8 text"),
        ("a: 1".encode("utf-16"), 1, "this must be UTF-8 text"),
        ("[" * 20_000, 1, "this is nested more than 20 deep"),
        ("{a: " * 2_000, 1, "this is nested more than 20 deep"),
        ("a: " + "x" * 70_000, 1, "text must have at most 65536 characters"),
        ("a: [" + "1, " * 20_000 + "1]", 1, "this must have at most 20000 parts"),
        ("a: '" + "x" * 300_000 + "'", 1, "this must have at most 256 KiB"),
        (BOMB, 1, "anchors are not allowed"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_json_has_no_word_for_is_refused(text: str | bytes, line: int, message: str) -> None:
    error = refusal(text)
    assert error.message == message
    assert (error.line, str(error)) == (line, f"line {line}: {message}")


@pytest.mark.parametrize("text", ["a: \0", "a: \x07", "a: [1", "a: 'x", "a: x: y", "a: - b",
                                  "%YAML 2.0\n---\na: 1", "a: 1\n...\nb: 2", "a: @x"])  # fmt: skip
def test_what_is_no_yaml_is_refused(text: str) -> None:
    assert refusal(text).message.startswith("this is not valid YAML: ")


def test_tabs_are_named() -> None:
    error = refusal("a:\n\tb: 1")
    assert (error.line, error.suggestion) == (2, "Indent with spaces, not with tabs.")


@pytest.mark.parametrize(
    ("value", "suggestion"),
    [
        ("yes", "Write true, or in quotes if it is text."),
        ("On", "Write true, or in quotes if it is text."),
        ("True", "Write true, or in quotes if it is text."),
        ("NO", "Write false, or in quotes if it is text."),
        ("Null", "Write null, or in quotes if it is text."),
        ("010", "Write a decimal number without leading zeros, or in quotes."),
        ("0o17", "Write a decimal number without leading zeros, or in quotes."),
        ("0x10", "Write a decimal number, or in quotes."),
        ("0b1", "Write a decimal number, or in quotes."),
        ("22:30", "Write text in quotes."),
        ("1:30:00.5", "Write text in quotes."),
        ("2026-01-01", "Write text in quotes."),
        ("2026-01-01T10:00:00Z", "Write text in quotes."),
        (".inf", "Write a finite number."),
        ("-.NaN", "Write a finite number."),
        ("9" * 5000, "Write a number of at most 15 digits."),
        ("1e3", "Write a plain decimal number such as 1000 or 0.5, or in quotes."),
        ("1e400", "Write a plain decimal number such as 1000 or 0.5, or in quotes."),
        ("1_000", "Write a plain decimal number such as 1000 or 0.5, or in quotes."),
        ("+1", "Write a plain decimal number such as 1000 or 0.5, or in quotes."),
        ("1.", "Write a plain decimal number such as 1000 or 0.5, or in quotes."),
        (".5", "Write a plain decimal number such as 1000 or 0.5, or in quotes."),
        ("08", "Write a plain decimal number such as 1000 or 0.5, or in quotes."),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_yaml_versions_read_differently_is_refused(value: str, suggestion: str) -> None:
    error = refusal(f"a: 1\nb: {value}")
    assert (error.line, error.suggestion) == (2, suggestion)
    assert error.message == f"“{value[:40]}” can mean several things"
    assert read(f"b: '{value}'").data == {"b": value}


def test_a_smaller_limit_can_be_asked_for() -> None:
    assert refusal("a: 1" + " " * 2000, longest=1024).message == "this must have at most 1 KiB"


def test_an_alias_bomb_is_refused_at_once() -> None:
    refusal(BOMB)  # the first call of a parser pays for its imports
    started = time.perf_counter()
    refusal(BOMB)
    assert time.perf_counter() - started < 0.05


def test_deep_nesting_is_refused_in_time() -> None:
    started = time.perf_counter()
    refusal("[" * 200_000)
    refusal("- " * 100_000)
    assert time.perf_counter() - started < 2


def test_the_largest_document_is_read_in_time(loader: str) -> None:
    lines = "".join(f"key{n}: {'x' * 40}\n" for n in range(5_000))
    started = time.perf_counter()
    assert len(read(lines).data) == 5_000
    assert time.perf_counter() - started < (5 if loader == "C" else 50)


YAML = st.text(st.sampled_from("ab1:-[]{}&*!|>'\"%#,?\n \t<~.\0\x85\u2028é😀")) | st.text()


@given(YAML | st.binary())
def test_nothing_but_our_refusal_is_raised(text: str | bytes) -> None:
    try:
        data: Any = read(text).data
    except UnreadableYaml as error:
        data = {"line": error.line}
    assert isinstance(data, dict)


def test_the_c_parser_is_used_where_it_is_built_in(loader: str) -> None:
    assert (yaml_text._LOADER is yaml.CSafeLoader) is (loader == "C")
