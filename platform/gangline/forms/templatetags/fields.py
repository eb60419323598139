"""Fields of forms as tags."""

from collections.abc import Sequence

from django import template
from django.utils.safestring import SafeString

from gangline.forms import drawing
from gangline.forms.fields import FieldView, SectionView

register = template.Library()


@register.simple_tag
def field(view: FieldView, applies: bool = False) -> SafeString:
    """{% field setup.cluster applies=True %}: a gangline.forms.fields.FieldView."""
    return drawing.field(view, applies=applies)


@register.simple_tag
def form_line(views: Sequence[FieldView]) -> SafeString:
    """{% form_line line %}: fields side by side, or a wide one."""
    return drawing.line(views)


@register.simple_tag
def form_section(view: SectionView) -> SafeString:
    """{% form_section section %}: a part of a step."""
    return drawing.section(view)


@register.simple_tag
def form_advanced(view: SectionView) -> SafeString:
    """{% form_advanced section %}: what is folded away in it."""
    return drawing.advanced(view)
