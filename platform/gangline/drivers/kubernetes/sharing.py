"""Parts of GPUs, for the schedulers that can give them out.

https://github.com/NVIDIA/KAI-Scheduler/tree/main/docs/gpu-sharing
"""

import math
from collections.abc import Mapping
from typing import Any

from gangline.spec.gpus import MEMORY, PORTION
from gangline.spec.types import quantity_bytes

FIELDS = frozenset(
    f"compute.{name}" for name in ("gpuRequestType", "gpuPortionRequest", "gpuMemoryRequest")
)


def whole_only(title: str) -> dict[str, str]:
    """The reason for each of the fields under a scheduler that gives out whole GPUs."""
    return dict.fromkeys(FIELDS, f"{title} gives out whole GPUs; KAI Scheduler can share them.")


def annotations(native: Mapping[str, Any]) -> dict[str, str]:
    """What KAI reads of a pod; empty for whole devices. The pod then has no GPU as a resource."""
    share, devices = native.get("share") or {}, int(native.get("gpus") or 0)
    match share.get("type"):
        case kind if kind == PORTION and devices:
            more = {"gpu-fraction-num-devices": str(devices)} if devices > 1 else {}
            return {"gpu-fraction": f"{share['portion']:g}", **more}
        case kind if kind == MEMORY and devices:
            return {"gpu-memory": str(math.ceil(quantity_bytes(share["memory"]) / 2**20))}
        case _:
            return {}
