"""A small, safe part of YAML: JSON's types, no aliases, no tags, no surprises, with line numbers.

Read from parser events, never from constructed objects, so nothing is executed or multiplied.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

LONGEST = 256 * 1024
MOST_EVENTS = 20_000
DEEPEST = 20
LONGEST_TEXT = 65_536

Path = tuple[str | int, ...]

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_SURPRISES = (
    (re.compile(r"(?i:yes|on|true)"), "true, or in quotes if it is text"),
    (re.compile(r"(?i:no|off|false)"), "false, or in quotes if it is text"),
    (re.compile(r"(?i:null)"), "null, or in quotes if it is text"),
    (
        re.compile(r"[-+]?0[0-7_]+|0o[0-7_]+"),
        "a decimal number without leading zeros, or in quotes",
    ),
    (re.compile(r"[-+]?0[xXbB][0-9A-Fa-f_]+"), "a decimal number, or in quotes"),
    (re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"), "text in quotes"),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?"), "text in quotes"),
    (re.compile(r"[-+]?\.(?i:inf|nan)"), "a finite number"),
    (re.compile(r"[-+]?[0-9]{16,}(?:\.[0-9]*)?"), "a number of at most 15 digits"),
    (
        re.compile(r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?"),
        "a plain decimal number such as 1000 or 0.5, or in quotes",
    ),
)


class UnreadableYaml(ValueError):
    """The text is not in the accepted part of YAML. ``line`` counts from 1."""

    def __init__(self, message: str, line: int = 1, suggestion: str = "") -> None:
        super().__init__(f"line {line}: {message}")
        self.message = message
        self.line = line
        self.suggestion = suggestion


class NotAnObject(UnreadableYaml):
    """It is YAML, and only a text, a number or a list."""


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """One object and the line, counted from 1, where each of its parts begins."""

    data: dict[str, Any]
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
        """The line of ``path``, or of the nearest part around it."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


def read(text: str | bytes, *, longest: int = LONGEST) -> YamlDocument:
    """Read one object. Raises UnreadableYaml, and nothing else, for any text."""
    lines: dict[Path, int] = {}
    data = _document(_events(_checked(text, longest)), lines)
    if not isinstance(data, dict):
        raise NotAnObject("this must be exactly one object", lines[()], "Write “key: value” lines.")
    return YamlDocument(data, lines)


def _checked(text: str | bytes, longest: int) -> str:
    encoded = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
    try:
        plain = encoded.decode()
    except UnicodeDecodeError as error:
        line = encoded.count(b"\n", 0, error.start) + 1
        raise UnreadableYaml("this must be UTF-8 text", line) from error
    if len(encoded) > longest:
        raise UnreadableYaml(f"this must have at most {longest // 1024} KiB")
    if plain.startswith("\ufeff"):
        raise UnreadableYaml("this must not start with a byte order mark")
    return plain


def _events(text: str) -> Iterator[Any]:
    """The parser's events, with everything refused that JSON has no word for."""
    documents, deep = 0, 0
    try:
        for number, event in enumerate(yaml.parse(text, Loader=_LOADER)):
            line = _line(event)
            if number > MOST_EVENTS:
                raise UnreadableYaml(f"this must have at most {MOST_EVENTS} parts", line)
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                _refuse_directives(event, documents, line)
            _refuse_references(event, line)
            deep += isinstance(event, yaml.CollectionStartEvent)
            deep -= isinstance(event, yaml.CollectionEndEvent)
            if deep > DEEPEST:
                raise UnreadableYaml(f"this is nested more than {DEEPEST} deep", line)
            if isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
                yield event
    except yaml.YAMLError as error:
        raise _syntax_error(error, text) from error
    if documents == 0:
        raise UnreadableYaml("this must be exactly one object", 1, "The text is empty.")


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _refuse_directives(event: Any, documents: int, line: int) -> None:
    if event.version or event.tags:
        raise UnreadableYaml("directives are not allowed", line, "Remove the line with “%”.")
    if documents > 1:
        raise UnreadableYaml("this must be exactly one object", line, "Remove what follows “---”.")


