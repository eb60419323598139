"""Write what the command line and the SDK know of the server: spec, resources and models.

Usage: `python -m scripts.client_files [--check]`. They are made from the spec, the registry of
resources and `docs/reference/openapi.yaml`, so that nothing is listed twice.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from scripts.command_reference import page

ROOT = Path(__file__).resolve().parent.parent
OPENAPI = ROOT / "docs" / "reference" / "openapi.yaml"
SPEC = ROOT / "cli" / "gangline_cli" / "spec.json"
RESOURCES = ROOT / "cli" / "gangline_sdk" / "resources.json"
MODELS = ROOT / "cli" / "gangline_sdk" / "models.py"
ADDRESSES = ROOT / "docs" / "reference" / "api.md"
REFERENCE = ROOT / "docs" / "reference" / "command-line.md"
ROOTS = (
    "Workload", "WorkloadDetailed", "DistributedWorkload", "DistributedCreationRequest",
    "DistributedPreview", "Pod", "Event", "HistoryRecord", "Log", "DistributedPolicy", "Error",
    "TokenResponse", "Me",
)  # fmt: skip
"""Components that programs read or write; what they refer to comes with them."""
HEAD = '''"""The JSON of the API, as `make openapi` writes it from the description of the API."""

from typing import Any, Literal, NotRequired, Required, TypedDict

'''


@cache
def _openapi() -> Any:
    """The whole description: three quarters of a megabyte, for which Python's loader takes 4 s."""
    return yaml.load(OPENAPI.read_text(), yaml.CSafeLoader)


def main(arguments: list[str]) -> int:
    """Write the files, or with ``--check`` name those that are out of date."""
    made = {
        SPEC: _json(spec()),
        RESOURCES: _json(resources()),
        MODELS: models(),
        ADDRESSES: addresses(),
    }
    stale = [path for path, text in made.items() if not _is(path, text)]
    if not stale and not _is(REFERENCE, page()):
        # It is made of the others, so it is looked at when they are right.
        made[REFERENCE] = page()
        stale = [REFERENCE]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date: run make openapi.")
        return 1 if stale else 0
    for path in stale:
        path.write_text(made[path])
    return main(arguments) if stale and REFERENCE not in stale else 0


def addresses() -> str:
    """A table of every operation of the API."""
    lines = [
        "# The REST API",
        "",
        "Every operation, as `make openapi` writes it from the code. "
        "What each takes and answers is in [openapi.yaml](openapi.yaml), "
        "which the server has at `/api/v1/openapi.yaml`. "
        "Any other address below `/api/` answers 404 with a list of what is there.",
        "",
        "| Method | Path | |",
        "|---|---|---|",
    ]
    for path, operations in _openapi()["paths"].items():
        for method, operation in operations.items():
            words = str(operation.get("description", "")).split("\n")[0].replace("|", "\\|")
            lines.append(f"| {method.upper()} | `{path}` | {words} |")
    return "\n".join(lines) + "\n"


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def spec() -> dict[str, Any]:
    """Fields of a workload as flags take them, and the frameworks."""
    from gangline.spec.catalogue import catalogue
    from gangline.spec.frameworks import CONFIGURATIONS, FRAMEWORKS, has_gpus
    from gangline.spec.problems import Role
    from gangline.spec.workload import SPEC as MODELS_OF_SPEC

    master = catalogue(MODELS_OF_SPEC.master)
    return {
        "frameworks": {
            name: {
                "label": one.label,
                "configurations": list(one.configurations),
                "masterGpus": has_gpus(one, Role.MASTER),
            }
            for name, one in FRAMEWORKS.items()
        },
        "configurations": list(CONFIGURATIONS),
        "fields": [
            _field(field, in_master=path in master)
            for path, field in catalogue(MODELS_OF_SPEC.worker).items()
        ],
    }


def _field(field: Any, *, in_master: bool) -> dict[str, Any]:
    from gangline.spec.gpus import is_gpu_field

    found = {
        "path": field.path,
        "flag": field.flag,
        "kind": str(field.kind),
        "label": field.label,
        "help": field.ui.help,
        "section": field.ui.section,
        "choices": list(field.choices),
        "only": list(field.only),
        "master": in_master,
        "key": field.item_key,
        "names": field.is_array,
        "whole": field.is_opaque,
        "gpu": is_gpu_field(field.path),
        "items": [{"path": one.path, "kind": str(one.kind)} for one in field.items],
        "pair": field.pair,
    }
    return {name: value for name, value in found.items() if value not in ("", [], False)}


def resources() -> list[dict[str, Any]]:
    """Every resource that the API has: where it is, what it can, and what its rows hold."""
    from gangline.resources.registry import resources as registered

    return [_resource(one) for one in registered() if one.wire is not None]


