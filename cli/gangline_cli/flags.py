"""The flags of ``submit``: one for every field of the spec, and the other names that people know.

`spec.json` is written by the server; a field that it gains is a flag with the next release.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import click

from . import items

Field = Mapping[str, Any]
Json = dict[str, Any]
WORDS_AFTER = "gangline.words"
ENTRY_POINT = "entry-point"
"""The flag of the workers' command as one text: ``--command`` is a switch."""
OF_THE_COMMAND = frozenset({"distributedFramework"})
MORE: Mapping[str, tuple[str, ...]] = {
    "image": ("-i",),
    "environmentVariables": ("-e", "--environment"),
    "annotations": ("-a",),
    "labels": ("-l",),
    "compute.cpuCoreRequest": ("--cpu",),
    "compute.cpuCoreLimit": ("--cpu-limit",),
    "compute.cpuMemoryRequest": ("--memory",),
    "compute.cpuMemoryLimit": ("--memory-limit",),
    "compute.gpuMemoryRequest": ("--gpu-memory",),
    "compute.largeShmRequest": ("--large-shm",),
    "tty": ("-t",),
    "autoDeletionTimeAfterCompletionSeconds": (
        "--auto-deletion-time-after-completion",
        "--ttl-after-finish",
    ),
    "terminationGracePeriodSeconds": ("--termination-grace-period",),
    "security.capabilities": ("--capability", "--add-capability"),
    "security.seccompProfileType": ("--seccomp-profile",),
    "security.uidGidSource": ("--user-group-source",),
    "priorityClass": ("--priority",),
    "storage.git": ("--git-sync",),
    "storage.pvc": ("--pvc-new",),
    "exposedUrls": ("--external-url",),
}
"""Names that the same field has elsewhere."""


@dataclass(frozen=True)
class Shaped:
    """A flag that fills a field in a way of its own."""

    path: str
    help: str
    words: Mapping[str, str] = field(default_factory=dict)
    """Names of attributes that mean something else here."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """What every item has."""


SHAPED: Mapping[tuple[str, ...], Shaped] = {
    ("--existing-pvc", "--pvc-exists"): Shaped(
        "storage.pvc", "A claim that is there: claimname=,path=", fixed={"existingPvc": True}
    ),
    ("--configmap-map-volume", "--configmap-volume"): Shaped(
        "storage.configMapVolume",
        "A ConfigMap as files: name=,path=",
        words={"name": "configMap", "path": "mountPath"},
    ),
    ("--env-pod-field-ref",): Shaped(
        "environmentVariables", "A variable with a field of its pod: NAME=PATH"
    ),
}
TOPOLOGY = {
    "required_pod_topology_key": "Required",
    "preferred_pod_topology_key": "Preferred",
}


@cache
def spec() -> Json:
    """The spec as the server declares it."""
    text = files(__package__).joinpath("spec.json").read_text(encoding="utf-8")
    found: Json = json.loads(text)
    return found


@cache
def fields() -> Mapping[str, Field]:
    return {one["path"]: one for one in spec()["fields"]}


def framework_of(word: str) -> str:
    """The framework that people mean. Raises UsageError."""
    plain = word.lower().replace("-", "").replace(" ", "")
    for name, about in spec()["frameworks"].items():
        if plain in (name.lower(), about["label"].lower().replace(" ", "")):
            return str(name)
    known = ", ".join(one.lower() for one in spec()["frameworks"])
    raise click.UsageError(f"--framework: there is no framework {word!r}. Choose from: {known}.")


class SubmitCommand(click.Command):
    """Takes ``--flag=true`` of a switch, and keeps the words after ``--`` apart from the rest."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words: list[str] | None = None
        if "--" in args:
            at = args.index("--")
            args, words = args[:at], args[at + 1 :]
        ctx.meta[WORDS_AFTER] = words
        return super().parse_args(ctx, [self._switched(ctx, one) for one in args])

    def _switched(self, ctx: click.Context, text: str) -> str:
        name, is_given, value = text.partition("=")
        option = self._switches().get(name)
        if not is_given or option is None:
            return text
        if value.lower() in ("true", "1"):
            return name
        opposite = option.secondary_opts or [""]
        if value.lower() in ("false", "0") and opposite[0]:
            return opposite[0]
        raise click.BadOptionUsage(name, f"{name}: takes true or false, not {value!r}.", ctx)

    def _switches(self) -> dict[str, click.Option]:
        return {
            name: one
            for one in self.params
            if isinstance(one, click.Option) and one.is_flag
            for name in one.opts
        }

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """By the parts of the form; the master's flags last."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(one, "section", "") or "Command", []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


class FieldOption(click.Option):
    """An option with the part of the help that it stands in."""

    section = ""


SECTIONS = {
    "setup": "Set-up", "environment": "Environment", "compute": "Compute", "volumes": "Volumes",
    "data": "Data sources", "general": "General settings",
}  # fmt: skip
MASTER = "Master, where it differs from the workers"


def options(framework: str = "") -> Iterator[click.Option]:
    """An option per field that the framework has; all of them without one."""
    for path, one in fields().items():
        if path in OF_THE_COMMAND or (
            framework and one.get("only") and framework not in one["only"]
        ):
            continue
        yield _option(one, "worker")
        if one.get("master"):
            yield _option(one, "master")
    for spelled, shaped in SHAPED.items():
        made = FieldOption(
            [*spelled, _param("shaped", spelled[0])], multiple=True, help=shaped.help
        )
        made.section = SECTIONS[fields()[shaped.path]["section"]]
        yield made


def _option(one: Field, role: str) -> click.Option:
    is_master = role == "master"
    flag = flag_of(one, role)
    names = [flag]
    for more in MORE.get(one["path"], ()):
        if not is_master:
            names.append(more)
        elif more.startswith("--"):
            names.append(f"--master-{more[2:]}")
    choices: list[str] = one.get("choices", [])
    own: Json = {"help": _help(one), "default": None}
    if one["kind"] == "boolean":
        names[0] = f"{flag}/--{'master-no-' if is_master else 'no-'}{one['flag']}"
    elif one["kind"] == "itemized":
        own |= {"multiple": True, "metavar": _item_form(one)}
    else:
        own["metavar"] = "|".join(choices) or str(one["kind"]).upper()
    made = FieldOption([*dict.fromkeys(names), _param(role, one["path"])], **own)
    made.section = MASTER if is_master else str(SECTIONS.get(one["section"], one["section"]))
    return made


def flag_of(one: Field, role: str) -> str:
    """How the field is called on the command line."""
    if role == "master":
        return f"--master-{one['flag']}"
    return f"--{ENTRY_POINT if one['path'] == 'command' else one['flag']}"


def _help(one: Field) -> str:
    text = str(one.get("help") or one["label"])
    return text if text.endswith(".") else f"{text}."


def _item_form(one: Field) -> str:
    if one.get("names"):
        return "NAME,…"
    if one.get("pair"):
        return "NAME=VALUE"
    return "KEY=VALUE,…"


def _param(role: str, path: str) -> str:
    return f"{role}__{path.lstrip('-').replace('.', '__').replace('-', '_')}"


@dataclass
class Halves:
    """The two halves of a body, and the flag that each value came from."""

    worker: Json = field(default_factory=dict)
    master: Json = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)

    def follow(self, *, has_gpus: bool) -> None:
        """Give the master what the workers have and it has not: the API's own has nothing."""
        for path, one in fields().items():
            steps = path.split(".")
            value = items.at(self.worker, steps)
            is_useless = one.get("gpu") and not has_gpus
            if not one.get("master") or value is None or is_useless:
                continue
            if items.at(self.master, steps) is None:
                items.put(self.master, steps, value)

    def put(self, role: str, path: str, value: Any, flag: str = "") -> None:
        items.put(self.master if role == "master" else self.worker, path.split("."), value)
        if flag:
            self.flags[f"{role}.{path}"] = flag

    def extend(self, path: str, values: Sequence[Any], flag: str) -> None:
        steps, branch = path.split("."), self.worker
        for step in steps[:-1]:
            branch = branch.setdefault(step, {})
        branch.setdefault(steps[-1], []).extend(values)
        self.flags.setdefault(f"worker.{path}", flag)


