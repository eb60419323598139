"""Which addresses the API has, and with which methods: as the patterns themselves say."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from gangline.lib.answers import API_PREFIXES

METHODS = ("get", "post", "put", "patch", "delete")
MOST_SHOWN = 40
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


def methods_of(view: Any) -> tuple[str, ...]:
    """Those that a view answers; empty for one that is no view of the API."""
    actions = getattr(view, "actions", None)
    cls = getattr(view, "cls", None) or getattr(view, "view_class", None)
    known = [m for m in METHODS if (m in actions if actions else hasattr(cls, m))]
    return tuple(method.upper() for method in known)


@cache
def addresses() -> Mapping[str, tuple[str, ...]]:
    """Path → methods: ``/api/v1/clusters/{id}``, in their order."""
    found: dict[str, set[str]] = {}
    for path, view in _routes(get_resolver().url_patterns, "/"):
        if path.startswith(API_PREFIXES) and (methods := methods_of(view)):
            found.setdefault(path, set()).update(methods)
    upper = [method.upper() for method in METHODS]
    return MappingProxyType(
        {path: tuple(one for one in upper if one in found[path]) for path in sorted(found)}
    )


def _routes(patterns: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for one in patterns:
        path = prefix + _PARAMETER.sub(_placeholder, str(one.pattern))
        if isinstance(one, URLResolver):
            yield from _routes(one.url_patterns, path)
        elif isinstance(one, URLPattern):
            yield path, one.callback


def _placeholder(found: re.Match[str]) -> str:
    return "{id}" if found[1] == "pk" else f"{{{found[1]}}}"


def near(path: str) -> list[str]:
    """What is there instead of ``path``: all below the longest part of it that there is."""
    steps = path.strip("/").split("/")[:12]
    while steps:
        begin = "/" + "/".join(steps)
        found = [f"{' '.join(methods)} {one}" for one, methods in addresses().items()
                 if one == begin or one.startswith(f"{begin}/")]  # fmt: skip
        if found:
            return found[:MOST_SHOWN]
        steps.pop()
    return []
