"""Forms of service accounts and access keys."""

from collections.abc import Mapping
from typing import Any

from django import forms

from gangline.accounts.forms import areas_field
from gangline.resources.forms import ResourceForm

from .models import AccessKey, ServiceAccount

LIMITS = ("expires_at", "addresses", "is_read_only", "areas")
"""What a key is good for, within what its owner may do."""


class ServiceAccountForm(ResourceForm):
    areas = areas_field()
    not_edited = frozenset({"name"})
    enabled = forms.BooleanField(
        label="Enabled", required=False, help_text="While off, it cannot be used to sign in."
    )

    class Meta:
        model = ServiceAccount
        fields = ("name", *LIMITS)

    def prepare(self) -> None:
        if self.is_edit:
            self.initial["enabled"] = self.instance.user.is_active
        else:
            del self.fields["enabled"]

    def parts(self) -> Mapping[str, Any]:
        return {name: self.cleaned_data[name] for name in ("enabled",) if name in self.fields}


class AccessKeyForm(ResourceForm):
    areas = areas_field()

    class Meta:
        model = AccessKey
        fields = ("name", *LIMITS)
