"""`gangline`: its commands, each loaded when it is used, and how errors end it."""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NoReturn

import click

from gangline_sdk import __version__

from .exits import exit_code, told

COMMANDS: Mapping[str, tuple[str, str]] = {
    "login": ("signing_in:login", "Sign in to a server."),
    "logout": ("signing_in:logout", "Forget the credentials of a server."),
    "whoami": ("signing_in:whoami", "Who is signed in, and where."),
    "config": ("settings:config", "Show or set the server, project and cluster to use."),
    "submit": ("submit:submit", "Submit a workload from a YAML or JSON file."),
    "submit-dist": ("submit:submit_dist", "Submit a workload: submit-dist FRAMEWORK [NAME]."),
    "distributed": ("submit:distributed", "Workloads, in newer words."),
    "training": ("submit:training", "The same by framework: training FRAMEWORK submit."),
    "workload": ("workloads:workload", "Workloads: list, describe, logs, delete and more."),
    "list": ("workloads:list_", "List workloads, or projects, clusters and other things."),
    "describe": ("workloads:describe", "Show one workload with its pods and events."),
    "logs": ("logs:logs", "Print the merged log of a workload, or follow it."),
    "attach": ("logs:attach", "Watch what a pod prints, and end with its exit code."),
    "bash": ("pod_shell:bash", "Open a shell in a running pod."),
    "exec": ("pod_shell:exec_", "Run a command in a running pod."),
    "port-forward": ("port_forward:port_forward", "Reach ports of a pod at ports of this machine."),
    "suspend": ("workloads:suspend", "Stop workloads and keep their records."),
    "resume": ("workloads:resume", "Start stopped workloads again."),
    "rerun": ("workloads:rerun", "Make a new attempt of workloads that have ended."),
    "delete": ("workloads:delete", "Delete workloads."),
    "policy": ("policies:policy", "What policies require and allow."),
    "completion": ("settings:completion", "Print a script that completes commands in a shell."),
}
FRAMEWORKS = ("pytorch", "tensorflow", "xgboost", "mpi", "jax", "mxnet")
"""Which are commands too: ``gangline pytorch submit``."""


class Lazy(click.Group):
    """A group that imports a command when it is called, and none of them for its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *_resources()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in FRAMEWORKS:
            from .submit import of_framework

            return of_framework(name)
        if name in COMMANDS:
            module, _, attribute = COMMANDS[name][0].partition(":")
            found = getattr(import_module(f".{module}", __package__), attribute)
            return found if isinstance(found, click.Command) else None
        if name in _resources():
            from .things import group_of

            return group_of(name.replace("-", "_"))
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            meant = f" Did you mean {near[0]}?" if near else " See gangline --help."
            ctx.fail(f"There is no command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, help_) in COMMANDS.items()])
        with formatter.section("Organisation and assets (list, describe, create, delete)"):
            formatter.write_text(", ".join(sorted(_resources())))


def _resources() -> list[str]:
    from gangline_sdk.calls import resources

    return [key.replace("_", "-") for key in resources()]


@click.group(
    cls=Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Every command has its own --help. Exit codes: 0 ok, 1 failed, 2 usage, 3 not accepted"
    " (a value or a policy), 4 sign-in, 5 not found, 6 conflict, 7 not reachable, 130 interrupted.",
)
@click.version_option(__version__, prog_name="gangline")
@click.option("--debug", is_flag=True, help="Show where an unexpected error comes from.")
@click.pass_context
def gangline(ctx: click.Context, debug: bool) -> None:
    """Launch and watch distributed training on Gangline."""
    ctx.ensure_object(dict)["debug"] = debug


def run() -> NoReturn:
    """What the installed command calls."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: list[str]) -> int:
    """Run one command; returns its exit code."""
    try:
        result: Any = gangline.main(arguments, prog_name="gangline", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        # The reader has enough. What is left in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        code = exit_code(error)
        if code is None:
            if "--debug" in arguments:
                raise
            click.echo(f"gangline: {type(error).__name__}: {error}", err=True)
            click.echo("Unexpected error; --debug shows more.", err=True)
            return 1
        for line in told(error):
            click.echo(line, err=True)
        return code