def _resource(resource: Any) -> dict[str, Any]:
    wire = resource.wire
    columns = [name for name, field in _columns(resource)]
    return {
        "key": resource.key,
        "label": resource.label,
        "labels": resource.labels,
        "path": wire.path,
        "envelope": wire.envelope,
        "paged": wire.is_paged,
        "verbs": sorted(wire.methods),
        "columns": columns,
        "id": _id(resource, columns),
        "name": _name(resource, columns),
        "filters": sorted({one.wire for one in resource.table.filters if one.wire}),
        "writes": [
            name
            for name, field in resource.serializer_class().fields.items()
            if not field.read_only and not field.write_only
        ],
    }


def _id(resource: Any, columns: list[str]) -> str:
    """What the addresses of single rows end in."""
    if resource.wire.lookup in columns:
        return str(resource.wire.lookup)
    return next(n for n in columns if n.rpartition(".")[2] in ("id", "uuid", "name"))


def _name(resource: Any, columns: list[str]) -> str:
    return next(
        (n for n in columns if n.rpartition(".")[2] in ("name", "username", "subjectId")),
        columns[0],
    )


def _columns(resource: Any) -> Iterator[tuple[str, Any]]:
    """Names of single values in a row, as paths: ``meta.name``."""
    from drf_spectacular.utils import extend_schema_field  # noqa: F401  what fields carry
    from rest_framework import serializers

    plain = (
        serializers.CharField, serializers.IntegerField, serializers.FloatField,
        serializers.BooleanField, serializers.DateTimeField, serializers.UUIDField,
        serializers.ChoiceField,
    )  # fmt: skip
    fields = resource.serializer_class().fields
    if "meta" in fields:
        for name in ("id", "name", "kind", "scope", "createdBy", "createdAt"):
            yield f"meta.{name}", None
        return
    if "id" not in fields and "uuid" not in fields and resource.wire.methods >= {"get"}:
        yield "id", None
    for name, field in fields.items():
        is_id = name in ("id", "uuid")
        if is_id or (isinstance(field, plain) and not field.write_only and name != "tenantId"):
            yield name, field


def models() -> str:
    """TypedDicts of the components that programs meet."""
    schemas = _openapi()["components"]["schemas"]
    wanted: dict[str, Any] = {}
    waiting = [name for name in ROOTS if name in schemas]
    while waiting:
        name = waiting.pop(0)
        if name not in wanted:
            wanted[name] = schemas[name]
            waiting += sorted(_references(schemas[name]))
    parts = [_model(name, wanted[name]) for name in sorted(wanted)]
    return HEAD + "\n\n".join(parts)


def _references(schema: Any) -> set[str]:
    if isinstance(schema, Mapping):
        own = {schema["$ref"].rpartition("/")[2]} if "$ref" in schema else set()
        return own.union(*(_references(one) for one in schema.values()))
    if isinstance(schema, list):
        return set().union(*(_references(one) for one in schema)) if schema else set()
    return set()


def _model(name: str, schema: Mapping[str, Any]) -> str:
    needed = set(schema.get("required", ()))
    lines = [f'{name} = TypedDict(\n    "{name}",\n    {{']
    for key, one in schema.get("properties", {}).items():
        word = "Required" if key in needed else "NotRequired"
        lines.append(f'        "{key}": {word}[{_type(one)}],')
    lines.append("    },\n)")
    return "\n".join(lines) + "\n"


_PLAIN = {
    "string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None",
    "object": "dict[str, Any]",
}  # fmt: skip


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return f'"{schema["$ref"].rpartition("/")[2]}"'
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return _union(_type(one) for one in schema[word])
    if "allOf" in schema:
        return _type(schema["allOf"][0])
    if "enum" in schema:
        return _literal(schema["enum"])
    kinds = schema.get("type", ())
    listed = [kinds] if isinstance(kinds, str) else list(kinds)
    return _union(_of_kind(kind, schema) for kind in listed) if listed else "Any"


def _of_kind(kind: str, schema: Mapping[str, Any]) -> str:
    if kind == "array":
        return f"list[{_type(schema.get('items', {}))}]"
    return _PLAIN[kind]


def _literal(values: list[Any]) -> str:
    words = [json.dumps(one) if isinstance(one, str) else repr(one) for one in values]
    return f"Literal[{', '.join(words)}]"


def _union(types: Iterator[str]) -> str:
    found = list(dict.fromkeys(types))
    if len(found) > 1 and any(one.startswith('"') for one in found):
        # A quoted name cannot stand beside a bar: all of it is quoted.
        return '"' + " | ".join(one.strip('"') for one in found) + '"'
    return " | ".join(found)


def _set_up() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangline.config.settings")
    import django

    django.setup()
    import gangline.config.urls  # noqa: F401  every app registers what it has


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="gangline-client-") as folder:
        os.environ.setdefault("GANGLINE_DATA_DIR", folder)
        _set_up()
        sys.exit(main(sys.argv[1:]))
