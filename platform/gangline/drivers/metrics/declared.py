"""The metrics: what is measured, in which unit, what clients call it, and how it is shown.

Standard library only: the supervisors of local processes record with it. The order is that of the
columns on disk; new ones go to the end.
"""

from typing import NamedTuple

CORES, BYTES, PERCENT, RATE = "cores", "bytes", "percent", "bytes/s"


class Metric(NamedTuple):
    """``is_shared``: a gang's figure is the mean of its replicas', not their sum."""

    name: str
    label: str
    unit: str
    type: str = ""
    """What it is called in the API; empty: there is no word for it."""
    is_shared: bool = False


METRICS: tuple[Metric, ...] = (
    Metric("cpu", "CPU", CORES, "CPU_USAGE_CORES"),
    Metric("memory", "Memory", BYTES, "CPU_MEMORY_USAGE_BYTES"),
    Metric("gpu", "GPU", PERCENT, "GPU_UTILIZATION", is_shared=True),
    Metric("gpu_memory", "GPU memory", BYTES, "GPU_MEMORY_USAGE_BYTES"),
    Metric("read", "Disk reads", RATE),
    Metric("written", "Disk writes", RATE),
    Metric("received", "Network in", RATE),
    Metric("sent", "Network out", RATE),
)
BY_NAME = {metric.name: metric for metric in METRICS}
NAMES = tuple(BY_NAME)
