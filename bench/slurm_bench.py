"""Jobs of Slurm made by Gangline's driver beside plain `sbatch`, and one look at 5,000 of them.

On a real Slurm of four nodes, each submission beside a plain one of the same script, in turns.
"""

import json
import resource
import secrets
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.loads import Samples, percentile
from bench.report import Row, Target
from gangline.drivers.base import AttemptRef, Submission
from gangline.drivers.slurm import looks, script
from gangline.drivers.slurm.commands import LocalCommands, Programs
from gangline.drivers.slurm.driver import Options, SlurmDriver
from gangline.spec.frameworks import WORKERS_ONLY
from gangline.spec.typed import typed
from gangline.spec.workload import WorkerSpec
from tests.beds.slurm.lab import Lab, running
from tests.support.waiting import wait_for

ROUNDS = 15
JOBS, LOOKS = 5_000, 5
INSTALL, MANY = "bench", "many"


def run() -> list[Row]:
    with TemporaryDirectory(prefix="slurm-") as folder, running(Path(folder)) as lab:
        driver = _driver(lab, Path(folder))
        return [*_submissions(lab, driver), *_look(lab, driver)]


def _driver(lab: Lab, folder: Path) -> SlurmDriver:
    programs = Programs(LocalCommands(), config=str(lab.config))
    return SlurmDriver(programs, Options(folder / "data", str(folder / "runs")))


def _ref(driver: SlurmDriver) -> AttemptRef:
    worker = typed(WorkerSpec, {"command": "true", "compute.cpuMemoryRequest": "100M"})
    submission = Submission("bench", "bench", "PyTorch", WORKERS_ONLY, 1, worker, None)
    rendered = json.loads(json.dumps(driver.render(submission)))
    name = f"{secrets.token_hex(4)}-0000-4000-8000-{secrets.token_hex(6)}"
    return AttemptRef(INSTALL, name, 1, "bench", submission=submission, rendered=rendered)


def _submissions(lab: Lab, driver: SlurmDriver) -> list[Row]:
    """Until the command has run: what people wait for; and until Slurm has the job."""
    runs = Path(driver.options.folder) / INSTALL
    ours, plain, made, raw = (list[float]() for _ in "1234")
    for _ in range(ROUNDS):
        ref = _ref(driver)
        record = runs / ref.workload / "1" / "start.json"
        began = time.monotonic()
        driver.create(ref)
        made.append(_since(began))
        driver.commit(ref)
        wait_for(record.exists, seconds=60, every=0.005)
        ours.append(_since(began))
        folder = Path(driver.options.folder) / secrets.token_hex(4)
        folder.mkdir()
        for name in ("logs", "state"):
            (folder / name).mkdir()
        (folder / "plan.json").write_text("{}")
        text = script.script(ref.rendered)
        began = time.monotonic()
        subprocess.run(
            ["sbatch", "--parsable", "--export=NIL"], input=text.encode(), cwd=folder, check=True,
            env=lab.environment, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        raw.append(_since(began))
        wait_for((folder / "start.json").exists, seconds=60, every=0.005)
        plain.append(_since(began))
        wait_for(lambda: not lab.run("squeue", "-h").strip(), seconds=60)
    return [
        _row("submit → the job runs", ours, plain, (Target("ratio", 1.5),)),
        _row("submit → Slurm has the job, held", made, raw, ()),
    ]


def _row(what: str, ours: list[float], plain: list[float], targets: tuple[Target, ...]) -> Row:
    floor = percentile(plain, 0.5)
    return Row(
        "slurm", what, median=percentile(ours, 0.5), p95=percentile(ours, 0.95), floor=floor,
        floor_name="plain sbatch", ratio=percentile(ours, 0.5) / floor, targets=targets,
    )  # fmt: skip


def _look(lab: Lab, driver: SlurmDriver) -> list[Row]:
    """All jobs in one call, with the processor time of every program of it."""
    lines = "\n".join(
        f"sbatch -H --export=NIL --comment={looks.comment(_named(number))} -o /dev/null true.sh"
        for number in range(JOBS)
    )
    (lab.folder / "true.sh").write_text("#!/bin/sh\ntrue\n")
    subprocess.run(
        ["/bin/sh", "-e"], input=lines.encode(), cwd=lab.folder, env=lab.environment, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    samples = Samples()
    for _ in range(LOOKS):
        before, began = _cpu(), time.monotonic()
        seen = looks.look(driver.programs, driver.options.folder, MANY, ())
        samples.wall.append(_since(began))
        samples.cpu.append(_cpu() - before)
        if len(seen.jobs) != JOBS:
            raise RuntimeError(f"{len(seen.jobs)} of {JOBS} jobs were seen.")
    cpu = percentile(samples.cpu, 0.5)
    floor = _timed(lambda: lab.run("squeue", "-h", "-r", "-t", "all", "-o", looks.FORMAT))
    wall = percentile(samples.wall, 0.5)
    return [
        Row(
            "slurm", f"one look at {JOBS} jobs", median=wall, p95=percentile(samples.wall, 0.95),
            cpu=cpu, floor=floor, floor_name="squeue alone", ratio=wall / floor,
            targets=(Target("cpu", 500),), note="processor time of all programs of it",
        )
    ]  # fmt: skip


def _named(number: int) -> AttemptRef:
    return AttemptRef(MANY, f"{number:08x}-0000-4000-8000-000000000000", 1, "bench")


def _timed(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return _since(began)


def _since(began: float) -> float:
    return (time.monotonic() - began) * 1000


def _cpu() -> float:
    """Milliseconds of this process and of those that it waited for."""
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in each) * 1000
