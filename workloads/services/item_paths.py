"""Paths of items of lists: of the field they belong to, and with the index that people know."""

import re

from gangline.spec.problems import Advice, Problem
from gangline.spec.sources import Values


def field_of(path: str) -> str:
    """The list of an item's path: ``labels.0.name`` is about ``labels``."""
    return re.split(r"\.[0-9]+(?:\.|\Z)", path, maxsplit=1)[0]


def as_sent(told: Problem | Advice, effective: Values) -> str:
    """The path of a problem of a driver, with the index as sent, if it was sent."""
    field = field_of(told.path)
    index, _, attribute = told.path[len(field) + 1 :].partition(".")
    value = effective.get(f"{told.role}.{field}")
    if value is None or not index.isdigit() or int(index) >= len(value.items):
        return told.path
    sent = value.items[int(index)].sent
    return ".".join(filter(None, (field, str(sent), attribute))) if sent is not None else field
