"""Sums of Kubernetes quantities.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from gangline.lib.sizes import bytes_in_words
from gangline.spec.types import QUANTITY_UNITS

MOST = Decimal(2**63 - 1)
"""No quantity of Kubernetes is larger, however it is written."""
GPU = "nvidia.com/gpu"
"""What most nodes call a GPU."""
_QUANTITY = re.compile(
    r"([0-9]{1,100}(?:\.[0-9]{0,100})?(?:[eE][-+]?[0-9]{1,2})?)(m|k|[MGTPE]|[KMGTPE]i)?"
)
_MILLI = Decimal(1) / 1000
_SMALL = {"n": 1e-9, "u": 1e-6}
_WORDS = {"cpu": "CPU core", "pods": "pod"}
_BYTES = {"memory": "memory", "ephemeral-storage": "disk"}


def amount(quantity: Any) -> Decimal:
    """Its number in cores, bytes or pieces; 0 for what cannot be read."""
    match = _QUANTITY.fullmatch(str(quantity))
    if match is None:
        return Decimal(0)
    unit = match[2] or ""
    return min(Decimal(match[1]) * (_MILLI if unit == "m" else QUANTITY_UNITS[unit]), MOST)


def precise(quantity: Any) -> float:
    """The same with the small units in which metrics servers write: ``156340n``, ``12u``."""
    text = str(quantity)
    for unit, size in _SMALL.items():
        if text.endswith(unit):
            return float(amount(text[:-1])) * size
    return float(amount(text))


def total(parts: Iterable[tuple[int, Mapping[str, Any]]]) -> dict[str, str]:
    """The sum of so many times such resources each, as quantities without units but ``m``."""
    sums: dict[str, Decimal] = {}
    for count, resources in parts:
        for name, quantity in resources.items():
            sums[name] = sums.get(name, Decimal(0)) + count * amount(quantity)
    return {name: _plain(number) for name, number in sorted(sums.items())}


def requested(container: Mapping[str, Any]) -> dict[str, Any]:
    """What a container asks for: its requests, and its limits where it has no request."""
    resources = container.get("resources") or {}
    return {**(resources.get("limits") or {}), **(resources.get("requests") or {})}


def bare(resource: str, number: Decimal) -> str:
    """The number alone, without what it counts: "8", "3.2 GB"."""
    return bytes_in_words(int(number)) if resource in _BYTES else _plain_number(number)


def is_gpu(resource: str) -> bool:
    """Whether an extended resource counts as GPUs: ``nvidia.com/gpu``, ``amd.com/gpu``."""
    return resource.endswith("/gpu")


def in_words(resource: str, number: Decimal) -> str:
    """ "8 GPUs", "1.5 CPU cores", "3.2 GB of memory", "2 of rdma/hca"."""
    if resource in _BYTES:
        return f"{bytes_in_words(int(number))} of {_BYTES[resource]}"
    plain = _plain_number(number)
    word = "GPU" if is_gpu(resource) else _WORDS.get(resource)
    if word is None:
        return f"{plain} of {resource}"
    return f"{plain} {word if number == 1 else f'{word}s'}"


def _plain(number: Decimal) -> str:
    if number == number.to_integral_value():
        return str(int(number))
    return f"{int((number / _MILLI).to_integral_value())}m"


def _plain_number(number: Decimal) -> str:
    return format(number.normalize(), "f")
