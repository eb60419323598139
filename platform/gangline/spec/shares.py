"""GPUs of which pods take a part each: how many it comes to."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from gangline.spec.gpus import MEMORY, PORTION
from gangline.spec.types import quantity_bytes, size_in_words
from gangline.spec.words import plain_number

ASKED = DEVICES, _TYPE, _PORTION, _MEMORY = (
    "compute.gpuDevicesRequest",
    "compute.gpuRequestType",
    "compute.gpuPortionRequest",
    "compute.gpuMemoryRequest",
)
"""Fields of a role that say what each of its pods takes of GPUs."""
_EXACT = 9


def portion(values: Mapping[str, Any], device: int = 0) -> float:
    """How much of each device a pod takes. ``device``: bytes of one; 0: unknown."""
    said = values.get(_PORTION) if values.get(_TYPE) == PORTION else None
    memory = values.get(_MEMORY) if values.get(_TYPE) == MEMORY else None
    if device and isinstance(memory, str):
        said = quantity_bytes(memory) / device
    is_number = isinstance(said, int | float) and not isinstance(said, bool)
    return min(max(float(said), 0.0), 1.0) if is_number and said is not None else 1.0


def of_pod(values: Mapping[str, Any]) -> float:
    """Devices that a pod takes."""
    return int(values.get(DEVICES) or 0) * portion(values)


def of_pod_in_words(values: Mapping[str, Any]) -> str:
    """ "No GPU", "2 GPUs", "0.5 GPUs", "4 GB of 1 GPU"; empty where nothing is said of devices."""
    devices, memory = values.get(DEVICES), values.get(_MEMORY)
    if not isinstance(devices, int):
        return ""
    if devices and values.get(_TYPE) == MEMORY and isinstance(memory, str):
        return f"{size_in_words(memory)} of {_counted(devices)}"
    return _counted(round(of_pod(values), _EXACT)) if devices else "No GPU"


def added(parts: Iterable[float]) -> float:
    """Their sum: three tenths are 0.3."""
    return round(sum(parts), _EXACT)


def whole(devices: float) -> int:
    """Devices that the parts fill together at best."""
    return math.ceil(round(devices, _EXACT))


def in_words(devices: float, roles: Iterable[Mapping[str, Any]]) -> str:
    """ "1.5 GPUs, 0.5 of each"; empty where whole devices are asked for."""
    parts = list(dict.fromkeys(filter(None, map(_part, roles))))
    if not parts or not devices:
        return ""
    return f"{_counted(round(devices, _EXACT))}, {' and '.join(parts)} of each"


def _counted(devices: float) -> str:
    return f"{plain_number(devices)} {'GPU' if devices == 1 else 'GPUs'}"


def _part(values: Mapping[str, Any]) -> str:
    if values.get(_TYPE) == PORTION and portion(values) < 1:
        return f"{plain_number(round(portion(values) * 100, 6))} %"
    memory = values.get(_MEMORY) if values.get(_TYPE) == MEMORY else None
    return size_in_words(memory) if isinstance(memory, str) else ""
