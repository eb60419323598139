"""OpenAPI: how this API describes itself, from the same spec that validates it."""

from collections.abc import Callable, Mapping
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from pydantic import BaseModel


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The bearer token in the description's security section."""

    target_class = "gangline.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "gangline_<id>_<secret>"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The signed-in browser."""

    target_class = "gangline.api.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        # Its real name ends with the port, where there is one per installation.
        return {"type": "apiKey", "in": "cookie", "name": "gangline_sid"}


Schema = dict[str, Any]
_components: dict[str, Schema] = {}
_families: list[Callable[[], dict[str, Schema]]] = []


def component(name: str, schema: Schema) -> Schema:
    """Publish ``schema`` under ``name`` and return the reference to it."""
    _components[name] = schema
    return reference(name)


def reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def between(least: int, most: int) -> Schema:
    """A whole number with its bounds."""
    return {"type": "integer", "minimum": least, "maximum": most}


def family(make: Callable[[], dict[str, Schema]]) -> None:
    """Publish components that are made anew whenever the description is written."""
    _families.append(make)


def components_of(models: Mapping[str, type[BaseModel]]) -> dict[str, Schema]:
    """The JSON Schemas of pydantic models with everything they refer to, by component name."""
    found: dict[str, Schema] = {}
    for name, model in models.items():
        schema = model.model_json_schema(by_alias=True, ref_template="#/components/schemas/{model}")
        found |= schema.pop("$defs", {})
        found[name] = schema | {"title": name}
    return found


def add_components(result: Schema, generator: Any, request: Any, public: bool) -> Schema:
    """Hook of the generator: put the published components into the description, sorted.

    What a body may be is judged before any operation sees it, so these refusals belong to all.
    """
    for methods in result["paths"].values():
        for operation in methods.values():
            for code in (413, 415) if "requestBody" in operation else ():
                answer = {"content": {"application/json": {"schema": ERROR}}, "description": ""}
                operation["responses"].setdefault(str(code), answer)
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    own = dict(_components)
    for make in _families:
        own |= make()
    if clash := schemas.keys() & own.keys():
        raise ValueError(f"two components are called {', '.join(sorted(clash))}")
    schemas |= own
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    return result


ERROR = component(
    "Error",
    {
        "type": "object",
        "required": ["code", "message", "details", "problems", "complianceIssues"],
        "properties": {
            "code": {"type": "integer", "minimum": 100, "maximum": 599},
            "message": {"type": "string"},
            "details": {"type": "string", "description": "Full sentences for people."},
            "problems": {"type": "array", "items": {"$ref": "#/components/schemas/Problem"}},
            "complianceIssues": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["field", "details", "rule"],
                    "properties": {
                        "field": {"type": "string"},
                        "details": {"type": "string"},
                        "rule": {"type": "string"},
                    },
                },
            },
        },
    },
)
component(
    "Problem",
    {
        "type": "object",
        "description": "One reason why a value cannot be accepted.",
        "required": ["role", "path", "rule", "message"],
        "properties": {
            "role": {"type": "string", "enum": ["workload", "worker", "master"]},
            "path": {"type": "string", "description": "Relative to the role; items by index."},
            "rule": {"type": "string"},
            "message": {"type": "string", "description": "A predicate: must be at most 4."},
            "value": {},
            "accepted": {"type": "string"},
            "source": {"type": "string", "description": "The scope that set the rule."},
            "key": {"type": "string"},
            "label": {"type": "string"},
            "hint": {
                "type": "string",
                "description": "Message of the administrator who set the rule.",
            },
        },
    },
)


def errors(*codes: int) -> dict[int, Schema]:
    """The error answers of an operation.

    A parameter that there is not, no token, a limited token and too many requests belong to all.
    """
    return dict.fromkeys(sorted({400, 401, 403, 429, *codes}), ERROR)
