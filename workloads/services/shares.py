"""GPUs of which pods take a part each: how many it comes to."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from gangline.spec.gpus import MEMORY, PORTION
from gangline.spec.types import quantity_bytes, size_in_words
from gangline.spec.words import plain_number

_TYPE, _PORTION, _MEMORY = (
    f"compute.{name}" for name in ("gpuRequestType", "gpuPortionRequest", "gpuMemoryRequest")
)
_EXACT = 9


def portion(values: Mapping[str, Any], device: int = 0) -> float:
    """How much of each device a pod takes. ``device``: bytes of one; 0: nobody knows."""
    said = values.get(_PORTION) if values.get(_TYPE) == PORTION else None
    memory = values.get(_MEMORY) if values.get(_TYPE) == MEMORY else None
    if device and isinstance(memory, str):
        said = quantity_bytes(memory) / device
    is_number = isinstance(said, int | float) and not isinstance(said, bool)
    return min(max(float(said), 0.0), 1.0) if is_number and said is not None else 1.0


def whole(devices: float) -> int:
    """Devices that the parts fill together at best."""
    return math.ceil(round(devices, _EXACT))


def in_words(devices: float, roles: Iterable[Mapping[str, Any]]) -> str:
    """ "1.5 GPUs, 0.5 of each"; empty where whole devices are asked for."""
    parts = list(dict.fromkeys(filter(None, map(_part, roles))))
    if not parts or not devices:
        return ""
    number = plain_number(round(devices, _EXACT))
    return f"{number} {'GPU' if devices == 1 else 'GPUs'}, {' and '.join(parts)} of each"


def _part(values: Mapping[str, Any]) -> str:
    if values.get(_TYPE) == PORTION and portion(values) < 1:
        return f"{plain_number(round(portion(values) * 100, 6))} %"
    memory = values.get(_MEMORY) if values.get(_TYPE) == MEMORY else None
    return size_in_words(memory) if isinstance(memory, str) else ""
