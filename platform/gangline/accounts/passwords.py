"""The rule of passwords that the settings hold."""

from typing import Any

from django.contrib.auth.password_validation import MinimumLengthValidator

from gangline.settings.catalogue import PASSWORD_LENGTH
from gangline.settings.values import value_of


class LengthOfSettings:
    """Django's own rule with the length of now: validators are made once per process."""

    def validate(self, password: str, user: Any = None) -> None:
        _now().validate(password, user)

    def get_help_text(self) -> str:
        return str(_now().get_help_text())


def _now() -> MinimumLengthValidator:
    return MinimumLengthValidator(value_of(PASSWORD_LENGTH))
