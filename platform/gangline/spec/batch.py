"""A person's own script for sbatch: its places to fill in, and what its ``#SBATCH`` lines ask for.

The lines are read here and become values of the workload, so that policies, quotas and checks judge
them as any other; sbatch itself is given what comes of that, and never a line of the script.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import lengths
from .slurm import OPTIONS, PLACE_VALUE, SCRIPT, TOKEN, VALUES

_PLACE = re.compile(r"\{\{ *([A-Za-z][A-Za-z0-9_]{0,39}) *(?:= *([^{}\n]*?) *)?\}\}")
"""``{{ account }}`` or ``{{ epochs = 10 }}``: to bash itself such a word is a plain text."""
_SIZE = re.compile(r"([0-9]{1,9})([KMGT])?B?", re.IGNORECASE)
_GPU = re.compile(r"(?:gpu:)?(?:([A-Za-z][A-Za-z0-9_.-]*):)?([0-9]{1,4})")
_SHORT = {
    "A": "account", "a": "array", "b": "begin", "C": "constraint", "c": "cpus-per-task",
    "D": "chdir", "d": "dependency", "e": "error", "G": "gpus", "H": "hold", "i": "input",
    "J": "job-name", "k": "no-kill", "L": "licenses", "M": "clusters", "m": "distribution",
    "N": "nodes", "n": "ntasks", "o": "output", "p": "partition", "q": "qos", "t": "time",
    "w": "nodelist", "x": "exclude",
}  # fmt: skip
_BARE = frozenset({"contiguous", "exclusive", "hold", "no-kill", "no-requeue", "parsable", "quiet"})
_BARE |= {"requeue", "spread-job", "use-min-nodes", "verbose"}
"""Long options without a value of their own, or with one behind “=” alone."""
LEFT_OUT = frozenset(
    {
        "comment", "error", "export", "get-user-env", "input", "job-name", "no-requeue",
        "open-mode", "output", "parsable", "quiet", "requeue", "verbose",
    }
)  # fmt: skip
"""Gangline names the job, keeps what it prints and counts its retries itself."""


@dataclass(frozen=True, slots=True)
class Line:
    """One option of a ``#SBATCH`` line."""

    number: int
    option: str
    """Its long name; what is no option stands there as it is."""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Objection:
    """``code`` with its parameters: what is wrong with a line or a place."""

    code: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """The values of a script. ``values`` by path of the workers' half."""

    values: Mapping[str, Any] = field(default_factory=dict)
    objections: Sequence[Objection] = ()
    left_out: Sequence[Line] = ()
    places: Mapping[str, str | None] = field(default_factory=dict)


def places(script: str) -> dict[str, str | None]:
    """Names of the places to fill in, each with its default; None where it has none."""
    found: dict[str, str | None] = {}
    for match in _PLACE.finditer(script):
        name, default = match.groups()
        if found.get(name) is None:
            found[name] = default or None
    return found


def filled(script: str, values: Mapping[str, str]) -> str:
    """The script with its places filled in; a place without a value stays as it is."""
    known = {name: default for name, default in places(script).items() if default} | dict(values)
    return _PLACE.sub(lambda match: known.get(match[1], match[0]), script)


def interpreter(script: str) -> list[str]:
    """The words of the first line, ``#!/bin/bash -l``; none where there is no such line."""
    first = script.partition("\n")[0]
    if not first.startswith("#!"):
        return []
    return first.removeprefix("#!").strip().split(None, 1)


def read(script: str, values: Mapping[str, str]) -> Read:
    """``values`` of places by name; those that may not stand there count as not given."""
    known = places(script)
    good = {name: text for name, text in values.items() if PLACE_VALUE.fullmatch(text)}
    lines, objections = [], []
    text = filled(script, good)
    if not interpreter(text):
        objections.append(Objection("script:first", {}))
    for line in _lines(text):
        problem = line if isinstance(line, Objection) else None
        if problem is not None:
            objections.append(problem)
        elif isinstance(line, Line):
            lines.append(line)
    asked = _Asked(lines)
    found = asked.values()
    if known:
        found[VALUES] = [
            {"name": name, **({"value": default} if default else {})}
            for name, default in known.items()
        ]
    left_out = [line for line in lines if line.option in LEFT_OUT]
    return Read(found, [*objections, *asked.objections], left_out, known)


def _lines(script: str) -> Iterator[Line | Objection]:
    """As sbatch reads them: up to the first line that is neither empty nor a comment."""
    for number, line in enumerate(script.split("\n"), start=1):
        if line.strip() and not line.startswith("#"):
            return
        if not line.startswith("#SBATCH"):
            continue
        line = _PLACE.sub(lambda match: f"{{{{{match[1]}}}}}", line)  # one word each
        try:
            words = shlex.split(line.removeprefix("#SBATCH"), comments=True)
        except ValueError:
            yield Objection("script:quote", {"line": number})
            continue
        yield from _options(number, words)


def _options(number: int, words: list[str]) -> Iterator[Line | Objection]:
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            option, has_value, value = word[2:].partition("=")
            if not has_value and option not in _BARE and rest and not rest[0].startswith("-"):
                value = rest.pop(0)
        elif word.startswith("-") and len(word) > 1:
            option, value = _SHORT.get(word[1], word), word[2:]
            if not value and option not in _BARE and rest:
                value = rest.pop(0)
        else:
            yield Objection("script:word", {"line": number, "word": word[:60]})
            continue
        if _PLACE.search(value):
            continue  # it is asked for first
        yield Line(number, option, value)


