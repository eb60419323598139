"""Run the commands of `docs/how-to/use-the-command-line.md` and write down what they print.

Usage: `python -m scripts.command_recordings`. Blocks marked `console` hold lines that begin with a
dollar; what stood below them is replaced. A product of its own is started for it, and ended.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scripts.services import free_port

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "how-to" / "use-the-command-line.md"
BIN = Path(sys.executable).parent
ADDRESS = "https://gangline.example.com"
PROJECT = "vision"
SECONDS = 120
SPEC = """\
name: from-a-file
spec:
  distributedFramework: PyTorch
  image: local://system
  command: sleep 600
  numWorkers: 2
"""


def main() -> int:
    """Write the page anew; nothing is written when a command cannot be started."""
    text = PAGE.read_text()
    with tempfile.TemporaryDirectory(prefix="gangline-recordings-") as name, _product(name) as url:
        folder = Path(name)
        environment = _environment(folder)
        (folder / "token").write_text(_manage(folder, "token", "researcher", "--days", "1"))
        (folder / "digits.yaml").write_text(SPEC)
        known = environment | {
            "GANGLINE_URL": url,
            "GANGLINE_TOKEN": (folder / "token").read_text().splitlines()[0],
        }
        _until("The product did not start.", known, _is_ready, "cluster", "list", "-o", "json")
        blocks = re.split(r"(```console\n.*?```)", text, flags=re.DOTALL)
        try:
            for number in range(1, len(blocks), 2):
                blocks[number] = _recorded(blocks[number], url, folder, environment)
        finally:
            _ended(known)
    PAGE.write_text("".join(blocks))
    return 0


def _recorded(block: str, url: str, folder: Path, environment: dict[str, str]) -> str:
    commands = re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, flags=re.MULTILINE)
    lines = ["```console"]
    for command in commands:
        time.sleep(1.0)  # a person reads before the next one, and the workload goes on
        done = subprocess.run(
            ["/bin/sh", "-c", command.replace(ADDRESS, url)],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        lines += [f"$ {command}", done.stdout.replace(url, ADDRESS).rstrip()]
    return "\n".join(line for line in lines if line) + "\n```"


@contextmanager
def _product(name: str) -> Iterator[str]:
    """The embedded product with two declared GPUs. Its workloads outlive it: see `_ended`."""
    folder, port = Path(name), free_port()
    process = subprocess.Popen(
        [str(BIN / "gangline-manage"), "run"],
        env=_environment(folder) | {"PORT": str(port), "GANGLINE_LOCAL_GPUS": "2"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment(folder: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GANGLINE_", "DJANGO_"))}
    return kept | {
        "GANGLINE_DATA_DIR": str(folder / "data"),
        "GANGLINE_CONFIG_DIR": str(folder / "config"),
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    }


def _manage(folder: Path, *arguments: str) -> str:
    deadline = time.monotonic() + SECONDS
    while True:
        done = subprocess.run(
            [str(BIN / "gangline-manage"), *arguments],
            env=_environment(folder),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return done.stdout
        if time.monotonic() > deadline:
            raise SystemExit(done.stderr)
        time.sleep(1)


def _is_ready(rows: Any) -> bool:
    """Whether this machine has looked at what it can run."""
    return bool(rows) and all(one["status"]["state"] == "Connected" for one in rows)


def _ended(environment: dict[str, str]) -> None:
    """Delete every workload, and wait until none is left."""
    words = ["delete", "--all", "--yes", "--project", PROJECT]
    subprocess.run([str(BIN / "gangline"), *words], env=environment, check=False)
    left = ("list", "--project", PROJECT, "-o", "json")
    _until("A workload of the recordings still runs.", environment, lambda rows: not rows, *left)


def _until(
    otherwise: str, environment: dict[str, str], is_so: Callable[[Any], bool], *words: str
) -> None:
    """Wait until a command answers so. Raises SystemExit with ``otherwise``."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        done = subprocess.run(
            [str(BIN / "gangline"), *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0 and is_so(json.loads(done.stdout)):
            return
        time.sleep(0.5)
    raise SystemExit(otherwise)


if __name__ == "__main__":
    sys.exit(main())
