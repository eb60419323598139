"""The form of what may be asked of a storage class."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from django import forms

from assets.forms import PartOfSpec
from gangline.clusters.models import StorageClass
from gangline.clusters.storage_classes import ACCESS, CONFIGURED, MODES, PERMISSIONS, SIZES
from gangline.forms.fields import SectionView
from gangline.policies.effective import effective_policy
from gangline.spec.catalogue import catalogue
from gangline.spec.problems import Problem, Role
from gangline.spec.storage import SIZE_UNITS
from gangline.spec.storage_classes import Parameters
from gangline.spec.values import validate
from gangline.spec.workload import SpecModels
from gangline.spec_forms.spec_form import RoleForm

LIST = "attributes"
MODELS = SpecModels(Parameters, Parameters)
NO_POLICY = effective_policy([], MODELS)


class StorageClassForm(PartOfSpec):
    """Parameters are rows, drawn and judged as lists of the spec are."""

    default_access = forms.MultipleChoiceField(
        label="Preselected",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        choices=[
            (mode, StorageClass._meta.get_field(name).verbose_name)  # type: ignore[union-attr]
            for mode, name in ACCESS.items()
        ],
    )
    size_units = forms.MultipleChoiceField(
        label="Units",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        choices=[(unit, f"{unit}B") for unit in SIZE_UNITS],
        help_text="None selected: all of them.",
    )
    sections: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("", ("description",)),
        ("May be used by", tuple(PERMISSIONS.values())),
        ("Access modes", (*ACCESS.values(), "default_access", "needs_access_mode")),
        ("Volume modes", (*MODES.values(), "default_volume_mode", "needs_volume_mode")),
        ("Size of a volume", (*SIZES.values(), "size_units")),
    )

    class Meta:
        model = StorageClass
        fields: ClassVar[tuple[str, ...]] = (
            "description", *(name for name in CONFIGURED if name != "parameters"),
        )  # fmt: skip
        widgets: ClassVar[dict[str, Any]] = {
            name: forms.TextInput(attrs={"placeholder": "10Gi"}) for name in SIZES.values()
        }

        help_texts: ClassVar[dict[str, Any]] = {
            "data_sharing": "For clients only. Each project still has its own claim.",
        }

    def prepare(self) -> None:
        self.fields["default_volume_mode"].choices = [  # type: ignore[attr-defined]
            ("", "Filesystem, or the one that is allowed"), ("Filesystem", "Filesystem"),
            ("Block", "Block"),
        ]  # fmt: skip
        part = RoleForm(role=Role.WORKER, policy=NO_POLICY, standing={}, models=MODELS)
        self.read_part(part, {LIST: self.instance.parameters})

    def views(self) -> list[SectionView]:
        *own, last = super().views()
        return [*own, replace(last, title="Parameters of volumes")]

    def judged(self, values: Mapping[str, Any]) -> Iterable[Problem]:
        return validate(Parameters, Role.WORKER, values)

    def values(self) -> dict[str, Any]:
        flat = catalogue(Parameters)[LIST].flat
        given = [
            {name: value for name, value in flat(one).items() if value is not None}
            for one in self.spec.get(LIST) or ()
        ]
        return super().values() | {"parameters": given}
