"""What programs learn of the part of a GPU that they may use: no engine holds them to it."""

from collections.abc import Mapping

from gangline.drivers.mapping import Table, To
from gangline.spec.types import quantity_bytes

LIMITS: Table = {
    "compute.gpuPortionLimit": To("gpuLimits|GANGLINE_GPU_PORTION_LIMIT", str),
    "compute.gpuMemoryLimit": To(
        "gpuLimits|GANGLINE_GPU_MEMORY_LIMIT", lambda text: str(quantity_bytes(text))
    ),
}
"""Into variables of its processes: a portion of each device, or bytes of the device."""


def variables(native: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    """What `LIMITS` wrote."""
    return native.get("gpuLimits", {})
