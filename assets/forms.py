"""The form of an asset: its name and place, and the fields of the workload form that it fills."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.http import QueryDict

from assets.kinds import kind_of
from assets.models import Asset, Compute, Environment
from gangline.forms.fields import FieldView, SectionView, dom_id
from gangline.policies.effective import effective_policy
from gangline.resources.forms import ResourceForm
from gangline.scopes.models import Scope
from gangline.spec.problems import Problem, Role
from gangline.spec_forms.gestures import EDITS, Gesture, edited, settled
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
        )
        values = self.initial.get("values") or self.instance.values
        stored, _ = typed_values({f"{Role.WORKER}.{p}": v for p, v in values.items()})
        self.inputs = self.part.read(self.posted, stored).inputs if self.is_bound else stored
        self.found: Sequence[Problem] = ()
        if self.is_bound:
            given = self.part.said(self.inputs)
            self.spec = {p.partition(".")[2]: v.value for p, v in given.values.items()}
            unread = {problem.path for problem in given.problems}
            judged = [p for p in self.kind.problems(self.spec) if p.path not in unread]
            self.found = [*given.problems, *judged]

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
            {"text": p.sentence, "target": dom_id(p.field_id)} for p in self.found
        ]

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