def _refuse_references(event: Any, line: int) -> None:
    if isinstance(event, yaml.AliasEvent):
        raise UnreadableYaml("aliases are not allowed", line, "Write the value out.")
    if getattr(event, "anchor", None) is not None:
        raise UnreadableYaml("anchors are not allowed", line, f"Remove “&{event.anchor[:40]}”.")
    if getattr(event, "tag", None) is not None:
        raise UnreadableYaml("tags are not allowed", line, f"Remove “{event.tag[:60]}”.")


def _syntax_error(error: yaml.YAMLError, text: str) -> UnreadableYaml:
    if isinstance(error, yaml.reader.ReaderError):
        return _forbidden_character(error, text)
    mark = getattr(error, "problem_mark", None)
    line = mark.line if mark else 0
    problem = getattr(error, "problem", None) or "it cannot be read"
    there = text.split("\n")[line : line + 1]
    tabbed = any("\t" in start[: len(start) - len(start.lstrip())] for start in there)
    hint = "Indent with spaces, not with tabs." if tabbed else ""
    return UnreadableYaml(f"this is not valid YAML: {problem}", line + 1, hint)


def _forbidden_character(error: Any, text: str) -> UnreadableYaml:
    """The reader of libyaml counts bytes, the one of Python characters."""
    at = error.position
    before = text[:at] if error.encoding == "unicode" else text.encode()[:at].decode()
    hint = f"Remove the character U+{error.character:04X}."
    return UnreadableYaml(
        "this is not valid YAML: found a character that is not allowed",
        before.count("\n") + 1,
        hint,
    )


def _document(events: Iterator[Any], lines: dict[Path, int]) -> Any:
    first = next(events)
    data = _node(first, events, (), lines)
    next(events, None)  # reads to the end, so that a second document is found
    return data


def _node(event: Any, events: Iterator[Any], path: Path, lines: dict[Path, int]) -> Any:
    lines[path] = _line(event)
    if isinstance(event, yaml.MappingStartEvent):
        return _mapping(events, path, lines)
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Any] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(_node(event, events, (*path, len(items)), lines))
        return items
    return _scalar(event)


def _mapping(events: Iterator[Any], path: Path, lines: dict[Path, int]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        line = _line(event)
        key = _key(event, line)
        if key in data:
            raise UnreadableYaml(f"duplicate key “{key[:60]}”", line, "Keep one of the two.")
        data[key] = _node(next(events), events, (*path, key), lines)
        lines[(*path, key)] = line
    return data


def _key(event: Any, line: int) -> str:
    if not isinstance(event, yaml.ScalarEvent):
        raise UnreadableYaml("a key must be text", line)
    if event.value == "<<" and event.implicit[0]:
        raise UnreadableYaml("merge keys are not allowed", line, "Write the values out.")
    key = _scalar(event)
    if not isinstance(key, str):
        raise UnreadableYaml("a key must be text", line, "Write the key in quotes.")
    return key


def _scalar(event: Any) -> Any:
    text, line = event.value, _line(event)
    if len(text) > LONGEST_TEXT:
        raise UnreadableYaml(f"text must have at most {LONGEST_TEXT} characters", line)
    if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text):
        raise UnreadableYaml("text must not contain NUL or half of a character", line)
    return _plain(text, line) if event.implicit[0] else text


def _plain(text: str, line: int) -> Any:
    """What a text without quotes stands for."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    for pattern, instead in _SURPRISES:
        if pattern.fullmatch(text):
            raise UnreadableYaml(
                f"“{text[:40]}” can mean several things", line, f"Write {instead}."
            )
    return text


def needs_quotes(text: str) -> bool:
    """Whether `read` would take the text for something else if it stood without quotes."""
    try:
        return bool(_plain(text, 1) != text)
    except UnreadableYaml:
        return True


class _Writer(yaml.SafeDumper):
    """Writes what `read` reads: no anchors, every doubtful text in quotes."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(writer: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text.rstrip("\n") else '"' if needs_quotes(text) else None
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _number(writer: yaml.SafeDumper, number: float) -> yaml.ScalarNode:
    digits = f"{number:.12f}".rstrip("0")
    digits += "0" if digits.endswith(".") else ""
    return writer.represent_scalar("tag:yaml.org,2002:float", digits)


_Writer.add_representer(str, _text)
_Writer.add_multi_representer(str, _text)
_Writer.add_representer(float, _number)


def write(data: Any) -> str:
    """``data``, of JSON's types, as a text that `read` takes, in the order that it has."""
    return yaml.dump(data, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=10_000)
