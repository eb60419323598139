"""The form of one category of settings, made from their declarations."""

from dataclasses import dataclass
from typing import Any

from django import forms

from gangline.forms.bound import field_view
from gangline.forms.fields import FieldView
from gangline.lib.problems import Problem
from gangline.settings.catalogue import Declared, declared
from gangline.settings.values import Origin, origin_of, value_of

from .services import Wanted


@dataclass(frozen=True, slots=True)
class Row:
    """One setting as the page draws it."""

    setting: Declared[Any]
    field: FieldView
    origin: Origin
    default: str


class SettingsForm(forms.Form):
    """A field per setting; one that the environment gives is shown and not sent."""

    def __init__(self, category: str, *args: Any, may_edit: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.settings = list(declared(category))
        self.origins = {one.key: origin_of(one) for one in self.settings}
        for one in self.settings:
            field = one.field()
            field.initial = value_of(one)
            field.disabled = not may_edit or self.origins[one.key].source == "environment"
            self.fields[one.key] = field

    def wanted(self) -> list[Wanted]:
        """What was sent, with the version that each value was read in."""
        return [
            Wanted(one, self.cleaned_data[one.key], self._version(one.key))
            for one in self.settings
            if not self.fields[one.key].disabled
        ]

    def refuse(self, problems: list[Problem]) -> None:
        for problem in problems:
            self.add_error(problem.path, problem.told)

    def rows(self) -> list[Row]:
        return [
            Row(one, field_view(self[one.key]), self.origins[one.key], one.in_words(one.default))
            for one in self.settings
        ]

    def _version(self, key: str) -> int:
        text = self.data.get(f"version:{key}", "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
