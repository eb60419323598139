"""The form of a shelf."""

from django import forms

from gangline.resources.forms import ResourceForm
from gangline.scopes.models import Scope

from .models import Shelf


class ShelfForm(ResourceForm):
    not_edited = frozenset({"scope"})

    class Meta:
        model = Shelf
        fields = ("scope", "name", "description", "width", "code")
        widgets = {"code": forms.PasswordInput}

    def prepare(self) -> None:
        places = self.places(Scope.objects.order_by("kind", "name"), within="self")
        self.fields["scope"].queryset = places  # type: ignore[attr-defined]
