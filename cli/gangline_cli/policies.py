"""``policy explain``: what holds in a project, and who decided it."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from gangline_sdk.errors import NotFound

from . import flags, output
from .session import Session, connected, note
from .session import output as output_option


@click.group()
def policy() -> None:
    """What policies ask for and allow."""


@policy.command()
@click.argument("field", required=False)
@output_option
@connected
def explain(session: Session, /, field: str | None, form: str) -> None:
    """What holds in the project: defaults and rules, each with the scope that set it.

    FIELD narrows it to a field or a flag: numWorkers, compute, --image.
    """
    row = session.project_row()
    try:
        found: Any = session.client.policy("project", str(row["id"]))
    except NotFound:
        note(f"No policy holds in project {row['name']}.")
        return
    if form in ("json", "yaml"):
        output.data(found, form)
        return
    wanted = _path(field) if field else ""
    rows = [one for one in _rows(found["effective"]) if one["path"].startswith(wanted)]
    if not rows:
        note(f"No policy says anything about {field} in project {row['name']}.")
        return
    output.show(
        rows,
        (
            ("ROLE", "role"), ("FIELD", "path"), ("FLAG", "flag"), ("RULE", "rule"),
            ("SET BY", "source"),
        ),
        "table",
    )  # fmt: skip


def _path(field: str) -> str:
    if field.startswith("--"):
        name = field[2:].removeprefix("master-")
        return next((p for p, one in flags.fields().items() if one["flag"] == name), field)
    return field


def _rows(effective: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for kind in ("defaults", "rules"):
        part = effective.get(kind) or {}
        for role in ("worker", "master"):
            yield from _inside(role, "", part.get(role) or {}, is_default=kind == "defaults")


def _inside(role: str, path: str, part: Any, *, is_default: bool) -> Iterator[dict[str, Any]]:
    if path in flags.fields():
        inner = part.get("instances") if isinstance(part, Mapping) and not is_default else None
        yield _row(role, path, inner or part, is_default=is_default)
    elif isinstance(part, Mapping):
        for name, inner in part.items():
            below = f"{path}.{name}" if path else str(name)
            yield from _inside(role, below, inner, is_default=is_default)


def _row(role: str, path: str, part: Any, *, is_default: bool) -> dict[str, Any]:
    prefix = "master-" if role == "master" else ""
    told = _default(part) if is_default else _rule(part)
    return {
        "role": role,
        "path": path,
        "flag": f"--{prefix}{flags.fields()[path]['flag']}",
        "rule": told,
        "source": _source(part),
    }


def _default(part: Any) -> str:
    value = part.get("value", part) if isinstance(part, Mapping) else part
    return f"default {output.text_of(value)}"


def _rule(part: Any) -> str:
    if not isinstance(part, Mapping):
        return output.text_of(part)
    kept = {k: v for k, v in part.items() if k not in ("sourceOfRule", "sources")}
    return ", ".join(f"{key} {output.text_of(value)}" for key, value in kept.items())


def _source(part: Any) -> str:
    source = part.get("sourceOfRule") if isinstance(part, Mapping) else None
    if isinstance(source, Mapping):
        return " ".join(str(source.get(key, "")) for key in ("scope", "name")).strip()
    return str(source or "")
