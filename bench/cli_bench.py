"""The command line from its start to its end, as a shell waits for it."""

import os
import subprocess
import sys
import time

from bench import servers
from bench.loads import Samples, row
from bench.report import Row, Target

ROUNDS = 15
BIN = servers.BIN


def run() -> list[Row]:
    help_, listed, bare = Samples(), Samples(), Samples()
    with servers.place() as place:
        place.run()
        token = place.manage("token", "researcher", "--days", "1").splitlines()[0]
        environment = place.environment | {
            "GANGLINE_URL": f"http://127.0.0.1:{place.port}",
            "GANGLINE_TOKEN": token,
            "GANGLINE_CONFIG_DIR": str(place.folder / "config"),
        }
        for _ in range(ROUNDS):
            _timed([sys.executable, "-c", "pass"], environment, bare)
            _timed([str(BIN / "gangline"), "--help"], environment, help_)
            _timed([str(BIN / "gangline"), "list"], environment, listed)
    name = "python -c pass"
    return [
        row("cli", "gangline --help", help_, floor=bare, floor_name=name,
            targets=(Target("median", 250),)),
        row("cli", "gangline list", listed, floor=bare, floor_name=name,
            targets=(Target("median", 400),)),
    ]  # fmt: skip


def _timed(command: list[str], environment: dict[str, str], into: Samples) -> None:
    began, before = time.monotonic(), os.times()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    into.wall.append((time.monotonic() - began) * 1000)
    spent = after.children_user + after.children_system
    into.cpu.append((spent - before.children_user - before.children_system) * 1000)
