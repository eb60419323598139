"""Organisation and assets: whatever the API lists, with ``list``, ``create``, ``delete``…"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from gangline_sdk import calls
from gangline_sdk.errors import Conflict, NotFound

from . import completions, output
from .session import Session, Usage, connected, note
from .session import output as output_option

Json = dict[str, Any]
MOST_COLUMNS = 6


def kind_of(word: str) -> Json:
    """The resource that people mean by ``project``, ``projects`` or ``node-pool``."""
    plain = word.lower().replace("-", "_")
    known = calls.resources()
    for one in known.values():
        if plain in (one["key"], f"{one['key']}s", one["labels"].lower().replace(" ", "_")):
            return one
    import difflib

    near = difflib.get_close_matches(plain, known, n=1)
    meant = f" Did you mean {near[0].replace('_', '-')}?" if near else ""
    raise Usage(f"There is no list of {word!r}.{meant}")


def columns_of(one: Mapping[str, Any], *, wide: bool) -> list[output.Column]:
    names = [one["id"], one["name"], *one["columns"]]
    names = [name for name in dict.fromkeys(names) if wide or not _is_long(name)]
    shown = names if wide else names[:MOST_COLUMNS]
    return [(_heading(name), name) for name in shown]


def _is_long(name: str) -> bool:
    return name.rpartition(".")[2] in ("description", "updatedAt", "clientId")


def _heading(name: str) -> str:
    last = name.rpartition(".")[2]
    return "".join(f" {c}" if c.isupper() else c for c in last).upper()


def list_kind(session: Session, word: str, given: Mapping[str, Any]) -> None:
    """Print the rows of a resource."""
    one = kind_of(word)
    most = None if given.get("every") else given.get("limit") or 500
    rows = list(
        session.client.rows(
            one["key"],
            filters=given.get("filters") or (),
            search=given.get("search") or "",
            limit=most + 1 if most else None,
        )
    )
    form = given["form"]
    if rows or form in ("json", "yaml"):
        output.show(rows[:most], columns_of(one, wide=form == "wide"), form)
    else:
        note(f"No {one['labels'].lower()}.")
    if most is not None and len(rows) > most:
        note(f"There are more than {most}: --limit or --every shows them.")


def describe_kind(session: Session, word: str, name: str, form: str) -> None:
    """Print one object with all that the API says of it."""
    one = kind_of(word)
    found = find(session, one, name)
    if "get" in one["verbs"]:
        found = session.client.row(one["key"], id_of(one, found))
    output.data(found, "json" if form == "json" else "yaml")


def find(session: Session, one: Mapping[str, Any], name: str) -> Json:
    """The row with a name or an id. Raises NotFound, Conflict where several have the name."""
    last = one["name"].rpartition(".")[2]
    is_plain = "," not in name
    filters = [f"{last}=={name}"] if last in one["filters"] and is_plain else []
    rows = list(session.client.rows(one["key"], filters=filters))
    found = [row for row in rows if output.value_at(row, one["name"]) == name]
    if not found:
        others = rows if not filters else session.client.rows(one["key"])
        found = [row for row in others if str(output.value_at(row, one["id"])) == name]
    if not found:
        raise NotFound(f"There is no {one['label'].lower()} {name!r} that you may see.")
    if len(found) > 1:
        ids = ", ".join(id_of(one, row) for row in found)
        raise Conflict(f"Several have the name {name!r}; give an id: {ids}.")
    return found[0]


def id_of(one: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    return str(output.value_at(row, one["id"]))


def group_of(key: str) -> click.Group:
    """The commands of one resource: those that its API has."""
    one = calls.resource(key)
    verbs = set(one["verbs"])
    commands: dict[str, click.Command] = {"list": _list(one), "describe": _describe(one)}
    if "create" in verbs:
        commands["create"] = _create(one)
    if verbs & {"put", "patch"}:
        commands["update"] = _update(one)
    if "delete" in verbs:
        commands["delete"] = _delete(one)
    if key in ("project", "cluster"):
        from .settings import setter

        commands["set"] = setter("set", key)
    word = key.replace("_", "-")
    return click.Group(word, commands=commands, help=f"{one['labels']} of the installation.")


def _list(one: Json) -> click.Command:
    def callback(session: Session, /, **given: Any) -> None:
        list_kind(session, one["key"], given)

    made: Any = output_option(connected(callback))
    made = click.option("--search", metavar="TEXT", help="Only those with the text.")(made)
    made = click.option("--limit", type=click.IntRange(min=1), help="Maximum number.")(made)
    made = click.option("--every", is_flag=True, help="All of them.")(made)
    known = ", ".join(one["filters"])
    about = f"As name==a. Fields: {known}." if known else "A condition."
    made = click.option("--filter", "filters", multiple=True, metavar="CONDITION", help=about)(made)
    return click.command("list", help=f"List {one['labels'].lower()}.")(made)


def _describe(one: Json) -> click.Command:
    def callback(session: Session, /, name: str, form: str) -> None:
        describe_kind(session, one["key"], name, form)

    made: Any = click.argument("name", shell_complete=completions.of(one["key"]))(
        output_option(connected(callback))
    )
    return click.command("describe", help=f"Show one {one['label'].lower()}.")(made)


def _create(one: Json) -> click.Command:
    def callback(session: Session, /, **given: Any) -> None:
        body = _body(given["path"], given["values"])
        if given["name"]:
            _put(body, one["name"].split("."), given["name"])
        made = session.client.create_row(one["key"], body)
        if given["form"] in ("json", "yaml"):
            output.data(made, given["form"])
            return
        name = output.value_at(made, one["name"]) or given["name"] or ""
        click.echo(f"{one['label']} {name} was created.")
        for key in ("clientId", "clientSecret", "tempPassword"):
            if made.get(key):
                click.echo(f"{key}: {made[key]}")

    made: Any = click.argument("name", required=False)(output_option(connected(callback)))
    made = _with_body(made)
    return click.command("create", help=_about_body(f"Create one {one['label'].lower()}."))(made)


def _update(one: Json) -> click.Command:
    def callback(session: Session, /, **given: Any) -> None:
        row = find(session, one, given["name"])
        body = _body(given["path"], given["values"])
        if not body:
            raise Usage("--set: name what to change.")
        if not given["path"] and "patch" not in one["verbs"]:
            # A replacement: what is not said stays as it is.
            body = _merged(_kept(one, row), body)
        changed = session.client.update_row(one["key"], id_of(one, row), body)
        notice = (changed or {}).get("notice", "")
        click.echo(f"{one['label']} {given['name']} was changed. {notice}".strip())

    made: Any = _with_body(
        click.argument("name", shell_complete=completions.of(one["key"]))(connected(callback))
    )
    return click.command("update", help=_about_body(f"Change one {one['label'].lower()}."))(made)


def _kept(one: Mapping[str, Any], row: Mapping[str, Any]) -> Json:
    """What a replacement repeats of the row: not what the server alone writes."""
    kept = {key: row[key] for key in one["writes"] if row.get(key) not in (None, "")}
    if isinstance(row.get("meta"), Mapping):
        meta = row["meta"]
        # What is a person's own stands in no place.
        words = ("name", "description", *(() if meta.get("private") else _PLACES))
        kept["meta"] = {key: meta[key] for key in words if meta.get(key)}
    return kept


_PLACES = ("scope", "clusterId", "departmentId", "projectId")


def _delete(one: Json) -> click.Command:
    def callback(session: Session, /, names: tuple[str, ...], yes: bool) -> None:
        rows = [find(session, one, name) for name in names]
        what = ", ".join(names)
        if not yes and sys.stdin.isatty() and not click.confirm(f"Delete {what}?", err=True):
            raise click.Abort
        for name, row in zip(names, rows, strict=True):
            session.client.delete_row(one["key"], id_of(one, row))
            click.echo(f"{one['label']} {name} was deleted.")

    made: Any = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")(
        connected(callback)
    )
    made = click.argument(
        "names", nargs=-1, required=True, shell_complete=completions.of(one["key"])
    )(made)
    return click.command("delete", help=f"Delete {one['labels'].lower()}.")(made)


def _about_body(sentence: str) -> str:
    return f"{sentence} Its values come from a file as the API takes it (-f), from --set, or both."


def _with_body(command: Any) -> Any:
    command = click.option(
        "-f", "--file", "path", metavar="FILE", help="YAML or JSON; - reads standard input."
    )(command)
    return click.option(
        "--set", "values", multiple=True, metavar="PATH=VALUE",
        help="One value, such as spec.image=a:1; VALUE is JSON or text.",
    )(command)  # fmt: skip


def _body(path: str | None, values: tuple[str, ...]) -> Json:
    body: Json = {}
    if path:
        from .input_files import plain

        try:
            text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
            found = plain(text)
        except (OSError, ValueError) as error:
            raise Usage(f"--file: {path} cannot be read: {error}") from None
        if not isinstance(found, dict):
            raise Usage(f"--file: {path} must hold one object.")
        body = found
    for text in values:
        key, is_given, value = text.partition("=")
        if not is_given or not key:
            raise Usage(f"--set: write PATH=VALUE, not {text!r}.")
        _put(body, key.split("."), _read(value))
    return body


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _put(body: Json, steps: list[str], value: Any) -> Json:
    branch = body
    for step in steps[:-1]:
        inner = branch.setdefault(step, {})
        if not isinstance(inner, dict):
            raise Usage(f"--set: {step} has a value already.")
        branch = inner
    branch[steps[-1]] = value
    return body


def _merged(below: Json, above: Mapping[str, Any]) -> Json:
    for key, value in above.items():
        old = below.get(key)
        if isinstance(old, dict) and isinstance(value, Mapping):
            below[key] = _merged(dict(old), value)
        else:
            below[key] = value
    return below
