"""GPUs of one pod: whole devices, or a part of each where the cluster's scheduler can share them.

https://github.com/NVIDIA/KAI-Scheduler/tree/main/docs/gpu-sharing
"""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.alias_generators import to_camel

from .base import AtLeast, Default, Limits, Percent, SpecModel, Ui, When
from .types import Quantity, SizeRange

PORTION, MEMORY = "portion", "memory"
MOST = 64


class Gpus(SpecModel):
    """The GPUs that a pod requests."""

    gpu_devices_request: Annotated[
        int | None,
        Field(ge=0, le=MOST),
        Ui("GPU devices per pod", help="0 uses no GPU.", section="compute", unit="GPUs"),
        Default(0),
        Limits("gpuRequestType", {PORTION: (1, MOST), MEMORY: (1, 1)}),
    ] = None
    gpu_request_type: Annotated[
        Literal["portion", "memory"] | None,
        Ui(
            "GPU sharing",
            help="A part of each device, by portion or by memory. Empty: whole devices.",
            section="compute",
            words={PORTION: "By portion", MEMORY: "By memory"},
        ),
    ] = None
    gpu_portion_request: Annotated[
        float | None,
        Field(gt=0, le=1),
        Ui(
            "GPU portion",
            help="Of each device. Not enforced: programs can use more.",
            section="compute",
            unit="%",
            placeholder="50",
        ),
        Percent(),
        When("gpuRequestType", (PORTION,), is_required=True),
    ] = None
    gpu_portion_limit: Annotated[
        float | None,
        Field(gt=0, le=1),
        Ui(
            "GPU portion limit",
            help="What programs may use of each device: they are told, not kept to it.",
            section="compute",
            unit="%",
            advanced=True,
        ),
        Percent(),
        When("gpuRequestType", (PORTION,)),
        AtLeast("gpuPortionRequest"),
    ] = None
    gpu_memory_request: Annotated[
        Quantity | None,
        SizeRange("1M", "1P"),
        Ui(
            "GPU memory",
            help="Of the device. Not enforced: programs can use more.",
            section="compute",
            placeholder="8000",
        ),
        When("gpuRequestType", (MEMORY,), is_required=True),
    ] = None
    gpu_memory_limit: Annotated[
        Quantity | None,
        SizeRange("1M", "1P"),
        Ui(
            "GPU memory limit",
            help="What programs may use of the device: they are told, not kept to it.",
            section="compute",
            advanced=True,
        ),
        When("gpuRequestType", (MEMORY,)),
        AtLeast("gpuMemoryRequest"),
    ] = None


_NAMES = frozenset(to_camel(name) for name in Gpus.model_fields)


def is_gpu_field(path: str) -> bool:
    """Whether the field at ``path`` of a replica requests GPUs."""
    return path.rpartition(".")[2] in _NAMES
