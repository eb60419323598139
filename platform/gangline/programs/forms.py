"""Forms of service accounts and access keys."""

from collections.abc import Mapping
from typing import Any

from django import forms

from gangline.resources.forms import ResourceForm

from .models import AccessKey, ServiceAccount


class ServiceAccountForm(ResourceForm):
    not_edited = frozenset({"name"})
    enabled = forms.BooleanField(
        label="Enabled", required=False, initial=True, help_text="Off: nothing signs in with it."
    )

    class Meta:
        model = ServiceAccount
        fields = ("name",)

    def prepare(self) -> None:
        if self.is_edit:
            self.initial["enabled"] = self.instance.user.is_active

    def parts(self) -> Mapping[str, Any]:
        return {"enabled": self.cleaned_data["enabled"]}


class AccessKeyForm(ResourceForm):
    class Meta:
        model = AccessKey
        fields = ("name",)
