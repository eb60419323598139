"""The form of a resource: Django's ModelForm, drawn by the product's field template."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar

from django import forms
from django.db.models import Case, QuerySet, When
from django.forms.models import construct_instance, model_to_dict

from gangline.access.actor import Actor
from gangline.access.grants import holds, visible_scopes
from gangline.db.versioned import Versioned
from gangline.forms.bound import field_view, in_words, summary
from gangline.forms.fields import SectionView
from gangline.lib.problems import Problem
from gangline.scopes.models import Scope, ScopeKind

from .resource import Resource


@dataclass(frozen=True, slots=True)
class Redrawn:
    """How a button that stores nothing of the form is answered: with its page, or ``template``."""

    template: str = ""
    status: int = 200
    told: str = ""
    """What is said beside it."""


class ResourceForm(forms.ModelForm):  # type: ignore[type-arg]
    """Reads what was typed. The rules run once, in `resources.services`."""

    sections: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Title and fields of each part; empty: all in one."""
    not_edited: ClassVar[frozenset[str]] = frozenset()
    """Fields that are chosen once, when the object is made."""
    copied: ClassVar[tuple[str, ...]] = ()
    """What a copy begins with beside the fields of the form."""
    focus = ""
    """Id of the control that has the focus when the page is drawn again."""
    redrawn = Redrawn()
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, resource: Resource[Any], actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.resource, self.actor = resource, actor
        for name in self.not_edited if self.is_edit else ():
            self.fields[name].disabled = True
        for field in self.fields.values():
            if isinstance(field, forms.ModelChoiceField):
                if field.required:
                    field.empty_label = f"Choose a {str(field.label).lower()}"
                if field.queryset is not None and field.queryset.model is Scope:
                    field.label_from_instance = attrgetter("title")  # type: ignore[assignment]
        if isinstance(self.instance, Versioned):
            self.initial["version"] = self.instance.version
        self.prepare()

    def prepare(self) -> None:
        """Narrow choices to what the actor may choose; set what a new object begins with."""

    @classmethod
    def copy_of(cls, obj: Any) -> dict[str, Any]:
        """Initial values of the form that makes a copy of ``obj``."""
        found = model_to_dict(obj, fields=[*(cls._meta.fields or ()), *cls.copied])
        return {**found, "name": f"{obj.name}-copy"}

    @property
    def is_edit(self) -> bool:
        return not self.instance._state.adding

    def places(self, rows: QuerySet[Any], *, within: str = "scope") -> QuerySet[Any]:
        """Those of ``rows`` in whose scope the actor may do this; ``self``: rows are scopes."""
        permission = self.resource.permission("edit" if self.is_edit else "create")
        if within == "self":
            return rows.filter(pk__in=visible_scopes(self.actor.user, permission))
        return rows.filter(holds(self.actor.user, permission, within))

    def scopes(self) -> QuerySet[Scope]:
        """Where the actor may do this, projects first: what is chosen unasked reaches least far."""
        narrow = Case(When(kind=ScopeKind.PROJECT, then=0), default=1)
        return self.places(Scope.objects.order_by(narrow, "kind", "name"), within="self")

    def _post_clean(self) -> None:
        """ModelForm would judge the instance here; the service does, with everything else.

        What the form itself refuses never gets there: the other values are judged here, so that one
        answer names everything that is wrong.
        """
        if not self.errors:
            return
        trial = construct_instance(self, copy(self.instance), self._meta.fields)
        try:
            trial.clean_fields(exclude=self._get_validation_exclusions())  # type: ignore[attr-defined]
        except forms.ValidationError as error:
            self.add_error(None, error)

    def pressed(self, button: str) -> bool:
        """Carry out a button that changes the form and stores nothing; False: it is none."""
        return False

    def values(self) -> dict[str, Any]:
        """Values of the model's own fields."""
        own = {one.name for one in self._meta.model._meta.concrete_fields}
        return {
            name: value
            for name, value in self.cleaned_data.items()
            if name in own and name != "version"
        }

    def parts(self) -> Mapping[str, Any]:
        """Rows that are stored with the object."""
        return {}

    def differences(self, stored: "ResourceForm") -> list[tuple[str, str, str]]:
        """Label, stored text and posted text of what differs from the form of what is stored."""
        return [
            (str(self[name].label), in_words(stored[name]), in_words(self[name]))
            for name in self.changed_data
            if name in stored.fields and not self[name].is_hidden
        ]

    def refuse(self, problems: list[Problem]) -> None:
        """Put the problems that the service found beside their fields."""
        for problem in problems:
            name = problem.path if problem.path in self.fields else None
            self.add_error(name, problem.told)

    def problems(self) -> list[dict[str, str]]:
        """Every error, for the list at the top of the page."""
        return summary(self) if self.is_bound else []

    def views(self) -> list[SectionView]:
        """What the page draws."""
        visible = [name for name in self.fields if not self[name].is_hidden]
        sections = self.sections or (("", tuple(visible)),)
        named = {name for _, names in sections for name in names}
        rest = tuple(name for name in visible if name not in named)
        return [
            SectionView(
                f"s{number}", title, [field_view(self[n]) for n in names if n in self.fields]
            )
            for number, (title, names) in enumerate((*sections, ("", rest)))
            if any(n in self.fields for n in names)
        ]
