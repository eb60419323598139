"""The form of an asset: its name and place, and the fields of the workload form that it fills."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.utils import ErrorDict
from django.http import QueryDict

from assets import claims, trials
from assets.credentials.references import naming
from assets.credentials.within import MakesCredentials, chosen, texts_of
from assets.kinds import SOURCE_KINDS, AssetKind, kind_of
from assets.models import Asset, Compute, DataSource, Environment
from gangline.clusters.trial_forms import Tested
from gangline.drivers.facts import FieldNote
from gangline.drivers.trials.places import Failed, Place
from gangline.forms.fields import Cell, FieldView, ItemView, SectionView, dom_id
from gangline.policies.effective import effective_policy
from gangline.resources.forms import ResourceForm
from gangline.scopes.models import Scope
from gangline.spec.catalogue import SpecField
from gangline.spec.frameworks import PROGRAMS
from gangline.spec.problems import Problem, Role
from gangline.spec_forms.dependent_rows import NO_NOTE
from gangline.spec_forms.form_actions import EDITS, FormAction, edited, settled
from gangline.spec_forms.items import item_views
from gangline.spec_forms.posted import ROWS
from gangline.spec_forms.raw import RoleInputs, Row
from gangline.spec_forms.said import typed_values
from gangline.spec_forms.spec_form import RoleForm
from gangline.spec_forms.words import in_words

SPEC = "spec."
"""Begins the paths of problems with values, as clients know them."""
APPLY = "apply"
"""Verb of the button that only draws the form anew, as one choice has others follow."""


class PartOfSpec(ResourceForm):
    """A form with fields of a spec beside its own: they are drawn and judged as in a workload's."""

    part: RoleForm
    found: Sequence[Problem] = ()
    """What is wrong with them."""
    spec: Mapping[str, Any]
    """Their values, once something was posted."""

    def read_part(self, part: RoleForm, values: Mapping[str, Any]) -> None:
        self.part = part
        stored = self.stored(values)
        self.inputs = part.read(self.posted, stored).inputs if self.is_bound else stored
        if self.is_bound:
            given = part.said(self.inputs)
            self.spec = {p.partition(".")[2]: v.value for p, v in given.values.items()}
            unread = {problem.path for problem in given.problems}
            judged = [p for p in self.judged(self.spec) if p.path not in unread]
            self.found = [*given.problems, *judged]

    def judged(self, values: Mapping[str, Any]) -> Iterable[Problem]:
        """What is wrong with values that could be read."""
        raise NotImplementedError

    def stored(self, values: Mapping[str, Any]) -> RoleInputs:
        """The values of the object as if they had been typed."""
        given = {f"{Role.WORKER}.{path}": value for path, value in values.items()}
        return typed_values(given, models=self.part.models)[0]

    @property
    def posted(self) -> QueryDict:
        if not isinstance(self.data, QueryDict):
            raise TypeError("a form with fields of a spec is posted by a browser")
        return self.data

    def is_valid(self) -> bool:
        return super().is_valid() and not self.found

    def pressed(self, text: str) -> bool:
        form_action = FormAction.of(text)
        if form_action.verb == APPLY:
            self.found, self._errors = (), ErrorDict()
            return True
        if form_action.verb not in EDITS:
            return super().pressed(text)
        inputs, self.focus = edited(self.part, self.inputs, form_action)
        self.inputs, self.found = settled(inputs), ()
        return True

    def problems(self) -> list[dict[str, str]]:
        return super().problems() + [
            {"text": p.sentence, "target": self.target(p)} for p in self.found
        ]

    def target(self, problem: Problem) -> str:
        """Id of the control that a problem is about."""
        return dom_id(problem.field_id)

    def views(self) -> list[SectionView]:
        return [*super().views(), *self.part.sections(self.inputs, self.found)]