class _Asked:
    """What all lines ask for together; of an option that stands twice the last counts."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.objections: list[Objection] = []
        self._last = {line.option: line for line in lines}

    def values(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        nodes = self._number("nodes") or 1
        if "nodes" in self._last:
            found["numWorkers"] = nodes
        tasks = self._tasks(nodes)
        cpus = self._number("cpus-per-task")
        if tasks:
            found["slurm.tasksPerNode"] = tasks
        if tasks or cpus:
            found["compute.cpuCoreRequest"] = (tasks or 1) * (cpus or 1)
        gpus = self._gpus(nodes, tasks or 1, found)
        if gpus is not None:
            found["compute.gpuDevicesRequest"] = gpus
        if memory := self._memory((tasks or 1) * (cpus or 1), gpus or 0):
            found["compute.cpuMemoryRequest"] = f"{memory}Mi"
        self._named(found)
        self._further(found)
        return found

    def _take(self, option: str) -> Line | None:
        return self._last.get(option)

    def _object(self, line: Line, accepted: str) -> None:
        params = {"line": line.number, "option": line.option, "said": line.value[:60]}
        self.objections.append(Objection("script:value", {**params, "accepted": accepted}))

    def _number(self, option: str) -> int | None:
        line = self._take(option)
        if line is None:
            return None
        parts = set(line.value.split("-")) if option == "nodes" else {line.value}
        text = parts.pop() if len(parts) == 1 else ""
        if text.isascii() and text.isdigit() and 0 < int(text) < 10_000:
            return int(text)
        self._object(line, "a whole number above 0")
        return None

    def _tasks(self, nodes: int) -> int | None:
        """Tasks of each node."""
        each, every = self._number("ntasks-per-node"), self._number("ntasks")
        if each or not every:
            return each
        if every % nodes:
            self._object(self._last["ntasks"], f"a multiple of the {nodes} nodes")
            return None
        if every > 1 and "nodes" not in self._last:
            self._object(self._last["ntasks"], "a number beside --nodes")
            return None
        return every // nodes

    def _gpus(self, nodes: int, tasks: int, found: dict[str, Any]) -> int | None:
        """Devices of each node."""
        counted = {"gpus-per-node": (1, 1), "gpus-per-task": (tasks, 1), "gpus": (1, nodes)}
        for option in ("gres", *counted):
            if (line := self._take(option)) is None:
                continue
            match = _GPU.fullmatch(line.value)
            if match is None or (option == "gres") is not line.value.startswith("gpu:"):
                self._object(line, "gpu:2 or gpu:a100:2" if option == "gres" else "2 or a100:2")
                continue
            if match[1]:
                found["slurm.gpuType"] = match[1]
            times, parts = counted.get(option, (1, 1))
            number = int(match[2]) * times
            if number % parts:
                self._object(line, f"a multiple of the {nodes} nodes")
                continue
            return number // parts
        return None

    def _memory(self, cpus: int, gpus: int) -> int | None:
        """Of each node, in units of 2^20 bytes."""
        for option, times in (("mem", 1), ("mem-per-cpu", cpus), ("mem-per-gpu", gpus)):
            if (line := self._take(option)) is None:
                continue
            match = _SIZE.fullmatch(line.value)
            number = int(match[1]) * times if match else 0
            if match is None or not number:
                self._object(line, "a size such as 16G")
                continue
            unit = (match[2] or "M").upper()
            return max(1, -(-number // 1024)) if unit == "K" else number << _SHIFTS[unit]
        return None

    def _named(self, found: dict[str, Any]) -> None:
        for option, path in _NAMES.items():
            if line := self._take(option):
                if TOKEN.fullmatch(line.value):
                    found[path] = line.value
                else:
                    self._object(line, "one name as Slurm lists it")
        if line := self._take("time"):
            length = lengths.seconds(line.value)
            if length:
                found["slurm.timeLimit"] = -(-length // 60) * 60
            else:
                self._object(line, "days-hours:minutes:seconds, such as 1-12:00:00")
        if line := self._take("partition"):
            found["nodePools"] = [{"name": name} for name in line.value.split(",") if name]
        if line := self._take("chdir"):
            found["workingDir"] = line.value

    def _further(self, found: dict[str, Any]) -> None:
        further = []
        for line in self._last.values():
            if line.option in OPTIONS:
                further.append(
                    {"name": line.option, **({"value": line.value} if line.value else {})}
                )
            elif line.option not in _KNOWN:
                params = {"line": line.number, "option": line.option[:60]}
                self.objections.append(Objection("script:option", params))
        if further:
            found["slurm.options"] = further


_SHIFTS = {"M": 0, "G": 10, "T": 20}
_NAMES = {
    "account": "slurm.account",
    "qos": "slurm.qos",
    "reservation": "slurm.reservation",
    "constraint": "nodeType",
}
_KNOWN = LEFT_OUT | {
    *_NAMES, "chdir", "cpus-per-task", "gpus", "gpus-per-node", "gpus-per-task", "gres", "mem",
    "mem-per-cpu", "mem-per-gpu", "nodes", "ntasks", "ntasks-per-node", "partition", "time",
}  # fmt: skip

__all__ = [
    "SCRIPT",
    "VALUES",
    "Line",
    "Objection",
    "Read",
    "filled",
    "interpreter",
    "places",
    "read",
]
