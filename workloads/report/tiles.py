"""What a workload uses now, in a few small lines: for its overview, and per pod."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from gangline.drivers.metrics.declared import BY_NAME, METRICS, Metric
from workloads.selectors.figures import Figures, shown

from . import charts
from .words import figure

SMALL = ("cpu", "memory", "gpu", "gpu_memory")
"""Metrics that have a column in the table of pods."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One metric of all pods together: its newest figure, or its mean once all is over."""

    label: str
    now: str
    of: str
    line: SafeString


def tiles(figures: Figures, *, is_over: bool) -> list[Tile]:
    """One for each metric of which anything is known."""
    found = []
    for name in shown(figures):
        metric, series = BY_NAME[name], figures.whole
        value = series.mean(name) if is_over else series.last(name)
        asked = figures.asked_together.get(name)
        of = f"of {figure(name, asked)} requested" if asked else ""
        now = figure(name, value)
        found.append(
            Tile(
                metric.label,
                f"{now} on average" if is_over else now,
                of,
                charts.spark(name, series, label=f"{metric.label} of all pods"),
            )
        )
    return found


def columns(figures: Figures) -> Sequence[Metric]:
    """Metrics for the table of pods."""
    known = {name for series in figures.by_pod.values() for name in series.names}
    return [metric for metric in METRICS if metric.name in SMALL and metric.name in known]
