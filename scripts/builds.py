"""Build what the last tests need while the first ones run.

On two cores a build of minutes beside tests that often wait costs less than the same build before
them. It runs with the lowest priority, says nothing until it is waited for, and ends with us.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from scripts import system_packages
from scripts.system_packages import Part

LOOK_EVERY = 0.5


class Build:
    """One running build, whose words are kept in a file."""

    def __init__(self, part: Part, log: Path) -> None:
        self.part, self._log, self._read = part, log, 0
        self._turns = threading.Lock()
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                ["nice", "-n", "19", *part.command],
                cwd=system_packages.ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        # Where the kernel shares processors among sessions, niceness counts within one only.
        with contextlib.suppress(OSError):
            Path(f"/proc/{self._process.pid}/autogroup").write_text("19")

    def wait(self, output: TextIO | None = None) -> None:
        """Wait for the end, and pass on what was said and is being said, to one who waits."""
        output, began = output or sys.stdout, time.monotonic()
        with self._turns:
            while self._process.poll() is None:
                self._pass_on(output)
                time.sleep(LOOK_EVERY)
            self._pass_on(output)
        print(
            f"Waited {time.monotonic() - began:.0f} s for {self.part.name}.",
            file=output,
            flush=True,
        )

    def stop(self) -> None:
        """End it with everything that it has started, unless it has ended."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()

    def _pass_on(self, output: TextIO) -> None:
        with self._log.open("rb") as log:
            log.seek(self._read)
            said = log.read()
        self._read += len(said)
        output.write(said.decode(errors="replace"))
        output.flush()


@contextlib.contextmanager
def started(names: Iterable[str]) -> Iterator[dict[str, Build]]:
    """Builds of those of the missing parts that are built, by their names."""
    parts = [system_packages.PARTS[name] for name in names]
    builds: dict[str, Build] = {}
    with tempfile.TemporaryDirectory(prefix="gangline-builds-") as folder:
        try:
            for part in parts:
                if part.command and not system_packages.lacks_packages(part):
                    print(f"Building what the last tests need beside the others: {part.name}.")
                    builds[part.name] = Build(part, Path(folder) / part.name)
            yield builds
        finally:
            for build in builds.values():
                build.stop()
