"""A shelf, held in a scope."""

from django.core.validators import MaxValueValidator, RegexValidator
from django.db import models

from gangline.resources.models import ScopedModel


class Shelf(ScopedModel):
    name = models.CharField(max_length=63, validators=[RegexValidator(r"\A[a-z][a-z0-9-]*\Z")])
    width = models.PositiveIntegerField(default=80, validators=[MaxValueValidator(400)])
    code = models.CharField(max_length=40, blank=True)
    """Written, never shown."""

    above = models.ForeignKey("self", models.PROTECT, null=True, blank=True)
    """The one that it stands on."""

    class Meta:
        verbose_name_plural = "shelves"
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "name"],
                name="shelf_name_in_scope",
                violation_error_code="unique",
                violation_error_message="There is a shelf of this name already.",
            )
        ]
