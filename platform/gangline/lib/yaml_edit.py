"""Changes to a YAML text that somebody wrote, which keep comments, order, quotes and the rest."""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .yaml_text import UnreadableYaml, needs_quotes, read, write

Path = tuple[str | int, ...]
KeyOf = Callable[[Path], str]
"""Name of what tells the items of the list at a path apart; empty where nothing does."""

_NOT_THERE = object()


def edited(text: str, before: Mapping[str, Any], after: Mapping[str, Any], key_of: KeyOf) -> str:
    """``text`` with the differences between ``before`` and ``after``; all else stays as it is.

    ``text`` has been read by `yaml_text.read` before: it holds no anchors and no tags.
    """
    if before == after:
        return text
    # Loading it takes longer than most requests need altogether, and few of them edit a text.
    from ruamel.yaml import YAML
    from ruamel.yaml.util import load_yaml_guess_indent

    _, sequence, offset = load_yaml_guess_indent(text)
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.allow_duplicate_keys = False
    yaml.width = 1_000_000
    yaml.indent(mapping=2, sequence=sequence or 4, offset=2 if offset is None else offset)
    document, stream = yaml.load(text), io.StringIO()
    _change(document, before, after, (), key_of)
    yaml.dump(document, stream)
    wanted = read(text).data
    _change(wanted, before, after, (), key_of)
    return stream.getvalue() if _says(stream.getvalue(), wanted) else write(wanted)


def _says(text: str, wanted: Any) -> bool:
    """Whether `read` finds ``wanted`` in it: values come before comments, should both not do."""
    try:
        return bool(read(text).data == wanted)
    except UnreadableYaml:
        return False


def _change(
    node: Any, before: Mapping[str, Any], after: Mapping[str, Any], path: Path, key_of: KeyOf
) -> None:
    for key in [key for key in before if key not in after]:
        _remove(node, key)
    for key, value in after.items():
        was = before.get(key, _NOT_THERE)
        if was == value:
            continue
        there = node.get(key)
        if isinstance(there, Mapping) and isinstance(value, Mapping):
            _change(there, was if isinstance(was, Mapping) else {}, value, (*path, key), key_of)
        elif isinstance(there, list) and isinstance(value, list):
            _change_list(there, was, value, (*path, key), key_of)
        else:
            node[key if key in node else _written(key)] = _written(value)


def _change_list(node: Any, was: Any, value: Sequence[Any], path: Path, key_of: KeyOf) -> None:
    """Items that are there keep their place in the text; what is new comes behind them."""
    name = key_of(path)
    earlier = {_key(item, name): item for item in (was if isinstance(was, list) else ())}
    wanted = {_key(item, name): item for item in value}
    if not name or len(wanted) != len(value) or [k for k in wanted if k is None]:
        node[:] = _written(value)
        return
    for place in reversed(range(len(node))):
        if (key := _key(node[place], name)) in earlier and key not in wanted:
            del node[place]
    there = {_key(item, name): item for item in node}
    for key, item in wanted.items():
        if key not in there:
            node.append(_written(item))
        elif isinstance(there[key], Mapping) and isinstance(item, Mapping):
            _change(there[key], earlier.get(key, {}), item, (*path, 0), key_of)
    order = list(wanted)
    if [k for item in node if (k := _key(item, name)) in wanted] != order:
        places = {key: place for place, key in enumerate(order)}
        strange = len(order)
        node[:] = sorted(node, key=lambda item: places.get(_key(item, name), strange))


def _key(item: Any, name: str) -> str | None:
    value = item.get(name) if isinstance(item, Mapping) else None
    return str(value) if isinstance(value, str) else None


def _remove(node: Any, key: str) -> None:
    """Without ``key``; comments below it are about what follows, and stay there."""
    if key not in node:
        return
    if not hasattr(node, "ca"):
        del node[key]
        return
    keys = list(node)
    before = keys[keys.index(key) - 1] if keys.index(key) else None
    behind = node.ca.items.pop(key, None)
    del node[key]
    comment = behind[2] if behind and len(behind) > 2 else None
    if comment is None or "\n" not in comment.value.rstrip("\n"):
        return
    _, _, rest = comment.value.partition("\n")
    if before is None:
        lines = [line.strip().removeprefix("#").strip() for line in rest.splitlines()]
        node.yaml_set_start_comment("\n".join(filter(None, lines)), indent=node.lc.col)
    elif (above := node.ca.items.get(before)) and len(above) > 2 and above[2] is not None:
        above[2].value += rest
    else:
        comment.value = f"\n{rest}"
        node.ca.items[before] = [None, None, comment, None]


def _written(value: Any) -> Any:
    """``value`` as it is to stand in the text: doubtful texts in quotes, long ones in a block."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

    if isinstance(value, Mapping):
        return {_written(key): _written(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_written(inner) for inner in value]
    if isinstance(value, str) and "\n" in value.rstrip("\n"):
        return LiteralScalarString(value)
    if isinstance(value, str) and needs_quotes(value):
        return DoubleQuotedScalarString(value)
    return value