class AssetForm(MakesCredentials, PartOfSpec):
    not_edited = frozenset({"scope"})
    copied = ("values",)

    class Meta:
        model: type[Asset] = Asset
        fields: tuple[str, ...] = ("name", "description", "scope")

    def __init__(self, *args: Any, part: RoleForm | None = None, **kwargs: Any) -> None:
        self.given_part = part
        super().__init__(*args, **kwargs)

    def prepare(self) -> None:
        places = self.scopes()
        field = self.fields["scope"]
        field.queryset, field.empty_label = places, None  # type: ignore[attr-defined]
        self.kind = kind_of(self._meta.model)
        part = self.given_part or RoleForm(
            role=Role.WORKER,
            policy=effective_policy([]),
            standing={},
            only=frozenset(self.kind.fields),
            is_author=True,
        )
        self.own_notes = {**part.notes, **self.notes()}
        self.read_part(
            replace(
                part,
                notes=self.with_choices(self.own_notes),
                makers=self.makers(Role.WORKER) if self._names_credentials else {},
            ),
            self.initial.get("values") or self.instance.values,
        )

    def take(self, role: Role, path: str, made: Any) -> str:
        self.part = replace(self.part, notes=self.with_choices(self.own_notes))
        self.inputs = self.naming(path, made)
        return dom_id(f"{role}.{path}")

    def naming(self, path: str, made: Any) -> RoleInputs:
        """What is typed, with the credential named in the list."""
        return chosen(self.inputs, path, made)

    def nothing_is_wrong(self) -> None:
        self.found, self._errors = (), ErrorDict()

    def notes(self) -> Mapping[str, FieldNote]:
        """What the clusters say about the fields, beside what the workload's form knows."""
        return {}

    @property
    def place(self) -> Scope | None:
        """Where it will hold, as far as that is chosen."""
        if self.is_edit:
            return self.instance.scope  # type: ignore[no-any-return]
        chosen = str(self.data.get("scope") or self.initial.get("scope") or "")
        return self.scopes().filter(pk=int(chosen)).first() if chosen.isdecimal() else None

    @property
    def where(self) -> Scope | None:
        """The place, and until one is chosen the first, which the page shows as chosen."""
        return self.place or self.fields["scope"].queryset.first()  # type: ignore[attr-defined]

    @property
    def draws_anew(self) -> bool:
        """Whether fields follow from others, for which the page is drawn again."""
        return not self.is_edit and self._names_credentials

    @property
    def _names_credentials(self) -> bool:
        """Whether the credentials to choose from depend on the place."""
        asked = self.given_part.only if self.given_part else self.kind.fields
        return any(path in (asked or ()) for path in naming())

    def judged(self, values: Mapping[str, Any]) -> Iterable[Problem]:
        return self.kind.problems(values)

    def refuse(self, problems: list[Problem]) -> None:
        """What is wrong with the values stands at their fields."""
        ours = [one for one in problems if one.path.startswith(SPEC)]
        prefix = self.kind.wire_prefix
        at = [p.at(role=Role.WORKER, path=prefix + p.path.removeprefix(SPEC)) for p in ours]
        self.found = [*self.found, *at]
        super().refuse([one for one in problems if one not in ours])

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

    def views(self) -> list[SectionView]:
        return [
            replace(section, fields=[self._marked(view) for view in section.fields])
            for section in super().views()
        ]

    def _marked(self, view: FieldView) -> FieldView:
        if view.path == "scope" and self.draws_anew:
            return replace(view, applies=True)
        is_required = view.path.partition(".")[2] in self.kind.required
        return replace(view, required=True) if is_required else view


class EnvironmentForm(AssetForm):
    class Meta(AssetForm.Meta):
        model = Environment
        fields = ("name", "description", "scope", "framework")

    def prepare(self) -> None:
        super().prepare()
        programs = [(one.name, one.label) for one in PROGRAMS.values()]
        choices = [("", "Any framework"), *programs]
        self.fields["framework"].choices = choices  # type: ignore[attr-defined]


class ComputeForm(AssetForm):
    class Meta(AssetForm.Meta):
        model = Compute


