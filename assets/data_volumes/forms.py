"""The form of a data volume."""

from collections.abc import Mapping
from typing import Any

from django import forms

from assets.data_volumes.sharing import cluster_of
from assets.models import DataVolume, PvcSource
from assets.selectors.data import claim_of
from gangline.access.grants import visible_scopes
from gangline.resources.forms import ResourceForm
from gangline.scopes.models import Scope, ScopeKind


class _Origin(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.name} ({claim_of(obj)}) of {obj.scope}"


class _Scopes(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: Any) -> str:
        return str(obj.title)


class DataVolumeForm(ResourceForm):
    """Whose claim it shares is said once; with whom can change."""

    not_edited = frozenset({"origin"})
    origin = _Origin(
        PvcSource.objects.none(),
        label="PVC data source",
        help_text="One of a project, with the data in it. Only this project writes to it.",
    )
    shared = _Scopes(
        Scope.objects.none(),
        label="Shared with",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Their projects mount it read-only. The project of the claim always can.",
    )
    field_order = ("name", "description", "origin", "shared")

    class Meta:
        model = DataVolume
        fields = ("name", "description")

    @classmethod
    def copy_of(cls, obj: DataVolume) -> dict[str, Any]:
        """Each copy shares another claim."""
        return {**super().copy_of(obj), "shared": list(obj.shared.values_list("pk", flat=True))}

    def prepare(self) -> None:
        origin, shared = self.fields["origin"], self.fields["shared"]
        sources = PvcSource.objects.filter(scope__kind=ScopeKind.PROJECT).select_related("scope")
        origin.empty_label = "Choose a PVC data source"  # type: ignore[attr-defined]
        origin.queryset = self.places(sources.order_by("name"))  # type: ignore[attr-defined]
        seen = visible_scopes(self.actor.user, self.resource.permission("view"))
        seen = seen.exclude(kind=ScopeKind.TENANT)
        if self.is_edit:
            self.initial["origin"] = self.instance.origin_id
            own = list(self.instance.shared.values_list("pk", flat=True))
            self.initial["shared"] = own
            cluster = cluster_of(self.instance.scope)
            near = [one.pk for one in seen if cluster_of(one) == cluster]
            seen = Scope.objects.filter(pk__in=[*near, *own]).exclude(pk=self.instance.scope_id)
        shared.queryset = seen.order_by("kind", "name")  # type: ignore[attr-defined]

    def values(self) -> dict[str, Any]:
        found = super().values()
        if self.is_edit:
            return found
        origin = self.cleaned_data["origin"]
        return {**found, "origin": origin, "scope": origin.scope}

    def parts(self) -> Mapping[str, Any]:
        return {"shared": list(self.cleaned_data["shared"])}
