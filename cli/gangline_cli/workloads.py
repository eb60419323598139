"""What exists: list, describe, stop, start again, delete."""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from . import completions, output
from .session import Session, Usage, connected, note
from .session import output as output_option

Json = dict[str, Any]
WORKLOADS = frozenset({"job", "jobs", "workload", "workloads"})
ENDED = ("Completed", "Failed", "Stopped")
DEFAULT_ROWS = 50


def _pods(row: Mapping[str, Any]) -> str:
    return f"{row['runningPods']}/{row['requestedPods']['number']}"


def _gpus(row: Mapping[str, Any]) -> str:
    used = output.text_of(float(row["allocatedResources"]["gpu"]))
    return f"{used} ({output.text_of(float(row['workloadRequestedResources']['gpu']['request']))})"


COLUMNS: tuple[output.Column, ...] = (
    ("WORKLOAD", "name"),
    ("TYPE", "distributedFramework"),
    ("STATUS", "status"),
    ("PROJECT", "projectName"),
    ("PODS", _pods),
    ("GPUS (REQUESTED)", _gpus),
    ("AGE", lambda row: output.age(row["createdAt"])),
)
WIDE: tuple[output.Column, ...] = (
    *COLUMNS,
    ("OWNER", "submittedBy"),
    ("PRIORITY", "priorityClassName"),
    ("ID", "id"),
    ("REASON", "phaseMessage"),
)
PODS: tuple[output.Column, ...] = (
    ("POD", "name"),
    ("ROLE", "role"),
    ("STATUS", "k8sPhase"),
    ("NODE", "nodeName"),
    ("GPU", "requestedResources.gpu.request"),
    ("EXIT", "exitCode"),
    ("AGE", lambda row: output.age(row["createdAt"])),
)
EVENTS: tuple[output.Column, ...] = (
    ("TIME", "createdAt"),
    ("TYPE", "type"),
    ("REASON", "reason"),
    ("OBJECT", "involvedObject.name"),
    ("MESSAGE", "message"),
)


@click.command("list")
@click.argument("kind", required=False, shell_complete=completions.kinds)
@click.option("-A", "--all", "--all-projects", "everywhere", is_flag=True, help="All projects.")
@click.option("--status", metavar="STATUS", help="Only those with it, such as Running.")
@click.option("--framework", hidden=True, default="")
@click.option(
    "--search", metavar="TEXT", help="Only those with the text in name, image or command."
)
@click.option("--filter", "filters", multiple=True, metavar="CONDITION", help="As gpus>=8.")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number; 50 by default.")
@click.option("--every", is_flag=True, help="All of them, however many.")
@click.option("--no-headers", is_flag=True, help="Without the header line.")
@click.option("--json", "form", flag_value="json", help="The same as -o json.")
@click.option("--yaml", "form", flag_value="yaml", help="The same as -o yaml.")
@click.option("--table", "form", flag_value="table", hidden=True)
@output_option
@connected
def list_(session: Session, /, kind: str | None, **given: Any) -> None:
    """List workloads; with KIND others: list projects, list clusters, list nodes."""
    if kind is not None and kind not in WORKLOADS:
        from .things import list_kind

        list_kind(session, kind, given)
        return
    _list_workloads(session, given)


def _list_workloads(session: Session, given: Mapping[str, Any]) -> None:
    most = None if given["every"] else given["limit"] or DEFAULT_ROWS
    filters = list(given["filters"])
    if given["framework"]:
        filters.append(f"distributedFramework=={given['framework']}")
    rows = session.client.workloads(
        project="" if given["everywhere"] else session.project,
        status=given["status"] or "",
        search=given["search"] or "",
        filters=filters,
        limit=most + 1 if most else None,
    )
    found = list(rows)
    shown = found[:most]
    form = given["form"]
    if form in ("json", "yaml") or shown:
        _show(shown, WIDE if form == "wide" else COLUMNS, form, headed=not given["no_headers"])
    else:
        note("No workloads.")
    if most is not None and len(found) > most:
        note(f"There are more than {most}: --limit or --every shows them.")


def _show(rows: list[Json], columns: Any, form: str, *, headed: bool) -> None:
    if headed or form in ("json", "yaml"):
        output.show(rows, columns, form)
        return
    for row in rows:
        click.echo("\t".join(output.cell(row, source) for _, source in columns))


@click.command()
@click.argument(
    "words", nargs=-1, required=True, metavar="[job] NAME", shell_complete=completions.workloads
)
@click.option("--event-limit", type=int, default=20, help="Events to show; -1: all.")
@click.option("--pod-limit", type=int, default=50, help="Pods to show; -1: all.")
@output_option
@connected
def describe(session: Session, /, words: tuple[str, ...], **given: Any) -> None:
    """Show a workload with its pods and events; describe KIND NAME shows something else."""
    kind, name = _named(words)
    if kind is not None:
        from .things import describe_kind

        describe_kind(session, kind, name, given["form"])
        return
    row = session.workload(name)
    detail: Any = session.client.workload(row["id"])
    pods = list(session.client.pods(row["id"], limit=_most(given["pod_limit"])))
    events = list(session.client.events(row["id"], limit=_most(given["event_limit"])))
    if given["form"] in ("json", "yaml"):
        output.data({"workload": detail, "pods": pods, "events": events}, given["form"])
        return
    output.facts(_facts(detail))
    click.echo()
    output.show(pods, PODS, "table")
    if events:
        click.echo()
        output.show(events, EVENTS, "table")


