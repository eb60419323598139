"""The renderer that draws Django's own forms with the product's field template."""

from django.forms.renderers import TemplatesSetting


class GanglineRenderer(TemplatesSetting):
    """Draws every field of every Django form the same way."""

    field_template_name = "forms/django_field.html"
