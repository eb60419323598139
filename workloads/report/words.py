"""Figures as people read them."""

from gangline.drivers.metrics.declared import BY_NAME, BYTES, CORES, PERCENT, Metric
from gangline.web import formats


def figure(name: str, value: float | None) -> str:
    """`0.85 cores`, `1.2 GB`, `63 %`, `4 MB/s`."""
    return in_unit(BY_NAME[name], value)


def in_unit(metric: Metric, value: float | None) -> str:
    if value is None:
        return formats.NOTHING
    if metric.unit == CORES:
        return f"{short(value)} {'core' if short(value) == '1' else 'cores'}"
    if metric.unit == BYTES:
        return formats.size(round(value))
    if metric.unit == PERCENT:
        return percent(value)
    return f"{formats.size(round(value))}/s"


def short(value: float) -> str:
    """Three figures at most."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.2g}" if value < 1 else f"{value:.3g}"


def percent(value: float) -> str:
    return f"{value:.0f} %" if value >= 1 or not value else "under 1 %"


def core_time(seconds: float | None) -> str:
    """Core seconds as a length of time."""
    return formats.NOTHING if seconds is None else formats.span(seconds)