def _most(limit: int) -> int | None:
    return None if limit < 0 else max(limit, 1)


def _named(words: tuple[str, ...]) -> tuple[str | None, str]:
    """Kind and name of ``job dist``, ``dist`` or ``node n-1``; no kind means a workload."""
    if len(words) == 1:
        return None, words[0]
    if len(words) > 2:
        raise Usage(f"Name one thing, not {len(words) - 1}.")
    return (None if words[0] in WORKLOADS else words[0]), words[1]


def _facts(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    each = row["podsRequestedResources"]
    yield "Name", row["name"]
    yield "ID", row["id"]
    yield "Project", row["projectName"]
    yield "Type", row["distributedFramework"]
    yield "Status", row["status"]
    yield "Reason", row["phaseMessage"]
    yield "Next", row["nextStep"]
    yield "Pods running", f"{row['runningPods']} of {row['requestedPods']['number']}"
    yield "GPUs", _gpus(row)
    yield (
        "Each worker",
        ", ".join(
            f"{name} {values['request']}" for name, values in each.items() if "request" in values
        ),
    )
    yield "Image", ", ".join(row["images"])
    yield "Command", f"{row['command']} {row['arguments']}".strip()
    yield "Priority", row["priorityClassName"]
    yield "Attempt", str(row["attempt"])
    yield "Created", f"{row['createdAt']} by {row['submittedBy']}"
    yield "Started", row["startedAt"] or ""
    yield "Ended", row["completedAt"] or ""
    for one in row.get("urls") or ():
        yield one.get("label") or one["name"], one["url"] or ""


def _acts(verb: str, done: str, help_text: str, *, asks: bool = False) -> click.Command:
    def callback(session: Session, /, words: tuple[str, ...], **given: Any) -> int:
        names = words[1:] if words and words[0] in WORKLOADS and len(words) > 1 else words
        rows = _meant(session, names, verb, given["everything"])
        if not rows:
            note("No workloads.")
            return 0
        _confirm(verb, rows, given, is_harmful=asks)
        for row in rows:
            getattr(session.client, verb)(row["id"])
            click.echo(f"Workload {row['name']} {_idle(row, verb) or done}.")
        return 0

    made: Any = connected(callback)
    made = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")(made)
    made = click.option(
        "-A",
        "--all",
        "everything",
        is_flag=True,
        help="All workloads of the project that allow it.",
    )(made)
    made = click.argument(
        "words", nargs=-1, metavar="[job] NAME…", shell_complete=completions.workloads
    )(made)
    return click.command(verb, help=help_text)(made)


def _meant(session: Session, names: tuple[str, ...], verb: str, everything: bool) -> list[Json]:
    if everything and names:
        raise Usage("--all: names are given too; leave one of them out.")
    if everything:
        if not session.project:
            raise Usage("--project: say of which project all are meant.")
        rows = session.client.workloads(project=session.project)
        return [row for row in rows if _can(row, verb)]
    if not names:
        raise Usage("Name at least one workload, or give --all.")
    # All are looked up first: a misspelt name ends nothing half-way.
    return [session.workload(name) for name in names]


def _can(row: Mapping[str, Any], verb: str) -> bool:
    if verb == "rerun":
        return row["status"] in ENDED
    return bool(row["actionsSupport"].get(verb))


def _idle(row: Mapping[str, Any], verb: str) -> str:
    """What to say of a workload that was as wanted already; the API takes that for done."""
    if verb in ("suspend", "resume") and not _can(row, verb):
        return f"is {row['status'].lower()}: there was nothing to do"
    return ""


def _confirm(verb: str, rows: list[Json], given: Mapping[str, Any], *, is_harmful: bool) -> None:
    if given["yes"] or not (is_harmful or given["everything"]):
        return
    if not sys.stdin.isatty():
        if given["everything"]:
            raise Usage(
                f"--all: there is no terminal to confirm on; use --yes to {verb} {len(rows)} "
                f"workloads."
            )
        return
    names = ", ".join(row["name"] for row in rows[:10])
    more = f" and {len(rows) - 10} more" if len(rows) > 10 else ""
    rest = " Their logs go too." if verb == "delete" else ""
    if not click.confirm(f"{verb.capitalize()} {names}{more}?{rest}", err=True):
        raise click.Abort


suspend = _acts("suspend", "is being stopped", "Stop workloads and keep their records.")
resume = _acts("resume", "starts again", "Start stopped workloads as they were submitted.")
rerun = _acts("rerun", "starts again", "Make a new attempt of workloads that have ended.")
delete = _acts("delete", "is being deleted", "Delete workloads with their logs.", asks=True)


def commands(framework: str = "") -> dict[str, click.Command]:
    """What the groups of workloads share beside ``submit``."""
    from .logs import attach, logs
    from .pod_shell import bash, exec_
    from .port_forward import port_forward

    return {
        "list": _only(list_, framework) if framework else list_,
        "describe": describe,
        "logs": logs,
        "attach": attach,
        "bash": bash,
        "exec": exec_,
        "port-forward": port_forward,
        "suspend": suspend,
        "resume": resume,
        "rerun": rerun,
        "delete": delete,
    }


def _only(command: click.Command, framework: str) -> click.Command:
    callback: Callable[..., Any] | None = command.callback
    assert callback is not None  # noqa: S101  every command has one

    def of_one(**given: Any) -> Any:
        return callback(**(given | {"framework": framework}))

    return click.Command("list", params=command.params, callback=of_one, help=command.help)


workload = click.Group("workload", commands=commands(), help="Workloads of all frameworks.")
