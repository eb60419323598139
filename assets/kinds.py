"""The kinds of asset: which fields of the workload spec each of them holds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assets.models import Asset, Compute, Environment
from gangline.lib import problems as problems_lib
from gangline.lib.problems import Refused
from gangline.spec.catalogue import SpecField, catalogue
from gangline.spec.problems import Problem, Role
from gangline.spec.values import validate
from gangline.spec.workload import SPEC


@dataclass(frozen=True)
class AssetKind:
    """``prefix`` and ``section`` choose its fields among those of a replica.

    ``required``: paths without which it is of no use; ``asked``: those that the workload form asks
    for when it makes one.
    """

    model: type[Asset]
    label: str
    word: str
    section: str
    prefix: str = ""
    required: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.model.own_kind

    @cached_property
    def fields(self) -> Mapping[str, SpecField]:
        """By path, in the order of the form."""
        return {
            path: field
            for path, field in catalogue(SPEC.worker).items()
            if field.ui.section == self.section
            and path.startswith(self.prefix)
            and not field.workload_level
        }

    def problems(self, values: Mapping[str, Any]) -> list[Problem]:
        """Everything that is wrong with the values of such an asset."""
        found = validate(SPEC.worker, Role.WORKER, values)
        found += [
            Problem(Role.WORKER, path, "unknown", f"is no field of {self.word}", values[path])
            for path in values
            if path in catalogue(SPEC.worker) and path not in self.fields
        ]
        found += [
            Problem(
                Role.WORKER, path, "required", "is required", label=self.fields[path].label
            )
            for path in self.required
            if values.get(path) in (None, "")
        ]  # fmt: skip
        return found

    def refused(self, problems: Iterable[Problem]) -> Refused:
        """The same for an answer of the API: paths are those of its ``spec``."""
        return Refused(
            [
                problems_lib.Problem(
                    p.rule, f"spec.{p.path.removeprefix(self.prefix)}", {"raw": f"{p.message}."}
                )
                for p in problems
            ]
        )


KINDS = (
    AssetKind(
        Environment,
        "Environment",
        "an environment",
        section="environment",
        required=("image",),
        asked=("image",),
    ),
    AssetKind(
        Compute,
        "Compute resource",
        "a compute resource",
        section="compute",
        prefix="compute.",
        asked=(
            "compute.gpuDevicesRequest",
            "compute.gpuRequestType",
            "compute.gpuPortionRequest",
            "compute.gpuMemoryRequest",
            "compute.cpuCoreRequest",
            "compute.cpuMemoryRequest",
        ),
    ),
)


def kind_of(model: type[Asset]) -> AssetKind:
    return next(kind for kind in KINDS if kind.model is model)
