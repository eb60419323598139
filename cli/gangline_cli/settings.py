"""What commands use when nothing is said: server, project and cluster; and shell completion."""

import os
import sys
from typing import Any

import click

from gangline_sdk.stored import Stored

from . import completions, output
from .session import Session, connected
from .session import output as output_option


@click.group(invoke_without_command=True)
@click.pass_context
def config(ctx: click.Context) -> None:
    """Show or set the server, project and cluster that commands use."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@config.command()
@output_option
def show(form: str = "table") -> None:
    """Show them, and where they are stored."""
    stored = Stored.load()
    url = os.environ.get("GANGLINE_URL", "") or stored.url
    known: dict[str, Any] = {
        "server": url,
        "project": stored.default("project", url),
        "cluster": stored.default("cluster", url),
        "signed in": bool(stored.secrets.get(url)),
        "folder": str(Stored.folder()),
    }
    if form in ("json", "yaml"):
        output.data(known, form)
    else:
        output.facts((key.capitalize(), output.text_of(value)) for key, value in known.items())


def keep(session: Session, name: str, value: str) -> None:
    """Store a default of the server."""
    stored = session.stored
    stored.servers.setdefault(session.client.url, {})[name] = value
    if not stored.url:
        stored.url = session.client.url
    stored.save()
    click.echo(f"The {name} is now {value}.")


def _set_project(session: Session, /, name: str) -> None:
    """Work in a project from here on."""
    session._project = name
    keep(session, "project", str(session.project_row()["name"]))


def _set_cluster(session: Session, /, name: str) -> None:
    """Work on a cluster X, where projects of several share a name."""
    session._cluster = name
    keep(session, "cluster", str(session.cluster_row()["name"]))


def setter(name: str, what: str) -> click.Command:
    """``project set NAME`` and ``config project NAME`` are one command."""
    function = {"project": _set_project, "cluster": _set_cluster}[what]
    made = click.argument("name", shell_complete=completions.of(what))(connected(function))
    return click.command(name, help=function.__doc__)(made)


config.add_command(setter("project", "project"))
config.add_command(setter("cluster", "cluster"))


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands and flags, for the start file of your shell.

    \b
    bash: eval "$(gangline completion bash)" in ~/.bashrc
    zsh:  eval "$(gangline completion zsh)" in ~/.zshrc
    fish: gangline completion fish > ~/.config/fish/completions/gangline.fish
    """
    from click.shell_completion import get_completion_class

    from .main import gangline

    known = get_completion_class(shell)
    if known is None:
        sys.exit(2)
    click.echo(known(gangline, {}, "gangline", "_GANGLINE_COMPLETE").source())
