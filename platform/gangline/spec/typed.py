"""Values by path as the frozen spec that drivers see."""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from .base import SpecModel
from .catalogue import SpecField, catalogue
from .values import field_path, nest

Spec = TypeVar("Spec", bound=SpecModel)


def typed(model: type[Spec], values: Mapping[str, Any]) -> Spec:
    """The spec of one role. Items of its lists have the defaults of their attributes.

    What the spec does not accept is left out: ``validate`` has said so before, and what was stored
    under an earlier release must still be followed and ended.
    """
    fields = catalogue(model)
    sound = {
        path: _with_defaults(fields[path], value)
        for path, value in values.items()
        if path in fields and value is not None
    }
    while True:
        try:
            return model.model_validate(nest(sound))
        except ValidationError as error:
            places = (".".join(map(str, each["loc"])) for each in error.errors())
            wrong = {field_path(place, fields) for place in places} & sound.keys()
            if not wrong:
                raise
            sound = {path: value for path, value in sound.items() if path not in wrong}


def value_at(spec: BaseModel | None, path: str) -> Any:
    """What stands at the JSON path of a field, None where nothing does."""
    found: Any = spec
    for name in path.split("."):
        if not isinstance(found, BaseModel):
            return None
        found = getattr(found, _attributes(type(found)).get(name, name), None)
    return found


def json_at(spec: BaseModel | None, path: str) -> Any:
    """The same as JSON data."""
    found = value_at(spec, path)
    if isinstance(found, list):
        return [item.model_dump(by_alias=True, exclude_none=True) for item in found]
    return found


@cache
def _attributes(model: type[BaseModel]) -> Mapping[str, str]:
    return {info.alias or name: name for name, info in model.model_fields.items()}


def _with_defaults(field: SpecField, value: Any) -> Any:
    if not field.items or not isinstance(value, list):
        return value
    return [_item(field, item) if isinstance(item, Mapping) else item for item in value]


def _item(field: SpecField, item: Mapping[str, Any]) -> Any:
    """Of alternatives, the one that was not chosen stays absent."""
    flat = field.flat(item)
    defaults = {
        a.path: a.default
        for a in field.items
        if flat[a.path] is None and not a.alternative and a.default is not None
    }
    return nest({**{p: v for p, v in flat.items() if v is not None}, **defaults})
