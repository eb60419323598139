"""Names that a shell completes: asked of the server, quickly or not at all."""

from collections.abc import Callable, Iterable
from typing import Any

import click

from gangline_sdk.errors import GanglineError

from .session import Session

SECONDS = 3.0
MOST = 200
Completer = Callable[[click.Context, click.Parameter, str], list[str]]


def _names(look: Callable[[Session, str], Iterable[str]]) -> Completer:
    """A completer that says nothing where the server does not answer."""

    def complete(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
        places = {
            key: ctx.params.get(key) or "" for key in ("url", "project", "cluster", "ca_file")
        }
        session = Session(**places, seconds=SECONDS)
        try:
            given = ctx.params.get(str(param.name)) if param.nargs == -1 else ()
            known = {*given} if isinstance(given, tuple | list) else set()
            found = [one for one in look(session, begun) if one.startswith(begun)]
            return [one for one in dict.fromkeys(found) if one not in known]
        except (GanglineError, click.ClickException, OSError, LookupError, ValueError):
            return []  # a line that is being typed is no place for an error
        finally:
            session.close()

    return complete


def _rows(session: Session, key: str) -> Iterable[str]:
    from gangline_sdk import calls

    from .output import value_at

    name = calls.resource(key)["name"]
    return (str(value_at(row, name)) for row in session.client.rows(key, limit=MOST))


def _workloads(session: Session, begun: str) -> Iterable[str]:
    filters = [f"name=^{begun}"] if begun.replace("-", "").isalnum() else []
    rows = session.client.workloads(project=session.project, filters=filters, limit=MOST)
    return (str(row["name"]) for row in rows)


def of(key: str) -> Completer:
    """Names of a resource."""
    return _names(lambda session, begun: _rows(session, key))


workloads = _names(_workloads)


def pods(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """Pods of the workload that the line names."""
    # Of a line that ends in an option without its value click gives the words as they are.
    words = ctx.params.get("words") or ctx.params.get("name") or ctx.args
    name = words if isinstance(words, str) else (words[-1] if words else "")

    def look(session: Session, begun: str) -> Iterable[str]:
        rows: Any = session.client.pods(session.workload(name)["id"], limit=MOST)
        return (f"{row['role']}-{row['index']}" for row in rows)

    return _names(look)(ctx, param, begun) if name else []


def kinds(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """What ``list`` takes."""
    from gangline_sdk import calls

    known = ["workloads", *(key.replace("_", "-") + "s" for key in calls.resources())]
    return [one for one in known if one.startswith(begun)]
