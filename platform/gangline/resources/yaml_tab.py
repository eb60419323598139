"""The YAML tab of a detail page: the body with which the API makes such an object."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from rest_framework.serializers import Serializer

from gangline.lib import yaml_text

from .resource import Panel, Resource

TAB = "YAML"


def panel_of(resource: Resource[Any]) -> Panel:
    def context(request: HttpRequest, obj: Any) -> dict[str, Any]:
        return {"text": yaml_text.write(body(resource, obj))}

    return Panel(title="", template="resources/yaml.html", context=context, tab=TAB)


def body(resource: Resource[Any], obj: Any) -> dict[str, Any]:
    """What the API writes of the object, without fields that only the server sets."""
    serializer = resource.serializer_class()
    return _written(serializer, serializer.to_representation(obj))


def _written(serializer: Serializer[Any], shown: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in shown.items():
        field = serializer.fields.get(name)
        if field is not None and not field.read_only and value not in ({}, ""):
            found[name] = _written(field, value) if isinstance(field, Serializer) else value
    return found
