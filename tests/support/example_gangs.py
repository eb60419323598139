"""Start the programs of `examples/` as gangs on this machine and read what they print."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gangline.drivers.local.frameworks import hostfile_text, replica_environment
from gangline.spec.frameworks import FRAMEWORKS
from scripts.services import free_port
from tests.support.waiting import wait_for

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SYSTEM_PYTHON = Path("/usr/bin/python3")


def examples_python() -> Path:
    """Return the interpreter of the examples' runtime, which `make setup` installs."""
    default = ROOT / "var/runtimes/examples/bin/python"
    python = Path(os.environ.get("GANGLINE_TEST_EXAMPLES_PYTHON") or default)
    assert python.exists(), f"{python} is missing: run `make setup`."
    return python


def digits_csv() -> Path:
    """Return the file of digits that scikit-learn brings along."""
    pattern = "lib/python3*/site-packages/sklearn/datasets/data/digits.csv.gz"
    (path,) = examples_python().parents[1].glob(pattern)
    return path


@dataclass(frozen=True)
class Training:
    """What one gang printed, all ranks together, and how its processes ended."""

    output: str
    exit_codes: tuple[int, ...]

    @property
    def losses(self) -> list[float]:
        return [float(loss) for loss in re.findall(r"epoch \d+ loss (\S+)", self.output)]

    @property
    def epochs(self) -> list[int]:
        return [int(epoch) for epoch in re.findall(r"epoch (\d+) loss", self.output)]

    @property
    def digests(self) -> dict[int, str]:
        """Hash of the final parameters by rank."""
        found = re.findall(r"rank (\d+) (?:parameters|model) sha256 ([0-9a-f]{64})", self.output)
        return {int(rank): digest for rank, digest in found}

    @property
    def joined(self) -> set[tuple[int, int]]:
        found = re.findall(r"rank (\d+) of (\d+) joined", self.output)
        return {(int(rank), int(size)) for rank, size in found}

    @property
    def accuracy(self) -> float:
        (accuracy,) = re.findall(r"accuracy (\S+)", self.output)
        return float(accuracy)


def train(
    *, framework: str, num_workers: int, command: Sequence[str | Path], folder: Path
) -> Training:
    """Run ``command`` in every process of a gang with a master, as the local cluster does."""
    with gang(
        framework=framework, num_workers=num_workers, command=command, folder=folder
    ) as started:
        ends_well_or_early(started, seconds=120)
        codes = tuple(process.returncode for process in started)
    return Training(output=text(folder), exit_codes=codes)


@contextmanager
def gang(
    *, framework: str, num_workers: int, command: Sequence[str | Path], folder: Path
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start the gang; whatever of it still runs at the end is killed with its children."""
    hostfile = folder / "hosts"
    hostfile.write_text(hostfile_text(num_workers=num_workers))
    workers = 0 if FRAMEWORKS[framework].launches else num_workers
    slots = [("master", 0), *(("worker", index) for index in range(workers))]
    ports = [free_port() for _ in slots]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for rank, (role, index) in enumerate(slots):
            contract = replica_environment(
                framework=framework,
                configuration="workersAndMaster",
                rank=rank,
                world_size=len(slots),
                role=role,
                index=index,
                num_workers=num_workers,
                master_addr="127.0.0.1",
                master_port=ports[0],
                ports=ports,
                cpus=0.5,
                hostfile=str(hostfile),
                is_root=os.geteuid() == 0,
            )
            started.append(_start(command, contract, folder / f"{role}-{index}.log"))
        yield started
    finally:
        for process in started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _start(
    command: Sequence[str | Path], contract: dict[str, str], log: Path
) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            [str(part) for part in command],
            cwd=log.parent,
            env={"PATH": "/usr/bin:/bin", "HOME": str(log.parent), "LANG": "C.UTF-8"} | contract,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def ends_well_or_early(started: list[subprocess.Popen[bytes]], *, seconds: float) -> None:
    """Wait until all ended with 0, or until the first failure: the others may wait for ever."""

    def is_over() -> bool:
        codes = [process.poll() for process in started]
        return None not in codes or any(codes)

    wait_for(is_over, seconds=seconds, every=0.05, what="the gang to end")
    deadline = time.monotonic() + 10
    for process in started:
        try:
            process.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def falls(text: str) -> bool:
    """Whether the losses that a training printed went down."""
    found = [float(loss) for loss in re.findall(r"epoch \d+ loss (\S+)", text)]
    return bool(found) and found[-1] < found[0]


def digests(text: str) -> list[str]:
    """What each rank told of its final parameters."""
    return re.findall(r"(?:parameters|model) sha256 ([0-9a-f]{64})", text)


def text(folder: Path) -> str:
    """Return the logs of all processes, one after another."""
    return "\n".join(path.read_text() for path in sorted(folder.glob("*.log")))
