"""What one pod takes of a node."""

from typing import Annotated

from pydantic import Field

from .base import AtLeast, Default, ItemKey, Ui
from .gpus import Gpus
from .placement import ExtendedResource
from .types import Quantity, SizeRange


class Compute(Gpus):
    """Resources of one pod."""

    cpu_core_request: Annotated[
        float | None,
        Field(ge=0.001, le=1024),
        Ui(
            "CPU request",
            help="Cores reserved for each pod.",
            section="compute",
            unit="cores",
            placeholder="0.1 by default",
        ),
        Default(0.1),
    ] = None
    cpu_core_limit: Annotated[
        float | None,
        Field(ge=0.001, le=1024),
        Ui(
            "CPU limit",
            help="Upper limit. Empty: no limit.",
            section="compute",
            unit="cores",
            placeholder="Auto",
            advanced=True,
        ),
        AtLeast("cpuCoreRequest"),
    ] = None
    cpu_memory_request: Annotated[
        Quantity | None,
        SizeRange("1M", "1P"),
        Ui(
            "Memory request",
            help="Memory reserved for each pod; it can use more.",
            section="compute",
            placeholder="100 by default",
        ),
        Default("100M"),
    ] = None
    cpu_memory_limit: Annotated[
        Quantity | None,
        SizeRange("1M", "1P"),
        Ui(
            "Memory limit",
            help="A pod that uses more is killed. Empty: no limit of its own.",
            section="compute",
            placeholder="Auto",
            advanced=True,
        ),
        AtLeast("cpuMemoryRequest"),
    ] = None
    large_shm_request: Annotated[
        bool | None,
        Ui(
            "Large shared memory",
            help="Lets /dev/shm grow up to the memory limit instead of 64 MB.",
            section="compute",
        ),
    ] = None
    extended_resources: Annotated[
        list[ExtendedResource] | None,
        Field(max_length=16),
        Ui(
            "Extended resources",
            help="Other resources of device plugins, per pod.",
            section="compute",
            flag="extended-resource",
            item="extended resource",
        ),
        ItemKey("resource"),
    ] = None
