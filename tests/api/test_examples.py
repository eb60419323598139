"""Every example of the description is sent, and answered as the description says."""

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from django.test import Client

from gangline.config import api_examples as examples
from gangline.resources.services import make
from tests.support.everything import Ids, make_everything
from tests.support.world import World

pytestmark = pytest.mark.django_db
WITHOUT = {
    "createStorageClass", "createDataVolume", "createIdentityProvider", "createSshkeyCredential",
    "createShelf",
}  # fmt: skip
"""They begin with what a cluster or a provider has, or with a real key."""
KEYED = [(key, name) for key, bodies in examples.EXAMPLES.items() for name in bodies]


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    found: dict[str, Any] = Client().get("/api/v1/openapi.json").json()
    return found


@pytest.fixture
def ids(world: World) -> Ids:
    return make_everything(world)


def of(description: dict[str, Any], key: str) -> tuple[str, str, dict[str, Any]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] == key:
                return path, method, operation
    raise LookupError(key)


def put_in(value: Any, here: dict[Any, Any]) -> Any:
    """The body with what this installation has in place of the ids of the example."""
    if isinstance(value, dict):
        return {key: put_in(inner, here) for key, inner in value.items()}
    if isinstance(value, list):
        return [put_in(inner, here) for inner in value]
    return here.get(value, value) if isinstance(value, str | int) else value


def test_whatever_is_created_has_an_example(description: dict[str, Any]) -> None:
    created = {
        operation["operationId"]
        for methods in description["paths"].values()
        for operation in methods.values()
        if operation["operationId"].startswith("create")
    }
    assert created - examples.EXAMPLES.keys() == WITHOUT


@pytest.mark.parametrize(("key", "name"), KEYED)
def test_it_is_answered_as_the_description_says(
    world: World, ids: Ids, description: dict[str, Any], key: str, name: str
) -> None:
    path, method, operation = of(description, key)
    stored = operation["requestBody"]["content"]["application/json"]["examples"][name]["value"]
    own = make("access_key", user=world.people["administrator"], name="own")
    here = {
        examples.CLUSTER: str(world.cluster.pk),
        examples.DEPARTMENT: world.department.pk,
        str(examples.DEPARTMENT): str(world.department.pk),
        examples.PROJECT: world.vision.pk,
        str(examples.PROJECT): str(world.vision.pk),
        examples.WORKLOAD: ids["workloads"][0],
        examples.ENVIRONMENT: ids["asset/environment"][0],
        examples.CLIENT_ID: str(own.pk),
        examples.CLIENT_SECRET: own.secret,
        examples.USER: "stranger" if key == "createAccessRule" else examples.USER,
    }
    where = (
        path.replace("projects/{id}", f"projects/{world.vision.pk}")
        .replace("{cluster_id}", str(world.cluster.pk))
        .replace("{key}", "browserSessionTimeout")
    )
    answer = Client(headers=world.headers("administrator")).generic(
        method.upper(), where, json.dumps(put_in(stored, here)).encode(), "application/json",
    )  # fmt: skip
    assert answer.status_code < 300, answer.content
    told = operation["responses"][str(answer.status_code)]
    if "content" not in told:
        assert not answer.content
        return
    schema = told["content"]["application/json"]["schema"]
    jsonschema.validate(answer.json(), {**schema, "components": description["components"]})
