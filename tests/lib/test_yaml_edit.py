"""Edits of YAML that people wrote: what they say is right, and what was not changed stays."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gangline.lib import yaml_text
from gangline.lib.yaml_edit import edited

TEXT = """\
# head
name: "digits"   # the name
spec:
  image: local://examples
  # about workers
  numWorkers: 2
  # about command
  command: >-
    python
    train.py
  variables:
  # seed
  - name: SEED
    value: "1"  # one
  - {name: OTHER, value: '2'}
"""
KEYS = st.sampled_from(["a", "b", "c", "yes", "1", "x-y", ""])
TEXTS = st.text("ab é#:-'\"\\|>{}[],&*!%@`?01.~\t", max_size=8)
SCALARS = st.one_of(
    st.booleans(), st.integers(-(10**14), 10**14), TEXTS,
    st.sampled_from(["yes", "1e3", "010", "2026-01-01", "a\nb", " x", "#", "~", "null", "-"]),
)  # fmt: skip
ITEMS = st.lists(st.fixed_dictionaries({"name": KEYS, "value": SCALARS}), max_size=4)
VALUES = st.recursive(SCALARS | ITEMS, lambda inner: st.dictionaries(KEYS, inner, max_size=4))
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)


def by_name(path: Any) -> str:
    return "name"


@given(OBJECTS)
def test_what_is_written_is_read_again(data: dict[str, Any]) -> None:
    assert yaml_text.read(yaml_text.write(data)).data == data


@given(OBJECTS, OBJECTS)
def test_an_edit_leads_to_what_is_wanted(before: dict[str, Any], after: dict[str, Any]) -> None:
    text = edited(yaml_text.write(before), before, after, by_name)
    assert yaml_text.read(text).data == after


@given(OBJECTS, OBJECTS)
def test_what_only_the_text_says_stays(before: dict[str, Any], after: dict[str, Any]) -> None:
    text = "# mine\n" + yaml_text.write({**before, "strange": [1, "x"]})
    now = edited(text, before, after, by_name)
    assert yaml_text.read(now).data == {**after, "strange": [1, "x"]}


def test_comments_order_and_quotes_stay() -> None:
    before = yaml_text.read(TEXT).data
    after = yaml_text.read(TEXT).data
    after["spec"]["numWorkers"] = 3
    after["spec"]["variables"][0]["value"] = "7"
    wanted = TEXT.replace("numWorkers: 2", "numWorkers: 3").replace('"1"', '"7"')
    assert edited(TEXT, before, after, by_name) == wanted


def test_a_comment_above_stays_when_the_line_before_it_goes() -> None:
    before = yaml_text.read(TEXT).data
    after = yaml_text.read(TEXT).data
    del after["spec"]["numWorkers"]
    assert "# about command" in edited(TEXT, before, after, by_name)
