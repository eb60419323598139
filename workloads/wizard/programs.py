"""A submission as a line of the command line, and as a program in Python."""

import json
import pprint
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from gangline.lib import yaml_text
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.frameworks import WORKERS_ONLY, has_gpus
from gangline.spec.gpus import is_gpu_field
from gangline.spec.problems import Role
from gangline.spec.values import flatten
from gangline.spec.words import plain_number
from gangline.spec.workload import SPEC

FRAMEWORK, COMMAND, ARGS = "distributedFramework", "command", "args"
ENTRY_POINT = "--entry-point"
_END = "GANGLINE"
_ENVELOPE = frozenset({"name", "projectId", "clusterId", "configuration", "spec", "masterSpec"})


class Inexpressible(Exception):
    """Flags cannot say it; a file can."""


def python_lines(body: Mapping[str, Any], server: str) -> str:
    """A program that submits ``body`` to ``server`` by the SDK."""
    literal = pprint.pformat(dict(body), width=88, sort_dicts=False)
    return (
        "from gangline_sdk import Client\n\n"
        f"with Client({server!r}) as gangline:\n"
        f"    workload = gangline.submit(\n{_indented(literal)}\n    )\n"
        '    print(workload["name"], workload["status"])\n'
    )


def _indented(text: str) -> str:
    return "\n".join(f"        {line}" for line in text.splitlines())


def command_line(body: Mapping[str, Any], project: str, cluster: str) -> str:
    """The command that submits ``body``; by flags, or where they cannot say it by a file.

    The cluster is named too: projects of several may share a name.
    """
    try:
        return _by_flags(body, project, cluster)
    except Inexpressible:
        text = yaml_text.write(dict(body))
        return f"gangline submit -f - <<'{_END}'\n{text}{_END}\n"


def _by_flags(body: Mapping[str, Any], project: str, cluster: str) -> str:
    if body.keys() - _ENVELOPE:
        raise Inexpressible
    worker = _values(body.get("spec"), Role.WORKER)
    words = list(_words(worker))
    name = str(body.get("name", ""))
    parts = [f"gangline distributed submit {shlex.quote(name)}"]
    if not name or name.startswith("-"):
        parts = [f"gangline distributed submit {_flag('--name', name)}"]
    parts.append(_flag("--project", project))
    parts.append(_flag("--cluster", cluster))
    parts.append(_flag("--framework", str(worker.pop(FRAMEWORK, ""))))
    parts += ["--no-master"] if body.get("configuration") == WORKERS_ONLY else []
    parts += [one for path, value in worker.items() for one in _flags(path, value, Role.WORKER)]
    if "masterSpec" in body:
        parts += _master(body)
    parts += [" ".join(words)] if words else []
    return " \\\n  ".join(parts) + "\n"


def _values(nested: Any, role: Role) -> dict[str, Any]:
    values, problems = flatten(SPEC.master if role is Role.MASTER else SPEC.worker, nested, role)
    if problems:
        raise Inexpressible
    return values


def _words(worker: dict[str, Any]) -> Iterator[str]:
    """What stands behind the flags; taken out of ``worker``, where words can say it exactly."""
    given = {path for path in (COMMAND, ARGS) if path in worker}
    if len(given) != 1:
        return
    path = given.pop()
    try:
        words = shlex.split(str(worker[path]))
    except ValueError:
        return
    if not words or shlex.join(words) != worker[path]:
        return
    del worker[path]
    if path == COMMAND:
        yield "--command"
    yield f"-- {shlex.join(words)}"


def _master(body: Mapping[str, Any]) -> Iterator[str]:
    """Flags of what the master has otherwise than the workers; it has all else like them."""
    worker = _values(body.get("spec"), Role.WORKER)
    master = _values(body["masterSpec"], Role.MASTER)
    gets_gpus = has_gpus(worker.get(FRAMEWORK), Role.MASTER)
    for path in catalogue(SPEC.master):
        theirs = worker.get(path) if gets_gpus or not is_gpu_field(path) else None
        own = master.get(path)
        if own is None and theirs is not None:
            raise Inexpressible
        if own != theirs and path == "environmentVariables":
            # They are added to those of the workers.
            if not _keeps(theirs, own):
                raise Inexpressible
            own = [one for one in own or () if one not in (theirs or ())]
        if own != theirs:
            yield from _flags(path, own, Role.MASTER)
    if not any(master.get(p) != worker.get(p) for p in catalogue(SPEC.master)):
        raise Inexpressible


def _keeps(theirs: Any, own: Any) -> bool:
    """Whether the master's variables begin with the workers', in their order and no ``-``."""
    names = [item.get("name") for item in theirs or ()]
    mine = [item.get("name") for item in own or ()]
    return mine[: len(names)] == names and all(item.get("value") != "-" for item in own or ())


def _flags(path: str, value: Any, role: Role) -> Iterator[str]:
    field = catalogue(SPEC.worker)[path]
    prefix = "--master-" if role is Role.MASTER else "--"
    flag = f"{prefix}{field.flag}"
    if path == COMMAND and role is Role.WORKER:
        flag = ENTRY_POINT
    if field.kind is Kind.ITEMIZED:
        yield from _list(field, flag, value)
    elif field.kind is Kind.BOOLEAN:
        if not isinstance(value, bool):
            raise Inexpressible
        yield flag if value else f"{prefix}no-{field.flag}"
    else:
        yield _flag(flag, _text(field, value))


def _list(field: SpecField, flag: str, value: Any) -> Iterator[str]:
    if not isinstance(value, list):
        raise Inexpressible
    if not value:
        yield f"{flag}=[]"
    if names := _names(field, value):
        yield _flag(flag, names)
        return
    for item in value:
        if not isinstance(item, Mapping):
            raise Inexpressible
        yield _flag(flag, _pair(field, item) or json.dumps(item, ensure_ascii=False))


def _pair(field: SpecField, item: Mapping[str, Any]) -> str:
    """``NAME=VALUE`` of an item that is no more than that; else empty."""
    if not field.pair or list(item) != [field.item_key, field.pair]:
        return ""
    name, value = item.values()
    is_text = isinstance(name, str) and isinstance(value, str)
    return f"{name}={value}" if is_text and name and not set("={[") & set(name) else ""


def _names(field: SpecField, value: list[Any]) -> str:
    """``a,b`` of a list that is no more than names; else empty."""
    names = [one.get(field.item_key) if isinstance(one, Mapping) else one for one in value]
    is_plain = all(isinstance(one, str) and re.fullmatch(r"[\w.-]+", one) for one in names)
    return ",".join(map(str, names)) if field.is_array and is_plain else ""


def _text(field: SpecField, value: Any) -> str:
    if field.kind.is_numeric and field.kind is not Kind.QUANTITY:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Inexpressible
        return plain_number(value)
    if not isinstance(value, str) or "\0" in value:
        raise Inexpressible
    return value


def _flag(name: str, value: str) -> str:
    return f"{name}={shlex.quote(value)}"
