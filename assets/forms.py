"""The form of an asset: its name and place, and the fields of the workload form that it fills."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from assets.kinds import SOURCE_KINDS, kind_of
from assets.models import (
    Asset,
    Compute,
    ConfigMapSource,
    DataSource,
    Environment,
    GitSource,
    HostPathSource,
    NfsSource,
    PvcSource,
    S3Source,
    SecretSource,
)
from gangline.forms.fields import Cell, FieldView, SectionView, dom_id
from gangline.policies.effective import effective_policy
from gangline.resources.forms import ResourceForm
from gangline.scopes.models import Scope
from gangline.spec.catalogue import SpecField
from gangline.spec.problems import Problem, Role
from gangline.spec_forms.gestures import EDITS, Gesture, edited, settled
from gangline.spec_forms.items import item_views
from gangline.spec_forms.posted import ROWS
from gangline.spec_forms.raw import RoleInputs, Row
from gangline.spec_forms.said import typed_values
from gangline.spec_forms.spec_form import RoleForm
from gangline.spec_forms.words import in_words


class AssetForm(ResourceForm):
    not_edited = frozenset({"scope"})
    copied = ("values",)

    class Meta:
        model: type[Asset] = Asset
        fields = ("name", "description", "scope")

    def __init__(self, *args: Any, part: RoleForm | None = None, **kwargs: Any) -> None:
        self.given_part = part
        super().__init__(*args, **kwargs)

    def prepare(self) -> None:
        places = self.places(Scope.objects.order_by("kind", "name"), within="self")
        field = self.fields["scope"]
        field.queryset, field.empty_label = places, None  # type: ignore[attr-defined]
        self.kind = kind_of(self._meta.model)
        self.part = self.given_part or RoleForm(
            role=Role.WORKER,
            policy=effective_policy([]),
            standing={},
            only=frozenset(self.kind.fields),
            is_author=True,
        )
        values = self.initial.get("values") or self.instance.values
        stored = self.stored(values)
        self.inputs = self.part.read(self.posted, stored).inputs if self.is_bound else stored
        self.found: Sequence[Problem] = ()
        if self.is_bound:
            given = self.part.said(self.inputs)
            self.spec = {p.partition(".")[2]: v.value for p, v in given.values.items()}
            unread = {problem.path for problem in given.problems}
            judged = [p for p in self.kind.problems(self.spec) if p.path not in unread]
            self.found = [*given.problems, *judged]

    def stored(self, values: Mapping[str, Any]) -> RoleInputs:
        """The asset's values as if they had been typed."""
        inputs, _ = typed_values({f"{Role.WORKER}.{p}": v for p, v in values.items()})
        return inputs

    @property
    def posted(self) -> QueryDict:
        if not isinstance(self.data, QueryDict):
            raise TypeError("a form of an asset is posted by a browser")
        return self.data

    def is_valid(self) -> bool:
        return super().is_valid() and not self.found

    def pressed(self, text: str) -> bool:
        gesture = Gesture.of(text)
        if gesture.verb not in EDITS:
            return False
        inputs, self.focus = edited(self.part, self.inputs, gesture)
        self.inputs, self.found = settled(inputs), ()
        return True

    def values(self) -> dict[str, Any]:
        return super().values() | {"values": self.spec}

    def differences(self, stored: ResourceForm) -> list[tuple[str, str, str]]:
        before, after = self._words(stored.instance.values), self._words(self.spec)
        return super().differences(stored) + [
            (field.label, before[path], after[path])
            for path, field in self.kind.fields.items()
            if before[path] != after[path]
        ]

    def _words(self, values: Mapping[str, Any]) -> dict[str, str]:
        return {path: in_words(field, values.get(path)) for path, field in self.kind.fields.items()}

    def problems(self) -> list[dict[str, str]]:
        return super().problems() + [
            {"text": p.sentence, "target": self.target(p)} for p in self.found
        ]

    def target(self, problem: Problem) -> str:
        """Id of the control that a problem is about."""
        return dom_id(problem.field_id)

    def views(self) -> list[SectionView]:
        own = [
            replace(section, fields=[self._marked(view) for view in section.fields])
            for section in self.part.sections(self.inputs, self.found)
        ]
        return [*super().views(), *own]

    def _marked(self, view: FieldView) -> FieldView:
        is_required = view.path.partition(".")[2] in self.kind.required
        return replace(view, required=True) if is_required else view


class EnvironmentForm(AssetForm):
    class Meta(AssetForm.Meta):
        model = Environment


class ComputeForm(AssetForm):
    class Meta(AssetForm.Meta):
        model = Compute


FIXED = "Where the data is cannot be changed: create another data source for another place."
ROW = "item"
"""Id of the one row that the form of a data source has."""


