"""The command line against the running product of this machine: one server for all of it."""

import io
import os
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest
from click.shell_completion import BashComplete

from gangline_cli.main import gangline, main
from tests.support.installation import BIN, Embedded, embedded
from tests.support.waiting import wait_for

PROJECT = "vision"
IMAGE = "local://system"
SMALL = ("-i", IMAGE, "--cpu", "0.1", "--memory", "32M")
"""Flags of a workload that this machine has room for."""


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


@dataclass
class Line:
    """Runs commands as one person whose files lie in ``folder``."""

    folder: Path
    url: str
    more: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("GANGLINE_")}
        return kept | {"GANGLINE_CONFIG_DIR": str(self.folder)} | self.more

    def __call__(self, *words: str) -> Done:
        """In this process: starting a Python for each would cost most of the time."""
        out, err = io.StringIO(), io.StringIO()
        with (
            patch.dict(os.environ, self.environment, clear=True),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = main(list(words))
        return Done(code, out.getvalue(), err.getvalue())

    def ok(self, *words: str) -> str:
        done = self(*words)
        assert done.code == 0, (words, done)
        return done.out

    def program(self, *words: str, given: str = "", **more: str) -> Done:
        """As the installed program."""
        done = subprocess.run(
            [str(BIN / "gangline"), *words],
            env=self.environment | more,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def completed(self, *words: str) -> list[str]:
        """What a shell offers for the last word of a line."""
        with patch.dict(os.environ, self.environment, clear=True):
            shell = BashComplete(gangline, {}, "gangline", "_GANGLINE_COMPLETE")
            return [one.value for one in shell.get_completions(list(words[:-1]), words[-1])]

    @property
    def shell_environment(self) -> dict[str, str]:
        """In which a shell finds the program."""
        return self.environment | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}

    def shell(self, text: str) -> Done:
        """A script as it is printed, by a shell that finds the program."""
        done = subprocess.run(
            ["/bin/sh", "-euc", text],
            env=self.shell_environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    with embedded(tmp_path_factory.mktemp("cli") / "data", GANGLINE_LOCAL_GPUS="2") as made:
        made.start()
        made.sign_in("researcher")
        wait_for(
            lambda: all(one["status"]["state"] == "Connected" for one in made.get("clusters")),
            seconds=60,
            what="the runtimes",
        )
        yield made
        made.stop()


@pytest.fixture(scope="package")
def signed_in(site: Embedded, tmp_path_factory: pytest.TempPathFactory) -> Line:
    """The researcher, in project vision."""
    line = Line(tmp_path_factory.mktemp("config"), site.url)
    done = line.program("login", "token", site.url, "--password-stdin", given=site.token)
    assert done.code == 0, done
    line.ok("config", "project", PROJECT)
    return line


@pytest.fixture(name="gangline")
def in_project(signed_in: Line) -> Iterator[Line]:
    """The same; what a test leaves running is deleted."""
    yield signed_in
    signed_in("delete", "--all", "--yes")
