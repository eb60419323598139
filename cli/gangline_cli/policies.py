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
    """What policies require and allow."""


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
        note(f"No policy applies in project {row['name']}.")
        return
    if form in ("json", "yaml"):
        output.data(found, form)
        return
    wanted = _path(field) if field else ""
    rows = [one for one in _rows(found) if one["path"].startswith(wanted)]
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


def _rows(policy: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    effective, sources = policy["effective"], policy.get("defaultSources") or {}
    for role in ("worker", "master"):
        for path, part in _inside("", effective["defaults"].get(role) or {}, is_default=True):
            source = (sources.get(role) or {}).get(path)
            yield _row(role, path, f"default {output.text_of(part)}", source)
    for role in ("worker", "master"):
        for path, part in _inside("", effective["rules"].get(role) or {}, is_default=False):
            yield _row(role, path, _rule(part), part.get("sourceOfRule"))


def _inside(path: str, part: Any, *, is_default: bool) -> Iterator[tuple[str, Any]]:
    """The fields in a part of the policy, each with what is said of it."""
    if path in flags.fields():
        inner = part.get("instances") if isinstance(part, Mapping) and not is_default else None
        yield path, inner or part
    elif isinstance(part, Mapping):
        for name, inner in part.items():
            yield from _inside(
                f"{path}.{name}" if path else str(name), inner, is_default=is_default
            )


def _row(role: str, path: str, told: str, source: Any) -> dict[str, Any]:
    prefix = "master-" if role == "master" else ""
    return {
        "role": role,
        "path": path,
        "flag": f"--{prefix}{flags.fields()[path]['flag']}",
        "rule": told,
        "source": _source(source),
    }


def _rule(part: Mapping[str, Any]) -> str:
    kept = {k: v for k, v in part.items() if k not in ("sourceOfRule", "sources")}
    return ", ".join(f"{key} {output.text_of(value)}" for key, value in kept.items())


def _source(source: Any) -> str:
    if not isinstance(source, Mapping):
        return ""
    return " ".join(str(value) for value in source.values())