FIXED = "The location of the data cannot be changed. Create another data source instead."
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

    def naming(self, path: str, made: Any) -> RoleInputs:
        (row,) = self.inputs.lists[path]
        named = replace(row, texts={**row.texts, **texts_of(path, made)})
        return self.inputs.with_rows(path, [named])

    def take(self, role: Role, path: str, made: Any) -> str:
        super().take(role, path, made)
        _, (attribute, *_) = naming()[path]
        return dom_id(self._name(attribute.path))

    def values(self) -> dict[str, Any]:
        """On an edit, and while nothing is typed, what there is."""
        if self.is_edit:
            return {n: v for n, v in super().values().items() if n != "values"}
        item = dict(self.kind.item_of(self.spec))
        item.pop(self._spec.item_key, None)
        return super().values() | {"values": {self.kind.item: [item]}}

    def is_valid(self) -> bool:
        labels = {one.path: one.label for one in self._spec.items}
        known = [one.at(label=labels.get(self._attribute(one), one.label)) for one in self.found]
        self.found = () if self.is_edit else known
        return super().is_valid()

    def differences(self, stored: ResourceForm) -> list[tuple[str, str, str]]:
        """What cannot be changed never differs."""
        return super(AssetForm, self).differences(stored)

    def target(self, problem: Problem) -> str:
        return dom_id(self._name(self._attribute(problem)))

    def views(self) -> list[SectionView]:
        found = [
            replace(section, fields=[self._marked(view) for view in section.fields])
            for section in ResourceForm.views(self)
        ]
        if self.is_edit:
            # Workloads hold on to it: only what it is called can change.
            fields = [self._fixed(field) for field in self._fields(self._row()) if field.text]
            fields[:1] = [replace(field, help=FIXED) for field in fields[:1]]
            return [*found, SectionView("s-source", self.kind.label, fields)]
        row = self._row()
        for one in row.carried:
            self.fields[one.name] = forms.CharField(
                required=False, initial=one.text, disabled=True, widget=forms.HiddenInput
            )
        return [*found, SectionView("s-source", self.kind.label, self._fields(row))]

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

    def to_try(self, scope: Scope) -> Place:
        """Where its data is, as typed; its name and container path do not matter yet."""
        later = (self._spec.item_key, "path")
        wrong = [one for one in self.found if self._attribute(one) not in later]
        if wrong:
            raise Failed("values", said=wrong[0].sentence)
        return trials.of_source(self.actor, self.kind.key, self.kind.item_of(self.spec), scope)

    def _attribute(self, problem: Problem) -> str:
        """That which a problem is about; the first one where it is about all of them."""
        told = problem.path.removeprefix(self.kind.wire_prefix)
        known = {one.path for one in self._spec.items} | {c.attribute for c in self._row().cells}
        return told if told in known else self.kind.attributes[0].path

    def _row(self) -> ItemView:
        path, note = f"{Role.WORKER}.{self.kind.item}", self.part.notes.get(self.kind.item)
        (row,) = item_views(
            path,
            self._spec,
            rows=self.inputs.lists.get(self.kind.item, ()),
            standing=(),
            sent=(),
            problems=(),
            choices=note.choices if note else {},
            note=note or NO_NOTE,
        )
        return row

    def _fields(self, row: ItemView) -> list[FieldView]:
        told: dict[str, list[str]] = {}
        for problem in self.found:
            told.setdefault(self._attribute(problem), []).append(problem.sentence)
        left_out = (self._spec.item_key, *self.kind.without)
        return [
            self._field(self._spec.attribute(cell.attribute), cell, tuple(errors))
            for cell in row.cells
            if cell.attribute not in left_out
            for errors in (told.get(cell.attribute, ()),)
        ]

    def _field(self, spec: SpecField | None, cell: Cell, errors: tuple[str, ...]) -> FieldView:
        control = {"check": "tick"}.get(cell.control, cell.control)
        makes = spec is not None and spec.credential is not None
        add, add_label = self.part.makers.get(self.kind.item, ("", "")) if makes else ("", "")
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
            help=" ".join(filter(None, (spec.ui.help if spec else "", cell.hint))),
            mono=True,
            roomy=True,
            required=spec.required if spec else cell.required,
            applies=cell.applies,
            errors=errors,
            add=add,
            add_label=add_label,
            add_icon="key",
            needs=cell.needs,
        )


class PvcSourceForm(DataSourceForm):
    """What a claim can be depends on its storage class, and on the cluster."""

    @property
    def draws_anew(self) -> bool:
        """Whether fields follow from others, for which the page is drawn again."""
        return not self.is_edit

    def notes(self) -> Mapping[str, FieldNote]:
        place = self.place
        return {self.kind.item: claims.note_for(place)} if place else {}

    def _field(self, spec: SpecField | None, cell: Cell, errors: tuple[str, ...]) -> FieldView:
        view, place = super()._field(spec, cell, errors), self.where
        (row,) = self.inputs.lists[self.kind.item]
        is_there = spec is not None and row.texts.get("existingPvc") == "true"
        if spec is None or spec.path != "claimName" or not is_there or place is None:
            return view
        return replace(view, suggestions=tuple(claims.existing(place)))

    def judged(self, values: Mapping[str, Any]) -> Iterable[Problem]:
        place = self.place
        if place is None:
            return super().judged(values)
        whole = claims.completed(self.kind, values, place)
        return super().judged(whole) or list(claims.problems(self.kind, whole, place))


class TestedSourceForm(DataSourceForm, Tested):
    """Whether the data is there can be tried before it is stored."""


@cache
def source_form(kind: AssetKind) -> type[DataSourceForm]:
    """The form of a type of data source."""
    base = TestedSourceForm if kind.key in trials.SOURCES else DataSourceForm
    if kind.key == Asset.Kind.PVC:
        base = PvcSourceForm
    return forms.modelform_factory(kind.model, form=base)  # type: ignore[return-value]


class TypeForm(ResourceForm):
    """Which type of data source: each has a form of its own."""

    class Meta:
        model = DataSource
        fields = ()

    kinds = SOURCE_KINDS

    def clean(self) -> dict[str, Any]:
        raise ValidationError("Choose a type of data source.", code="required")
