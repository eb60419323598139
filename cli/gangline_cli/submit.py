"""``submit``, and submitting by flags in the older and the newer style."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import click

from gangline_sdk.errors import Conflict, GanglineError, Invalid

from . import completions, flags, items, output
from .exits import Refused
from .session import Session, Usage, connected, note
from .session import output as output_option

Json = dict[str, Any]
GENERATED = "dist"
"""Begins the names that the older style makes: dist, dist-1, dist-2."""
TRIES = 5
SETTLED = ("Running", "Completed", "Failed", "Stopped", "Cannot start")
_ABOUT: tuple[Callable[[Any], Any], ...] = (
    click.option("--name", "given_name", metavar="NAME", help="The same as the argument."),
    click.option(
        "--name-prefix", "--prefix-name", "prefix", metavar="PREFIX",
        help="The name gets a suffix that makes it unique.",
    ),
    click.option(
        "--job-name-prefix", "counted", metavar="PREFIX",
        help="The name gets the next free number.",
    ),
    click.option(
        "--template", metavar="NAME", help="Take what a template has; flags go before.",
        shell_complete=completions.of("template"),
    ),
    click.option("--no-master", is_flag=True, help="Workers only."),
    click.option(
        "-c", "--command", "is_command", is_flag=True,
        help="The words after -- replace the command of the image; without it they are arguments.",
    ),
    click.option(
        "-g", "--gpu", "gpu", metavar="NUMBER",
        help="GPUs of each pod; below 1 a part of one, such as 0.5.",
    ),
    click.option("--master-gpu", metavar="NUMBER", help="The same for the master."),
    click.option("--master-no-pvcs", is_flag=True, help="The master mounts no claims."),
    click.option("--required-pod-topology-key", metavar="KEY", help="All pods where KEY is equal."),
    click.option("--preferred-pod-topology-key", metavar="KEY", help="The same, if possible."),
    click.option("--run-as-user", is_flag=True, help="Run with the ids of your user here."),
)  # fmt: skip
_AFTER: tuple[Callable[[Any], Any], ...] = (
    click.option("--dry-run", is_flag=True, help="Store nothing; print what the cluster gets."),
    click.option("--ask-cluster", is_flag=True, help="With --dry-run: let the cluster look too."),
    click.option("--wait", is_flag=True, help="Wait until it runs, or has ended."),
    click.option(
        "--attach", is_flag=True,
        help="Wait until it runs, print what the leader prints, and end with its exit code.",
    ),
    click.option(
        "--timeout", "--wait-for-submit", "--pod-running-timeout", metavar="DURATION",
        help="With --wait or --attach: give up after this time, such as 10m.",
    ),
    output_option,
)  # fmt: skip


def _with(options: tuple[Callable[[Any], Any], ...], command: Any) -> Any:
    for one in reversed(options):
        command = one(command)
    return command


@cache
def _command(name: str, framework: str, style: str) -> click.Command:
    """One command that submits. ``framework`` is empty where a flag names it."""

    def callback(session: Session, /, **given: Any) -> int:
        return _submit(session, framework, style, given)

    made: Any = connected(callback)
    made = _with((*_ABOUT, *_AFTER), made)
    if not framework:
        known = "|".join(flags.spec()["frameworks"])
        made = click.option("-f", "--framework", metavar=known, help="PyTorch by default.")(made)
    made = click.argument("name", required=False)(made)
    about = flags.spec()["frameworks"].get(framework, {}).get("label", "distributed training")
    command = click.command(
        name,
        cls=flags.SubmitCommand,
        help=f"Submit a {about} workload. Words after -- are for its container.",
        options_metavar="[FLAGS]",
        epilog="A list is given by one flag per item: NAME=VALUE, key=value,key=value or JSON.",
        context_settings={"token_normalize_func": None},
    )(made)
    command.params.extend(flags.options(framework))
    return command


def _submit(session: Session, framework: str, style: str, given: Json) -> int:
    ctx = click.get_current_context()
    framework = framework or flags.framework_of(given.pop("framework", None) or "PyTorch")
    body, found = _body(session, framework, style, given, ctx.meta[flags.WORDS_AFTER])
    try:
        if given["dry_run"]:
            return _preview(session, body, given)
        made = _made(session, body, counted=bool(given.get("counted") or body.pop("counted", "")))
    except Invalid as error:
        raise Refused(error, found.flags) from error
    return _told(session, made, given)


def _body(
    session: Session, framework: str, style: str, given: Json, words: list[str] | None
) -> tuple[Json, flags.Halves]:
    found = flags.halves(given)
    found.put("worker", "distributedFramework", framework)
    _words(found, words, given, style)
    _gpus(found, given)
    _topology(found, given)
    if given["run_as_user"]:
        found.put("worker", "security.uidGidSource", "custom")
        found.put("worker", "security.runAsUid", os.getuid(), "--run-as-user")
        found.put("worker", "security.runAsGid", os.getgid(), "--run-as-user")
    _master(found, given, framework)
    row = session.project_row()
    body: Json = {
        **_name(framework, style, given),
        "projectId": row["id"],
        "clusterId": row["clusterId"],
        "spec": found.worker,
    }
    if given["no_master"]:
        body["configuration"] = "workersOnly"
    if found.master:
        body["masterSpec"] = found.master
    if template := given["template"]:
        body["templateId"] = _template(session, template)
    return body, found


def _name(framework: str, style: str, given: Json) -> Json:
    """The name, or how it is made: by the server with a suffix, or by counting."""
    names = {one for one in (given["name"], given["given_name"]) if one is not None}
    if len(names) > 1:
        raise Usage(f"--name: the name is {given['name']!r} already.")
    name = next(iter(names), None)
    if name is not None and (given["prefix"] or given["counted"]):
        raise Usage("--name-prefix: there is a name already; give one of them.")
    if name is not None:
        return {"name": name}
    if given["prefix"]:
        return {"name": given["prefix"], "useGivenNameAsPrefix": True}
    if given["counted"] or style == "old":
        return {"name": given["counted"] or GENERATED, "counted": "yes"}
    return {"name": framework.lower(), "useGivenNameAsPrefix": True}


def _words(found: flags.Halves, words: list[str] | None, given: Json, style: str) -> None:
    if given["is_command"] and not words:
        raise Usage("--command: write the command after --, such as: --command -- python train.py")
    if words:
        path = "command" if given["is_command"] else "args"
        if path in found.worker:
            raise Usage(f"{found.flags[f'worker.{path}']}: there are words after -- already.")
        found.put("worker", path, shlex.join(words), "--")
    args = found.master.get("args")
    if style == "old" and given["is_command"] and args and "command" not in found.master:
        found.master["command"] = found.master.pop("args")
        found.flags["master.command"] = "--master-args"


def _gpus(found: flags.Halves, given: Json) -> None:
    for role, name, flag in (("worker", "gpu", "--gpu"), ("master", "master_gpu", "--master-gpu")):
        if given[name] is None:
            continue
        number = items.scalar("number", given[name])
        if isinstance(number, float) and 0 < number < 1:
            found.put(role, "compute.gpuRequestType", "portion")
            found.put(role, "compute.gpuDevicesRequest", 1, flag)
            found.put(role, "compute.gpuPortionRequest", number, flag)
        else:
            whole = int(number) if isinstance(number, float) and number.is_integer() else number
            found.put(role, "compute.gpuDevicesRequest", whole, flag)


def _topology(found: flags.Halves, given: Json) -> None:
    for name, kind in flags.TOPOLOGY.items():
        if given[name]:
            found.put("worker", "podAffinity.key", given[name], f"--{name.replace('_', '-')}")
            found.put("worker", "podAffinity.type", kind)


def _master(found: flags.Halves, given: Json, framework: str) -> None:
    own = found.master.get("environmentVariables")
    if own is not None:
        workers = found.worker.get("environmentVariables", [])
        found.master["environmentVariables"] = flags.without_removed(workers, own)
    if given["master_no_pvcs"]:
        found.put("master", "storage.pvc", [], "--master-no-pvcs")
    if found.master and given["no_master"]:
        raise Usage("--no-master: there is no master that could differ; leave one of them out.")
    if found.master:
        found.follow(has_gpus=flags.spec()["frameworks"][framework]["masterGpus"])


def _template(session: Session, name: str) -> str:
    found = list(session.client.rows("template", filters=[f"name=={name}"], limit=2))
    if len(found) != 1:
        raise Usage(f"--template: there is no template {name!r} that you may see.")
    return str(found[0]["meta"]["id"])


def _made(session: Session, body: Json, *, counted: bool) -> Json:
    """Submit it; a counted name goes on to the next number where it is taken."""
    body.pop("counted", None)
    stem = body["name"]
    taken = _taken(session, stem, body["projectId"]) if counted else set()
    number = 0
    for attempt in range(TRIES):
        if counted:
            while (name := stem if number == 0 else f"{stem}-{number}") in taken:
                number += 1
            body["name"] = name
        try:
            return dict(session.client.submit(body))
        except Conflict:
            if not counted or attempt == TRIES - 1:
                raise
            taken.add(body["name"])
    raise AssertionError("the last try returns or fails")


def _taken(session: Session, stem: str, project: str) -> set[str]:
    filters = [f"name=^{stem}", f"projectId=={project}"]
    return {str(one["name"]) for one in session.client.workloads(filters=filters, limit=1000)}


def _preview(session: Session, body: Json | str, given: Json) -> int:
    if isinstance(body, dict):
        body.pop("counted", None)
    told: Any = session.client.preview(body, ask_cluster=given["ask_cluster"])
    if given["form"] in ("json", "yaml"):
        output.data(told, given["form"])
        return 0
    native = told.get("native") or {}
    if native.get("text"):
        click.echo(native["text"].rstrip("\n"))
    elif native.get("why"):
        note(native["why"])
    note(told["forecast"]["sentence"])
    for doubt in (told.get("cluster") or {}).get("doubts", ()):
        note(doubt)
    return 0


def _told(session: Session, made: Mapping[str, Any], given: Json) -> int:
    """Say what was made, and with ``--wait`` what becomes of it."""
    code = 0
    row: Mapping[str, Any] = made
    if given["form"] not in ("json", "yaml"):
        click.echo(f"Workload {made['name']} was submitted.")
    if given["wait"] or given["attach"]:
        row, code = _wait(session, str(made["workloadId"]), given["timeout"])
    if given["form"] in ("json", "yaml"):
        output.data(dict(row), given["form"])
    elif row is made and sys.stdout.isatty():
        note(f"To follow it: gangline describe {made['name']}")
    if given["attach"] and row["status"] != "Cannot start":
        from .logs import attached

        return attached(session, row, None, from_start=True)
    return code


def _wait(session: Session, workload_id: str, timeout: str | None) -> tuple[Json, int]:
    try:
        most = items.seconds(timeout) if timeout else None
    except ValueError as error:
        raise Usage(f"--timeout: {error}.") from None
    from .progress import progress

    with progress() as tell:
        try:
            row = session.client.wait(workload_id, *SETTLED, seconds=most, pause=0.5, told=tell)
        except TimeoutError as error:
            raise GanglineError(str(error)) from None
    code = 1 if row["status"] in ("Failed", "Cannot start", "Stopped") else 0
    return row, code


@click.group(invoke_without_command=False)
def submit_dist() -> None:
    """Submit a workload: submit-dist pytorch|tf|mpi|xgboost|jax|mxnet [NAME] [FLAGS] [-- WORDS]."""


for _word, _framework in (
    ("pytorch", "PyTorch"), ("tf", "TF"), ("tensorflow", "TF"), ("mpi", "MPI"),
    ("xgboost", "XGBoost"), ("jax", "JAX"), ("mxnet", "MXNet"),
):  # fmt: skip
    submit_dist.add_command(_command(_word, _framework, "old"))


def of_framework(word: str) -> click.Group:
    """``gangline pytorch submit`` and what else there is of workloads."""
    from . import workloads

    framework = flags.framework_of(word)
    label = flags.spec()["frameworks"][framework]["label"]
    commands = {"submit": _command("submit", framework, "new"), **workloads.commands(framework)}
    return click.Group(word, commands=commands, help=f"Workloads of {label}.")


class _Training(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [one["label"].lower() for one in flags.spec()["frameworks"].values()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        try:
            return of_framework(name)
        except click.UsageError:
            return None


training = _Training("training", help="Workloads by framework: training pytorch submit.")


def _distributed() -> click.Group:
    from . import workloads

    commands = {"submit": _command("submit", "", "new"), **workloads.commands()}
    return click.Group("distributed", commands=commands, help="Distributed workloads.")


distributed = _distributed()


def _from_file(session: Session, /, **given: Any) -> int:
    """Submit the workload that a file describes, as the API takes it: YAML or JSON.

    A file without projectId and clusterId is submitted to the project of --project.
    """
    text = _read(given["path"])
    body = _placed(session, text, given["name"])
    if given["dry_run"]:
        return _preview(session, body, given)
    return _told(session, dict(session.client.submit(body)), given)


def _read(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode("utf-8")
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise Usage(f"--file: {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise Usage(f"--file: {path} is not UTF-8.") from None


def _placed(session: Session, text: str, name: str | None) -> str:
    """The text with the place where it is to run, unless it names one."""
    import yaml

    try:
        known = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return text  # the server says what is wrong with it, with line and column
    if not isinstance(known, dict):
        return text
    more: Json = {}
    if "projectId" not in known:
        row = session.project_row()
        more = {"projectId": row["id"], "clusterId": row["clusterId"]}
    if name is not None and "name" in known:
        raise Usage(f"--name: {known['name']!r} stands in the file; leave it out there.")
    if name is not None:
        more["name"] = name
    import json

    more = {key: value for key, value in more.items() if key not in known}
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in more.items())
    start = text.lstrip()
    if not lines:
        return text
    if start.startswith("{"):
        inner = ", ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in more.items())
        return text.replace("{", f"{{{inner}{',' if known else ''}", 1)
    if start.startswith("---"):
        return text.replace("---", f"---\n{lines}", 1)
    return lines + text


submit: Any = _with(
    (
        click.option(
            "-f", "--file", "path", metavar="FILE", required=True, help="- reads standard input."
        ),
        click.option("--name", metavar="NAME", help="The name, where the file has none."),
        *_AFTER,
    ),
    connected(_from_file),
)
submit = click.command("submit", help=_from_file.__doc__)(submit)
