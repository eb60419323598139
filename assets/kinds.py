"""The kinds of asset: which fields of the workload spec each of them holds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.utils.text import capfirst

from assets.models import SOURCE_TYPES, SOURCES, Asset, Compute, DataVolume, Environment
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
    item: str = ""
    """Path of the list of which such an asset is one item; empty: it fills fields of its own."""
    resource: str = ""
    """Key of its resource, where that is not ``key``."""
    wire: str = ""
    """Its name in answers that list several kinds."""
    path: str = ""
    """Of a data source: the last part of its address in the API."""
    about: str = ""
    """What it is, where the help of the list says something else."""
    without: tuple[str, ...] = ()
    """Attributes of the item that such an asset does not have."""

    @property
    def key(self) -> str:
        return self.model.own_kind

    @property
    def resource_key(self) -> str:
        return self.resource or self.key

    @property
    def wire_prefix(self) -> str:
        """What the paths of problems have before those of its ``spec``."""
        return f"{self.item}.0." if self.item else self.prefix

    @property
    def help(self) -> str:
        """What such an item is, in the words of the form."""
        return self.about or self.fields[self.item].ui.help if self.item else ""

    @cached_property
    def attributes(self) -> tuple[SpecField, ...]:
        """What such an item says, without its name: that is the asset's."""
        spec = self.fields[self.item]
        left_out = (spec.item_key, *self.without)
        return tuple(one for one in spec.items if one.path not in left_out)

    @property
    def key_name(self) -> str:
        """The attribute by which items of its list are told apart."""
        return self.fields[self.item].item_key

    def item_of(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The one item that an asset holds; empty where it has none."""
        items = values.get(self.item) or [{}]
        return items[0] if isinstance(items[0], Mapping) else {}

    @cached_property
    def fields(self) -> Mapping[str, SpecField]:
        """By path, in the order of the form."""
        return {
            path: field
            for path, field in catalogue(SPEC.worker).items()
            if (path == self.item if self.item else self._holds(path, field))
        }

    def _holds(self, path: str, field: SpecField) -> bool:
        is_its_own = field.ui.section == self.section and path.startswith(self.prefix)
        return is_its_own and not field.workload_level

    def problems(self, values: Mapping[str, Any]) -> list[Problem]:
        """Everything that is wrong with the values of such an asset."""
        judged = {**values, self.item: [self.named(values)]} if self.item else values
        found = validate(SPEC.worker, Role.WORKER, judged)
        found += [
            Problem.of(Role.WORKER, path, "unknown:kind", kind=self.word, value=values[path])
            for path in values
            if path in catalogue(SPEC.worker) and path not in self.fields
        ]
        found += [
            Problem.of(Role.WORKER, f"{self.item}.0.{name}", "unknown:kind", kind=self.word)
            for name in self.without
            if self.item_of(values).get(name)
        ]
        found += [
            Problem.of(
                Role.WORKER, path, "required", label=self.fields[path].label
            )
            for path in self.required
            if values.get(path) in (None, "")
        ]  # fmt: skip
        return found

    def named(self, values: Mapping[str, Any], name: str = "source") -> dict[str, Any]:
        """The item under a name, as a workload has it."""
        return {**self.item_of(values), self.key_name: name}

    def refused(self, problems: Iterable[Problem]) -> Refused:
        """The same for an answer of the API: paths are those of its ``spec``."""
        return Refused([self._wired(problem) for problem in problems])

    def _wired(self, problem: Problem) -> problems_lib.Problem:
        path = f"spec.{problem.path.removeprefix(self.wire_prefix)}"
        return problem.at(path=path)


_CLAIM: Mapping[str, Any] = {
    "about": (
        "A claim on storage of the cluster: a new one, created immediately, or an existing one."
    ),
    "without": ("ephemeral",),
}
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
    *(
        AssetKind(
            SOURCES[one.kind],
            capfirst(one.noun),
            f"{one.article} {one.words}",
            section="data",
            item=f"storage.{one.field or one.kind}",
            resource=one.key,
            wire=one.wire or one.kind,
            path=one.path or one.kind,
            **(_CLAIM if one.kind == Asset.Kind.PVC else {}),
        )
        for one in SOURCE_TYPES
    ),
    AssetKind(
        DataVolume,
        "Data volume",
        "a data volume",
        section="data",
        item="storage.dataVolume",
        resource="data_volume",
        wire="data_volume",
    ),
)

DATA_KINDS = tuple(kind for kind in KINDS if kind.item)
"""Of these a workload takes as many as it likes: data sources of every type and data volumes."""
SOURCE_KINDS = tuple(kind for kind in DATA_KINDS if kind.model is not DataVolume)
"""Types of data source."""


def kind_of(model: type[Asset]) -> AssetKind:
    return next(kind for kind in KINDS if kind.model is model)


def kind_of_asset(asset: Asset) -> AssetKind:
    """The kind of an asset that was read as one of several."""
    return next(kind for kind in KINDS if kind.key == asset.kind)
