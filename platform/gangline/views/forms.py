"""The form of a saved view."""

from typing import cast

from django import forms

from gangline.access.grants import visible_scopes
from gangline.access.permissions import Permission
from gangline.resources.forms import ResourceForm
from gangline.scopes.models import Scope, ScopeKind
from gangline.tables import saved
from gangline.tables.models import SavedView


class _ProjectField(forms.ModelChoiceField):  # type: ignore[type-arg]  # not generic at run time
    def label_from_instance(self, obj: Scope) -> str:
        return obj.name


class SavedViewForm(ResourceForm):
    sections = (("", ("name", "table", "query")), ("Sharing", ("shared", "scope")))
    not_edited = frozenset({"table"})
    table = forms.ChoiceField()
    scope = _ProjectField(Scope.objects.none(), required=False, label="Project", empty_label="–")

    class Meta:
        model = SavedView
        fields = ("name", "table", "shared", "scope", "query")
        widgets = {"query": forms.TextInput}
        labels = {"query": "What it shows"}
        help_texts = {"query": "The address of the page, after the question mark."}

    def prepare(self) -> None:
        cast(forms.ChoiceField, self.fields["table"]).choices = [
            (name, saved.title_of(name)) for name in saved.names()
        ]
        seen = visible_scopes(self.actor.user, Permission.PROJECT_VIEW)
        projects = cast(_ProjectField, self.fields["scope"])
        projects.queryset = seen.filter(kind=ScopeKind.PROJECT).order_by("name")
