"""What a process may print, and what may reach a page of it (the bad-input matrix, part O)."""

import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from workloads.logs.lines import Line
from workloads.logs.records import Record
from workloads.logs.rendered_lines import row, rows_html
from workloads.logs.sanitizer import clean, plain

OBEYED = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)


def line_of(text: bytes) -> Line:
    line = Line("worker-0", 0, 1, b"2026-01-01T00:00:00.123456789Z", b"stdout")
    line.add(Record(0, 1, line.stamp, b"stdout", False, text))
    return line


class Seen(HTMLParser):
    """Elements, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "</pre></ol><img src=x onerror=alert(1)>",
        "{{constructor.constructor('x')()}}",
        "{% load x %}",
        '" onclick="alert(1)',
        "&lt;b&gt; &amp;",
    ],
)
def test_129_markup_is_text(text: str) -> None:
    drawn = rows_html([line_of(text.encode())], mark="a", whole="/log?")
    seen = Seen(drawn)
    assert seen.elements <= {"li", "time", "span", "mark"}
    assert seen.attributes <= {"data-id", "title", "class"}
    assert seen.text.endswith(text)
    assert plain(text) == text


@pytest.mark.parametrize(
    "escape",
    [
        "\x1b]52;c;ZXZpbA==\x07",
        "\x1b]0;title\x07",
        "\x1b]8;;javascript:alert(1)\x1b\\",
        "\x1b]8;;\x1b\\",
        "\x1bP1$r0m\x1b\\",
        "\x1bc",
        "\x1b[2J",
        "\x1b[6n",
        "\x1b[1;1H",
        "\x1b[?1049h",
        "\x1b[>0;276;0c",
        "\x1b_Gf=100;AAAA\x1b\\",
        "\x1b^private\x1b\\",
        "\x1bXstring\x1b\\",
        "\x1b(0",
        "\x1b#8",
        "\x9b2J",
        "\x9d0;title\x9c",
        "\x90q\x9c",
        "\x85",
        "\x1b[" + "9;" * 5_000 + "m",
        "\x1b[999999999999999999999m",
        "\x1b[38;5m",
        "\x1b[38;2;1m",
        "\x1b[;;;m",
    ],
)
def test_130_what_a_terminal_obeys_is_removed(escape: str) -> None:
    assert plain(f"before{escape}after") == "beforeafter"


def test_130_an_escape_without_an_end_hides_its_own_line_only() -> None:
    assert plain("shown\x1b]0;" + "x" * 2**20) == "shown"
    assert plain("shown\x1b[") == "shown"
    assert plain("shown\x1b") == "shown"
    assert plain("the next line") == "the next line"


def test_130_a_new_escape_ends_the_one_before_it() -> None:
    assert clean("\x1b]0;never ended\x1b[31mred") == [("red", "fg1")]


def test_131_control_characters_are_pictures() -> None:
    assert plain("a\x00b\x07c\x08d\x7fe\tf") == "a␀b␇c␈d␡e\tf"


def test_bidirectional_and_zero_width_marks_are_visible() -> None:
    assert clean("a\u202egnp.exe") == [("a", ""), ("U+202E", "unseen"), ("gnp.exe", "")]
    assert plain("x\u200by\ufeffz") == "xU+200ByU+FEFFz"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("\x1b[31mred\x1b[0m plain", [("red", "fg1"), (" plain", "")]),
        ("\x1b[1;4;32mok\x1b[22m.\x1b[m.", [("ok", "fg2 b u"), (".", "fg2 u"), (".", "")]),
        ("\x1b[97;101mx", [("x", "fg15 bg9")]),
        ("\x1b[38;5;196mx\x1b[39my", [("x", "fg1"), ("y", "")]),
        ("\x1b[48;2;10;200;10mx", [("x", "bg2")]),
        ("\x1b[38:5:4mx", [("x", "fg4")]),
        ("\x1b[2;3mx\x1b[23my", [("x", "faint i"), ("y", "faint")]),
        ("\x1b[31m\x1b[31mone", [("one", "fg1")]),
    ],
)
def test_colours_become_classes(text: str, parts: list[tuple[str, str]]) -> None:
    assert clean(text) == parts


def test_132_a_line_that_looks_like_ours_is_one_line_of_text() -> None:
    text = b'{"time": "2026-01-01", "level": "error", "logger": "gangline"}'
    assert row(line_of(text))["parts"] == [(text.decode(), "")]
    # What follows a carriage return stands for the whole line; it cannot pretend to be two.
    forged = line_of(b"fine\r2026-01-01T00:00:00Z stdout F admin signed in")
    assert len(rows_html([forged]).split("<li")) == 2


@settings(max_examples=examples(300))
@given(st.binary(max_size=300))
def test_nothing_that_is_obeyed_or_unseen_gets_through(data: bytes) -> None:
    line = line_of(data.replace(b"\n", b" "))
    assert not OBEYED.search(plain(line.words).replace("\t", ""))
    seen = Seen(rows_html([line], mark="e"))
    assert seen.elements <= {"li", "time", "span", "mark"}
    assert html.escape(seen.text) is not None


@settings(max_examples=examples(300))
@given(st.text(alphabet="\x1b[]0;31mPX^_\x07\\\x9b\x9c\x9dab\u202e", max_size=60))
def test_no_order_of_escapes_gets_through(text: str) -> None:
    assert not OBEYED.search(plain(text))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ERROR: no space left", "err"),
        ("[rank 0] 12:00:01 ERROR loader: broken", "err"),
        ("Traceback (most recent call last):", "err"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory", "err"),
        ("\x1b[31mCRITICAL\x1b[0m stop", "err"),
        ("epoch 3 error 0.013", None),
        ("0 errors", None),
        ("WARNING: slow", None),
    ],
)
def test_error_lines_are_told_from_others(text: str, kind: str | None) -> None:
    assert row(line_of(text.encode())).get("kind") == kind
