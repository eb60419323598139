"""The sign-in form."""

from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from .models import User

WRONG = "User name or password is not right."
LOCKED = "Too many tries. Try again in a few minutes or ask an administrator."


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