def halves(given: Mapping[str, Any]) -> Halves:
    """What the flags of one command come to."""
    found = Halves()
    for path, one in fields().items():
        for role in ("worker", "master"):
            found.flags[f"{role}.{path}"] = flag_of(one, role)
            value = given.get(_param(role, path))
            if value is None or value == ():
                continue
            found.put(role, path, _value(one, value))
    for names, shaped in SHAPED.items():
        texts = given.get(_param("shaped", names[0])) or ()
        found.extend(
            shaped.path, [_shaped(shaped, text) for text in texts], names[0]
        ) if texts else None
    return found


def _value(one: Field, given: Any) -> Any:
    if one["kind"] == "itemized":
        found = items.items(one, given, {})
        is_whole = one.get("whole") and len(found) == 1 and isinstance(found[0], dict)
        return found[0] if is_whole and one["key"] not in found[0] else found
    return given if isinstance(given, bool) else items.scalar(one["kind"], given)


def _shaped(shaped: Shaped, text: str) -> Any:
    if shaped.path == "environmentVariables":
        name, _, path = text.partition("=")
        return {"name": name, "podFieldRef": {"path": path}}
    made = items.item(fields()[shaped.path], text, shaped.words)
    return {**made, **shaped.fixed} if isinstance(made, dict) else made


def without_removed(workers: Sequence[Any], master: Sequence[Any]) -> list[Any]:
    """Variables of the master: those of the workers, changed by its own; ``NAME=-`` removes one."""
    found = {one.get("name"): one for one in workers if isinstance(one, dict)}
    for one in master:
        if isinstance(one, dict) and one.get("value") == "-":
            found.pop(one.get("name"), None)
        elif isinstance(one, dict):
            found[one.get("name")] = one
    return list(found.values())
