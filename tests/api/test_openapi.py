"""The published description follows from the code and is checked in, so that a change is seen."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from gangline.drivers.registry import DRIVERS
from gangline.spec.catalogue import catalogue
from gangline.spec.workload import SPEC, ReplicaSpec, SpecModels
from tests.support.api import ApiClient
from tests.support.world import World
from workloads.api import shapes

SNAPSHOT = Path(__file__).parents[2] / "docs" / "reference" / "openapi.yaml"


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    # Engines and the throw-away resource of the tests are no part of the product.
    product = {
        key: kind for key, kind in DRIVERS.items() if type(kind).__module__.startswith("gangline.")
    }
    with patch.dict(DRIVERS, product, clear=True):
        made: dict[str, Any] = SchemaGenerator().get_schema(  # type: ignore[no-untyped-call]
            request=None, public=True
        )
    schemas = made["components"]["schemas"]
    for part in (made["paths"], schemas):
        for name in [name for name in part if "shel" in name.lower()]:
            del part[name]
    return made


def test_the_snapshot_is_up_to_date(description: dict[str, Any]) -> None:
    stored = yaml.load(SNAPSHOT.read_text(), yaml.CSafeLoader)  # a tenth of the time
    assert stored == json.loads(json.dumps(_plain(description))), (
        "The API changed: run make openapi and look at the difference."
    )


@pytest.mark.thorough  # `make openapi` validates what it writes, and that is what there is
def test_it_is_valid(description: dict[str, Any]) -> None:
    validate_schema(description)  # type: ignore[no-untyped-call]
    assert description["openapi"].startswith("3.")
    assert description["paths"]


def test_every_field_of_the_spec_is_in_it(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    for model, name in ((SPEC.worker, "WorkerSpec"), (SPEC.master, "MasterSpec")):
        for path in catalogue(model):
            assert _has(schemas, schemas[name], path.split(".")), f"{name}: {path}"


def test_requests_refuse_unknown_fields(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    for name in ("DistributedCreationRequest", "WorkerSpec", "MasterSpec", "Compute", "Label"):
        assert schemas[name]["additionalProperties"] is False, name


def test_every_operation_declares_401_and_the_error_body(description: dict[str, Any]) -> None:
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            if operation["operationId"] == "grantOAuth2Token":
                continue  # its errors are OAuth's: tests/api/test_signing_in_programs.py
            body = operation["responses"]["401"]["content"]["application/json"]["schema"]
            assert body == {"$ref": "#/components/schemas/Error"}, f"{method} {path}"


def test_another_spec_describes_itself() -> None:
    class Wider(ReplicaSpec):
        lucky_number: int | None = None

    schemas = shapes.spec_components(SpecModels(worker=SPEC.worker, master=Wider))
    assert "luckyNumber" in schemas["MasterSpec"]["properties"]


def test_it_is_served_without_sign_in() -> None:
    response = Client().get("/api/v1/openapi.json")
    assert response.status_code == 200
    assert response.json()["info"]["title"] == "Gangline"
    text = Client().get("/api/v1/openapi.yaml")
    assert yaml.load(text.content, yaml.CSafeLoader) == response.json()


@pytest.mark.django_db
def test_answers_keep_to_it(
    world: World, researcher: ApiClient, description: dict[str, Any]
) -> None:
    made = researcher.post("workloads/distributed", world.body()).json()["workloadId"]
    for path, where in (
        ("/api/v1/workloads", "workloads"),
        ("/api/v1/workloads/count", "workloads/count"),
        ("/api/v1/workloads/{workload_id}", f"workloads/{made}"),
        ("/api/v1/workloads/{workload_id}/pods", f"workloads/{made}/pods"),
        ("/api/v1/workloads/{workload_id}/events", f"workloads/{made}/events"),
        ("/api/v1/workloads/{workload_id}/history", f"workloads/{made}/history"),
        ("/api/v1/workloads/distributed/{workload_id}", f"workloads/distributed/{made}"),
        ("/api/v1/clusters", "clusters"),
        ("/api/v1/clusters/{id}", f"clusters/{world.cluster.pk}"),
        ("/api/v1/org-unit/projects", "org-unit/projects"),
        ("/api/v1/org-unit/projects/{id}", f"org-unit/projects/{world.vision.pk}"),
    ):
        answer = description["paths"][path]["get"]["responses"]["200"]
        schema = answer["content"]["application/json"]["schema"]
        document = {**schema, "components": description["components"]}
        given = researcher.get(where)
        assert given.status_code == 200, where
        jsonschema.validate(given.json(), document)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _has(schemas: dict[str, Any], schema: dict[str, Any], path: list[str]) -> bool:
    if "$ref" in schema:
        return _has(schemas, schemas[schema["$ref"].rpartition("/")[2]], path)
    if not path:
        return True
    inner = schema.get("properties", {}).get(path[0])
    return inner is not None and _has(schemas, inner, path[1:])
