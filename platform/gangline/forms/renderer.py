"""The renderer that draws Django's own forms with the product's fields."""

from typing import Any

from django.forms.boundfield import BoundField
from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest

from . import drawing
from .bound import field_view


class GanglineRenderer(TemplatesSetting):
    """Draws every field of every Django form as the fields of the workload form are drawn."""

    def render(
        self, template_name: str, context: dict[str, Any], request: HttpRequest | None = None
    ) -> str:
        field = context.get("field")
        if template_name == self.field_template_name and isinstance(field, BoundField):
            return drawing.field(field_view(field))
        return super().render(template_name, context, request)
