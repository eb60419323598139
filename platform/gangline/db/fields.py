"""Columns whose value follows from another one."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

from django.core.exceptions import ValidationError
from django.db import models


class FoldedField(models.TextField):  # type: ignore[type-arg]  # not generic at run time
    """The text of the field ``of`` as names are compared: without regard to case.

    A constraint on it holds alike in both databases: ``LOWER`` of SQLite knows ASCII alone.
    """

    def __init__(self, of: str, **options: Any) -> None:
        super().__init__(**{**options, "editable": False})
        self.of = of

    def deconstruct(self) -> Any:
        name, path, arguments, options = super().deconstruct()
        del options["editable"]
        return name, path, [self.of, *arguments], options

    def clean(self, value: Any, model_instance: models.Model | None) -> str:
        return self._folded(model_instance)

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        value = self._folded(model_instance)
        setattr(model_instance, self.attname, value)
        return value

    def _folded(self, model_instance: models.Model | None) -> str:
        return folded(str(getattr(model_instance, self.of)))


class Folding(models.Model):
    """A model with a `FoldedField`: that a value is taken is an error of the field it folds."""

    class Meta:
        abstract = True

    def validate_constraints(self, exclude: Collection[str] | None = None) -> None:
        try:
            super().validate_constraints(exclude)
        except ValidationError as error:
            of = {one.name: one.of for one in self._meta.fields if isinstance(one, FoldedField)}
            found = error.error_dict.items()
            raise ValidationError({of.get(name, name): errors for name, errors in found}) from None


@dataclass(frozen=True)
class Fold:
    """For ``RunPython``: fills the folded columns of the rows that were there before them."""

    app: str
    model: str

    def __call__(self, apps: Any, schema_editor: Any) -> None:
        model = apps.get_model(self.app, self.model)
        fields = [one for one in model._meta.fields if isinstance(one, FoldedField)]
        rows = list(model.objects.using(schema_editor.connection.alias))
        for row in rows:
            for field in fields:
                field.pre_save(row, add=False)
        model.objects.bulk_update(rows, [one.name for one in fields], batch_size=500)


def folded(text: str) -> str:
    """Equal for texts that differ in case or in how an accent is encoded alone."""
    return normalize("NFC", normalize("NFC", text).casefold())
