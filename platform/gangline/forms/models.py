"""A pydantic model as a form: its fields become fields of Django's, and what was typed a model.

``json_schema_extra`` of a field: ``rows`` (a text area), ``secret`` (never sent back), ``mono``,
``file`` (its text may be uploaded instead).
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from django import forms
from django.core.files.uploadedfile import UploadedFile
from pydantic import BaseModel, ValidationError

from gangline.lib.problems import Problem, of_model

M = TypeVar("M", bound=BaseModel)
Choices = Sequence[tuple[str, str]]


class SecretTextarea(forms.Textarea):
    """A text area whose text is never sent back."""

    is_secret = True


def fields_of(
    model: type[BaseModel], *, choices: Mapping[str, Choices] | None = None
) -> dict[str, forms.Field]:
    """A field for every text and number of it; ``choices``: values of those that are chosen."""
    made: dict[str, forms.Field] = {}
    for name, info in model.model_fields.items():
        if info.annotation not in (str, int):
            continue
        extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
        common: dict[str, Any] = {
            "label": info.title or name,
            "help_text": info.description or "",
            "required": info.is_required(),
            "initial": info.default,
        }
        if info.annotation is int:
            made[name] = forms.IntegerField(**common)
            continue
        attrs: dict[str, Any] = {"class": "mono"} if extra.get("mono") else {}
        if choices and name in choices:
            made[name] = forms.CharField(
                **common, widget=forms.RadioSelect(choices=list(choices[name]))
            )
            made[name].choices = list(choices[name])  # type: ignore[attr-defined]
        elif extra.get("rows"):
            attrs["rows"] = extra["rows"]
            area = SecretTextarea if extra.get("secret") else forms.Textarea
            made[name] = forms.CharField(**common, widget=area(attrs))
        elif extra.get("secret"):
            attrs["autocomplete"] = "new-password"
            made[name] = forms.CharField(**common, widget=forms.PasswordInput(attrs))
        else:
            made[name] = forms.CharField(**common, widget=forms.TextInput(attrs))
        if extra.get("file"):
            label = f"{common['label']} as a file"
            made["file"] = forms.FileField(label=label, required=False, widget=forms.FileInput)
    return made


def model_of(model: type[M], data: Mapping[str, Any]) -> tuple[M | None, list[Problem]]:
    """The model of cleaned data, or what is wrong with it, by the names of its fields."""
    # What was left empty has its default.
    given = {name: data[name] for name in model.model_fields if data.get(name)}
    for name, info in model.model_fields.items():
        extra = info.json_schema_extra
        if isinstance(extra, dict) and extra.get("file") and data.get("file"):
            if given.get(name):
                says = "Paste the text or choose a file, not both."
                return None, [Problem("both", name, {"raw": says})]
            given[name] = _text(data["file"])
    try:
        return model.model_validate(given, by_name=True), []
    except ValidationError as error:
        names = {str(info.alias or name): name for name, info in model.model_fields.items()}
        return None, of_model(error, by_alias=names)


def _text(file: "UploadedFile[Any]") -> str:
    """Bytes that are no text come as marks that no reader takes."""
    data: bytes = file.read()
    return data.decode("utf-8", errors="replace")
