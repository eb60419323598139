"""Signing in, and new passwords."""

from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.forms import SetPasswordForm
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.http import HttpRequest

from gangline.settings.catalogue import PASSWORD_LENGTH
from gangline.settings.values import value_of

from .areas import AREAS, SEPARATOR
from .models import ApiToken, Limited, User
from .services import is_password

WRONG = "Wrong user name or password."
LOCKED = "Too many attempts. Try again in a few minutes or ask an administrator."


class AreasField(forms.MultipleChoiceField):
    """Areas of the API as they are stored: one text."""

    def prepare_value(self, value: Any) -> Any:
        return value.split(SEPARATOR) if isinstance(value, str) and value else value

    def clean(self, value: Any) -> str:
        return SEPARATOR.join(super().clean(value))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial) or [], data)


def areas_field() -> AreasField:
    """What a form offers to limit a key to."""
    stored = Limited._meta.get_field("areas")
    return AreasField(
        label=str(stored.verbose_name).capitalize(),
        help_text=str(stored.help_text),
        choices=[(key, area.label) for key, area in AREAS.items()],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new API token. Its name and lifetime are judged where tokens are made."""

    LIFETIMES = (7, 30, 90)
    LINES = (("name", "days"), ("addresses", "is_read_only"), ("areas",))
    """Fields beside each other."""
    days = forms.TypedChoiceField(
        label="Lifetime",
        coerce=int,
        choices=[(days, f"{days} days") for days in LIFETIMES],
        initial=30,
    )
    areas = areas_field()

    class Meta:
        model = ApiToken
        fields = ("name", "addresses", "is_read_only", "areas")
        help_texts = {"name": "What the token is for, such as “nightly job”."}


class SignInForm(forms.Form):
    """User name and password. The same sentence for an unknown user and a wrong password."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True}),
    )
    password = forms.CharField(
        label="Password",
        max_length=256,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, request: HttpRequest, data: Any = None, *, locked: bool = False) -> None:
        super().__init__(data)
        self.request = request
        self.locked = locked
        self.user: User | None = None

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if self.locked:
            raise ValidationError(LOCKED, code="locked")
        username, password = cleaned.get("username"), cleaned.get("password")
        if username and password:
            user = authenticate(self.request, username=username, password=password)
            if not isinstance(user, User):
                raise ValidationError(WRONG, code="wrong")
            self.user = user
        return cleaned


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """A password twice, for who has none or lost it."""

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self.fields["new_password1"].label = "New password"
        self.fields["new_password1"].help_text = f"At least {value_of(PASSWORD_LENGTH)} characters."
        self.fields["new_password2"].label = "Confirm new password"
        self.fields["new_password2"].help_text = ""
        for name in ("new_password1", "new_password2"):
            self.fields[name].max_length = 256  # type: ignore[attr-defined]
            self.fields[name].validators.append(MaxLengthValidator(256))


class OwnPasswordForm(NewPasswordForm):
    """The same for who has one; those who sign in by links alone choose their first one."""

    old_password = forms.CharField(
        label="Current password",
        strip=False,
        max_length=256,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    field_order = ("old_password", "new_password1", "new_password2")

    def __init__(self, request: HttpRequest, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self.request = request
        if not user.has_usable_password():
            del self.fields["old_password"]

    def clean_old_password(self) -> str:
        password: str = self.cleaned_data["old_password"]
        if not is_password(self.request, self.user, password):
            if getattr(self.request, "axes_locked_out", False):
                raise ValidationError(LOCKED, code="locked")
            raise ValidationError("This is not your current password.", code="wrong")
        return password
