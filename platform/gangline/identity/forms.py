"""The form of an identity provider."""

from collections.abc import Mapping
from typing import Any

from django import forms

from gangline.clusters.trial_forms import Tested
from gangline.drivers.trials.places import Failed, Place
from gangline.scopes.models import Scope

from .models import IdentityProvider
from .resources import SECRET
from .trials import place_of


class IdentityProviderForm(Tested):
    client_secret = forms.CharField(
        required=False,
        max_length=4096,
        strip=True,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    has_no_secret = forms.BooleanField(
        label="This client has no secret",
        required=False,
        help_text="A public client, which uses PKCE only.",
    )

    not_edited = frozenset({"alias", "issuer"})
    sections = (
        ("", ("name", "alias", "issuer", "client_id", SECRET, "has_no_secret", "is_enabled")),
        ("Who may sign in", ("makes_users",)),
        (
            "Claims",
            ("scopes", "username_claim", "email_claim", "name_claim", "groups_claim"),
        ),
    )

    class Meta:
        model = IdentityProvider
        fields = (
            "name", "alias", "issuer", "client_id", "scopes", "username_claim", "email_claim",
            "name_claim", "groups_claim", "makes_users", "is_enabled",
        )  # fmt: skip

    @property
    def can_test(self) -> bool:
        return True

    def prepare(self) -> None:
        secret = self.fields[SECRET]
        if self.is_edit:
            kept = self.instance.secret_at is not None
            self.initial["has_no_secret"] = not kept
            secret.help_text = "A secret is stored. Enter another to replace it." if kept else ""

    def clean(self) -> dict[str, Any] | None:
        found = super().clean()
        given, none = self.cleaned_data.get(SECRET), self.cleaned_data.get("has_no_secret")
        if given and none:
            self.add_error(
                SECRET, forms.ValidationError(("Enter a secret or tick the box, not both."), "both")
            )
        is_kept = self.is_edit and self.instance.secret_at is not None
        if not given and not none and not is_kept:
            words = "Enter the client secret, or tick that the client has none."
            self.add_error(SECRET, forms.ValidationError(words, "required"))
        return found

    def parts(self) -> Mapping[str, Any]:
        if self.cleaned_data["has_no_secret"]:
            return {SECRET: ""}
        return {SECRET: self.cleaned_data[SECRET]} if self.cleaned_data[SECRET] else {}

    def to_try(self, scope: Scope) -> Place:
        issuer = self.cleaned_data.get("issuer") or self.instance.issuer
        if not issuer:
            raise Failed("values", said="Enter the issuer first")
        return place_of(issuer)

    def _scope(self) -> Scope | None:
        from gangline.scopes.selectors import tenant_scope

        return tenant_scope()
