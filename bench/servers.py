"""Installations to measure: a folder of their own, SQLite or PostgreSQL, and processes of them."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts import services, system_packages

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
READY_SECONDS = 60
MARK = "bench-result: "


@dataclass
class Place:
    """One installation: its data folder and the environment of all its processes."""

    folder: Path
    environment: dict[str, str]
    port: int
    database: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def manage(self, *arguments: str) -> str:
        """Run a management command and return what it printed."""
        return self._run([str(BIN / "gangline-manage"), *arguments]).strip()

    def inside(self, function: str, **arguments: Any) -> Any:
        """Call ``module:function`` in a process of this installation and return its answer."""
        text = json.dumps(arguments)
        printed = self._run([sys.executable, "-m", "bench.inside", function, text])
        line = next(line for line in printed.splitlines() if line.startswith(MARK))
        return json.loads(line.removeprefix(MARK))

    def serve(self, application: str = "gangline.config.asgi:application") -> None:
        """Start a web process alone: nothing acts on what is submitted."""
        self.start(
            str(BIN / "uvicorn"), application, "--port", str(self.port), "--lifespan", "off",
            "--log-level", "warning", "--no-access-log", "--no-server-header",
        )  # fmt: skip
        self.wait()

    def run(self) -> float:
        """Start the embedded product whole; the seconds until its first page."""
        began = time.monotonic()
        self.start(str(BIN / "gangline-manage"), "run")
        self.wait()
        return time.monotonic() - began

    def start(self, *command: str) -> None:
        with (self.folder / "output").open("ab") as output:
            self.processes.append(
                subprocess.Popen(
                    command, cwd=ROOT, env=self.environment, stdin=subprocess.DEVNULL,
                    stdout=output, stderr=subprocess.STDOUT,
                )
            )  # fmt: skip

    def wait(self) -> None:
        """Return as soon as the sign-in page is served."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self.processes[-1].poll() is not None:
                break
            if self._answers():
                return
            time.sleep(0.005)
        raise RuntimeError((self.folder / "output").read_text(errors="replace")[-3000:])

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/login", timeout=5):
                return True
        except OSError:
            return False

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()

    def _run(self, command: list[str]) -> str:
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command[:4])}:\n{done.stderr[-4000:]}")
        return done.stdout


@contextlib.contextmanager
def place(database: str = "SQLite", *, url: str = "", **more: str) -> Iterator[Place]:
    """A new installation with an up-to-date schema and nothing in it; gone after the block."""
    folder = Path(tempfile.mkdtemp(prefix="gangline-bench-"))
    port = services.free_port()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GANGLINE_", "DJANGO_"))}
    settings = {
        "GANGLINE_DATA_DIR": str(folder),
        "GANGLINE_DATABASE_URL": url,
        "PORT": str(port),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
    }
    made = Place(folder, kept | settings | more, port, database)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def places(**more: str) -> Iterator[Iterator[Place]]:
    """One installation per database that is installed here, one after the other."""
    with contextlib.ExitStack() as stack:

        def each() -> Iterator[Place]:
            with place(**more) as made:
                made.manage("migrate", "--verbosity", "0")
                made.inside("bench.limits:lift")
                yield made
            if system_packages.postgres_programs() is None:
                print("PostgreSQL is not installed: measured on SQLite alone.")
                return
            server = stack.enter_context(services.postgres(durable=True))
            with place("PostgreSQL", url=server.create_database(), **more) as made:
                made.manage("migrate", "--verbosity", "0")
                made.inside("bench.limits:lift")
                yield made

        yield each()
