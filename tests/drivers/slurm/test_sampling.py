"""What the sampler of a replica writes of a real process, and what becomes of its lines."""

import subprocess
from pathlib import Path

from gangline.drivers.logs.store import LogStore
from gangline.drivers.metrics.reader import read
from gangline.drivers.slurm import looks, texts
from gangline.drivers.slurm.commands import Answer
from gangline.drivers.slurm.samples import Sampled

MEBI = 2**20
KEY = "w-1", 1
BURNS = """
import os
held = bytearray(os.urandom(1)) * (150 * 2**20)
if os.fork() == 0:
    while sum(os.times()[:2]) < 1.5:
        pass
    os._exit(0)
os.wait()
"""
RUN = f"""
set -u
RUN=$PWD name=worker-0
pause() {{ sleep "$1"; }}
{texts.SAMPLING}
python3 -c "$BURNS" & child=$!
sampling & sampler=$!
disown
wait "$child"
kill -KILL "$sampler"
times > "$metrics.times" && measured_at_end
"""


def seen(*lines: str) -> looks.Seen:
    """As the login node prints it."""
    printed = ["now 1750000000", "run w-1/1", *(f"sample {line}" for line in lines), "end"]
    return looks.read(Answer(0, "\n".join(printed), ""), "install-a")


def test_processor_time_of_a_child_and_memory_are_what_the_process_used(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    env = {"PATH": "/usr/bin:/bin", "BURNS": BURNS}
    subprocess.run(["bash", "-c", RUN], cwd=folder, env=env, check=True, timeout=60)
    lines = (folder / "metrics" / "worker-0.tsv").read_text().splitlines()
    store = LogStore(tmp_path / "data")
    sampled = Sampled(store)
    sampled.take(seen(*(f"metrics/worker-0.tsv:{line}" for line in lines)))
    found = read(store.folder(*KEY, "worker-0"))
    seconds, peak = found.total("cpu"), found.peak("memory")
    assert seconds
    assert 0.75 < seconds < 3.0
    assert peak
    assert 140 * MEBI < peak < 400 * MEBI
    assert "gpu" not in found.names
    assert "received" in found.names


def line(at: float, cpu: float, memory: float = 5e6) -> str:
    return f"metrics/worker-0.tsv:{at:.6f} {cpu:.3f} {memory:.0f} 0 0 40 1048576 0 0"


def test_lines_that_come_again_are_recorded_once_and_a_start_counts_on(tmp_path: Path) -> None:
    store, began = LogStore(tmp_path), 1_750_000_000.0
    sampled = Sampled(store)
    assert sampled.since(KEY) == 0.0
    lines = [line(began + 5 * n, 2.5 * n) for n in range(5)]
    sampled.take(seen(*lines[:3]))
    assert sampled.since(KEY) == began + 10
    sampled.take(seen(*lines[1:4]))
    anew = Sampled(store)
    assert anew.since(KEY) < began + 10
    anew.take(seen(*lines))
    found = read(store.folder(*KEY, "worker-0"))
    assert [point.mean for point in found.points("cpu")] == [0.5] * 4
    assert [row[1] for row in found.rows] == [1] * 5
    assert found.last("gpu") == 40.0


def test_lines_of_no_replica_and_no_figures_are_left_out(tmp_path: Path) -> None:
    store = LogStore(tmp_path)
    Sampled(store).take(
        seen(
            "metrics/../../etc.tsv:1750000000.0 1 1 1 1 - - 1 1",
            "metrics/worker-0.tsv:1750000000.0 nan 1 1 1 - - 1 1",
            "metrics/worker-0.tsv:1750000000.0 1 -5 1 1 - - 1 1",
            "metrics/worker-0.tsv:1750000000.0 1 1",
        )
    )
    assert not store.attempt_folder(*KEY).exists()
