"""Files for the command line: the server would refuse the same."""

import pytest

from gangline_cli.input_files import plain

BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, "line 1: anchors and aliases are not allowed"),
        ("spec:\n  a: &x [*x]\n", "line 2: anchors and aliases"),
        ("image: a\nimage: b\n", "line 2: duplicate key “image”"),
        ("spec: {a: 1, a: 2}\n", "line 1: duplicate key “a”"),
        ("a: !!python/object/apply:os.system ['id']\n", "line 1: could not determine"),
        ("a: 2026-01-01\n", "quote it"),
        ("a: .inf\n", "quote it"),
        ("[" * 20_000, "nested too deep"),
        ("a: [1", "line 1: "),
        ("a: \0", "not allowed"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_json_has_no_word_for_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=r".") as refusal:
        plain(text)
    assert words in str(refusal.value)


def test_what_json_says_is_read() -> None:
    assert plain('{"a": [1, true, null, "x"]}') == {"a": [1, True, None, "x"]}
    assert plain("meta: {name: a}\nspec:\n  image: b\n") == {
        "meta": {"name": "a"},
        "spec": {"image": "b"},
    }
