"""The help of every command as one page, for `scripts.client_files`."""

from __future__ import annotations

from collections.abc import Iterator

import click

WIDTH = 100
HEAD = """# The command line

What `gangline COMMAND --help` prints. [How to use it](../how-to/use-the-command-line.md) shows it.
This page is written by `make openapi`.

`gangline pytorch submit`, `gangline training pytorch submit` and those of other frameworks take
the flags of `gangline distributed submit`; `gangline submit-dist` of another framework those of
`gangline submit-dist pytorch`, each with the flags that only its framework has. Other resources
have the commands of `gangline environment`, as far as the API can do them.
"""
LEFT_OUT = frozenset({"training"})
ONE_FRAMEWORK = {"submit-dist": "pytorch"}
ONE_RESOURCE = "environment"
OF_WORKLOADS = frozenset({"gangline distributed", "gangline workload"})
"""Groups whose commands are those of the top, but for submitting."""


def page() -> str:
    """Markdown with a heading and the help of each command."""
    from gangline_cli.main import COMMANDS, gangline

    parts = [HEAD, _help(gangline, "gangline")]
    root = click.Context(gangline, info_name="gangline")
    for name in (*COMMANDS, ONE_RESOURCE):
        command = gangline.get_command(root, name)
        if command is not None and name not in LEFT_OUT:
            parts += _of(command, f"gangline {name}", ONE_FRAMEWORK.get(name, ""))
    return "\n".join(parts) + "\n"


def _of(command: click.Command, name: str, only: str) -> Iterator[str]:
    yield _help(command, name)
    if not isinstance(command, click.Group):
        return
    ctx = click.Context(command, info_name=name)
    for inner in command.list_commands(ctx):
        found = command.get_command(ctx, inner)
        is_elsewhere = name in OF_WORKLOADS and inner != "submit"
        if found is not None and not is_elsewhere and inner == (only or inner):
            yield from _of(found, f"{name} {inner}", "")


def _help(command: click.Command, name: str) -> str:
    ctx = click.Context(
        command, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )  # fmt: skip
    return f"\n## {name}\n\n```text\n{command.get_help(ctx).rstrip()}\n```"
