"""Figures of pods, recorded as a supervisor does."""

from pathlib import Path

from django.conf import settings

from gangline.drivers.metrics.recorder import Recorder
from workloads.models import Workload

MEBI = 2**20


def record(
    workload: Workload,
    pod: str,
    *,
    begins: float,
    seconds: int = 60,
    cpu: float = 0.5,
    attempt: int = 1,
    **others: float,
) -> None:
    """A pod that uses the same all the time, sampled each second."""
    folder = Path(settings.GANGLINE.data_dir) / "logs" / str(workload.pk) / str(attempt) / pod
    recorder = Recorder(folder)
    for second in range(seconds):
        recorder.add(begins + second, {"cpu": cpu, "memory": 100.0 * MEBI, **others})
    recorder.close()