class DataSourceForm(AssetForm):
    """The row of the workload form as a form of its own. What was made is only renamed."""

    class Meta(AssetForm.Meta):
        model: type[Asset] = DataSource

    def prepare(self) -> None:
        super().prepare()
        # The one row that is posted.
        self.fields[f"{Role.WORKER}.{self.kind.item}{ROWS}"] = forms.CharField(
            required=False, initial=ROW, widget=forms.HiddenInput
        )

    def stored(self, values: Mapping[str, Any]) -> RoleInputs:
        path, inputs = self.kind.item, RoleInputs()
        if path in values:
            named = {f"{Role.WORKER}.{path}": [self.kind.named(values)]}
            inputs, _ = typed_values(named)
        texts = inputs.lists[path][0].texts if inputs.lists else {}
        return inputs.with_rows(path, [Row(ROW, texts)])

    def values(self) -> dict[str, Any]:
        """On an edit, and while nothing is typed, what there is."""
        if self.is_edit:
            return {n: v for n, v in super().values().items() if n != "values"}
        item = dict(self.kind.item_of(self.spec))
        item.pop(self._spec.item_key, None)
        return super().values() | {"values": {self.kind.item: [item]}}

    def is_valid(self) -> bool:
        labels = {one.path: one.label for one in self._spec.items}
        known = [one.at(label=labels[self._attribute(one)]) for one in self.found]
        self.found = () if self.is_edit else known
        return super().is_valid()

    def differences(self, stored: ResourceForm) -> list[tuple[str, str, str]]:
        """What cannot be changed never differs."""
        return super(AssetForm, self).differences(stored)

    def target(self, problem: Problem) -> str:
        return dom_id(self._name(self._attribute(problem)))

    def views(self) -> list[SectionView]:
        fields = self._fields()
        if self.is_edit:
            # Workloads hold on to it: only what it is called can change.
            fields = [self._fixed(field) for field in fields if field.text]
            fields[:1] = [replace(field, help=FIXED) for field in fields[:1]]
        return [*ResourceForm.views(self), SectionView("s-source", self.kind.label, fields)]

    def _fixed(self, field: FieldView) -> FieldView:
        said = ("Yes" if field.checked else "No") if field.control == "tick" else field.text
        unit = next((one.word for one in field.units if one.selected), "")
        words = next((one.word for one in field.options if one.selected), said)
        return FieldView(
            path=field.path,
            label=field.label,
            control="fixed",
            text=f"{words} {unit}".strip(),
        )

    @property
    def _spec(self) -> SpecField:
        return self.kind.fields[self.kind.item]

    def _name(self, attribute: str) -> str:
        return f"{Role.WORKER}.{self.kind.item}~{ROW}.{attribute}"

    def _attribute(self, problem: Problem) -> str:
        """That which a problem is about; the first one where it is about all of them."""
        told = problem.path.removeprefix(self.kind.wire_prefix)
        known = {one.path for one in self._spec.items}
        return told if told in known else self.kind.attributes[0].path

    def _fields(self) -> list[FieldView]:
        path = f"{Role.WORKER}.{self.kind.item}"
        (row,) = item_views(
            path,
            self._spec,
            rows=self.inputs.lists.get(self.kind.item, ()),
            standing=(),
            sent=(),
            problems=(),
            choices=self.part.notes[self.kind.item].choices
            if self.kind.item in self.part.notes
            else {},
        )
        told: dict[str, list[str]] = {}
        for problem in self.found:
            told.setdefault(self._attribute(problem), []).append(problem.sentence)
        cells = zip(self._spec.items, row.cells, strict=True)
        return [
            self._field(spec, cell, tuple(told.get(spec.path, ())))
            for spec, cell in cells
            if spec in self.kind.attributes
        ]

    def _field(self, spec: SpecField, cell: Cell, errors: tuple[str, ...]) -> FieldView:
        control = {"check": "tick"}.get(cell.control, cell.control)
        return FieldView(
            path=cell.name,
            label=f"{cell.group}: {cell.word.lower()}" if cell.group else cell.word,
            control=control,
            name=cell.name,
            text=cell.text,
            checked=cell.text == "true",
            units=cell.units,
            options=tuple(
                option if option.value else replace(option, word="Not set")
                for option in cell.options
            ),
            placeholder=cell.placeholder,
            help=spec.ui.help,
            mono=True,
            roomy=True,
            required=spec.required,
            errors=errors,
        )


class NfsSourceForm(DataSourceForm):
    class Meta(AssetForm.Meta):
        model = NfsSource


class PvcSourceForm(DataSourceForm):
    class Meta(AssetForm.Meta):
        model = PvcSource


class S3SourceForm(DataSourceForm):
    class Meta(AssetForm.Meta):
        model = S3Source


class GitSourceForm(DataSourceForm):
    class Meta(AssetForm.Meta):
        model = GitSource


class HostPathSourceForm(DataSourceForm):
    class Meta(AssetForm.Meta):
        model = HostPathSource


class ConfigMapSourceForm(DataSourceForm):
    class Meta(AssetForm.Meta):
        model = ConfigMapSource


class SecretSourceForm(DataSourceForm):
    class Meta(AssetForm.Meta):
        model = SecretSource


class TypeForm(ResourceForm):
    """Which type of data source: each has a form of its own."""

    class Meta:
        model = DataSource
        fields = ()

    kinds = SOURCE_KINDS

    def clean(self) -> dict[str, Any]:
        raise ValidationError("Choose a type of data source.", code="required")
