"""Text of flags to values of JSON. Nothing is judged here: the server says what is wrong."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_INTEGER = re.compile(r"[+-]?[0-9]{1,15}", re.ASCII)
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,12})?", re.ASCII)
_DURATION = re.compile(r"(?:[0-9]{1,9}(?:ms|min|[smhdw]))+", re.ASCII)
_PART = re.compile(r"([0-9]+)(ms|min|[smhdw])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_YES = {"true": True, "yes": True, "false": False, "no": False}
WORDS: Mapping[str, Mapping[str, str]] = {
    "storage.pvc": {
        "accessmoderwo": "claimInfo.accessModes.readWriteOnce",
        "accessmoderom": "claimInfo.accessModes.readOnlyMany",
        "accessmoderwm": "claimInfo.accessModes.readWriteMany",
        "ro": "readOnly",
    },
    "storage.git": {
        "source": "repository", "rev": "revision", "target": "path", "secret": "secretRef.name",
    },
    "storage.s3": {"target": "path", "accesskey": "accessKeySecret"},
    "storage.nfs": {"mount": "mountPath", "ro": "readOnly", "readwrite": "!readOnly"},
    "storage.hostPath": {"mount": "mountPath", "ro": "readOnly", "readwrite": "!readOnly"},
    "storage.secretVolume": {"path": "mountPath"},
    "exposedUrls": {"authusers": "authorizedUsers", "authgroups": "authorizedGroups"},
}  # fmt: skip
"""Other names of attributes, by list; ``!`` stands for the opposite."""


def scalar(kind: str, text: str) -> Any:
    """The value that ``text`` stands for; the text itself where it is none of that kind."""
    word = text.strip()
    if kind == "boolean":
        return _YES.get(word.lower(), text)
    if kind == "duration" and not _INTEGER.fullmatch(word):
        return seconds(word) if _DURATION.fullmatch(word) and "ms" not in word else text
    if kind in ("integer", "duration") and _INTEGER.fullmatch(word):
        return int(word)
    if kind == "number" and _NUMBER.fullmatch(word):
        return float(word) if "." in word else int(word)
    return text


def seconds(text: str) -> int:
    """``1h30m`` and the like in seconds. Raises ValueError."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if not _DURATION.fullmatch(text):
        raise ValueError(f"{text!r} is not a duration; use one such as 90s, 15m, 1h30m or 7d")
    return sum(int(number) * _SECONDS.get(unit, 0) for number, unit in _PART.findall(text))


def items(field: Mapping[str, Any], texts: Iterable[str], words: Mapping[str, str]) -> list[Any]:
    """A list from one text per item; of names all are in one text, or in several.

    A text in brackets is a list of JSON; ``[]`` alone says that there is none.
    """
    found: list[Any] = []
    for text in texts:
        listed = _json(text) if text.lstrip().startswith("[") else None
        if isinstance(listed, list):
            found += listed
        elif field.get("names") and not text.lstrip().startswith("{"):
            found += _split(text)
        else:
            found.append(item(field, text, words))
    return found


def item(field: Mapping[str, Any], text: str, words: Mapping[str, str]) -> Any:
    """``NAME=VALUE``, ``key=value,key=value``, or JSON; a lone word is the item's key."""
    if text.lstrip().startswith("{"):
        return _json(text)
    if pair := field.get("pair"):
        key, is_pair, value = text.partition("=")
        kind = next(one["kind"] for one in field["items"] if one["path"] == pair)
        return _nested({field["key"]: key, **({pair: scalar(kind, value)} if is_pair else {})})
    known = {**_names(field), **WORDS.get(field["path"], {}), **words}
    kinds = {one["path"]: one["kind"] for one in field["items"]}
    parts = _split(text)
    if len(parts) == 1 and "=" not in parts[0] and _plain(parts[0]) not in known:
        return _nested({field["key"]: parts[0]})
    found: dict[str, Any] = {}
    for part in parts:
        key, has_value, value = part.partition("=")
        path = known.get(_plain(key), key)
        if path.startswith("!"):
            path = path[1:]
            given = _YES.get(value.lower(), value) if has_value else True
            found[path] = not given if isinstance(given, bool) else given
        else:
            found[path] = scalar(kinds.get(path, "string"), value) if has_value else True
    if field["path"] == "storage.secretVolume" and "secret" not in found and "name" in found:
        found["secret"] = found.pop("name")
    return _nested(found)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _names(field: Mapping[str, Any]) -> dict[str, str]:
    """Paths of the attributes by how people write them: whole, or a last step that is unique."""
    found: dict[str, str] = {}
    for one in field["items"]:
        last = _plain(one["path"].rpartition(".")[2])
        found[last] = "" if last in found else one["path"]
    found = {name: path for name, path in found.items() if path}
    return found | {_plain(one["path"]): one["path"] for one in field["items"]}


def _plain(key: str) -> str:
    return key.strip().lower().replace("-", "").replace("_", "")


def _split(text: str) -> list[str]:
    """Parts between commas; in double quotes a comma stands for itself."""
    import csv

    try:
        rows = list(csv.reader([text], strict=True, skipinitialspace=True))
    except csv.Error:
        return [text]
    return [part for row in rows for part in row if part]


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for path, value in values.items():
        put(nested, path.split("."), value)
    return nested


def put(nested: dict[str, Any], steps: Sequence[str], value: Any) -> None:
    """Set a value at a path of nested objects."""
    branch = nested
    for step in steps[:-1]:
        inner = branch.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        branch = inner
    branch[steps[-1]] = value


def at(nested: Mapping[str, Any], steps: Sequence[str]) -> Any:
    """The value at a path; None where there is none."""
    found: Any = nested
    for step in steps:
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
