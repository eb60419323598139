"""The whole description is tried by schemathesis, as five people: no 5xx, no leak, no lie.

Every answer must be one that the description tells: its status, its type, its shape. What a person
may not see holds a mark, and so does every secret: neither may stand in any answer to them.
"""

import random
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from typing import Any

import pytest
import requests
import schemathesis
import urllib3
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, Phase, given, seed, settings
from requests.adapters import HTTPAdapter
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.everything import SECRET, Ids, make_everything
from tests.support.world import World

pytestmark = pytest.mark.django_db
PEOPLE = ("administrator", "head", "researcher-vision", "viewer-vision", "stranger")
HIDDEN = "h1dd3n-n4m3"
"""The name of what nobody sees who works in one other project alone."""
BELOW = ("researcher-vision", "viewer-vision", "stranger")
OUR_OWN = ("Traceback", "django.", "OperationalError", "SELECT ", 'File \\"/')
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EACH = settings(
    database=None,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@cache
def description() -> Any:
    return schemathesis.openapi.from_dict(Client().get("/api/v1/openapi.json").json())


def operations() -> list[Any]:
    found = [one.ok() for one in description().get_all_operations()]
    return sorted(found, key=lambda one: one.label)


@pytest.fixture
def known(world: World) -> Ids:
    return make_everything(world, hidden=HIDDEN)


def sent(case: Any, headers: dict[str, str]) -> requests.Response:
    """The answer to a case: through Django's client, within the transaction of the test."""
    asked = requests.Request(**case.as_transport_kwargs(base_url="http://testserver")).prepare()
    kind = asked.headers.pop("Content-Type", "application/json")
    kept = {k: v for k, v in asked.headers.items() if k not in ("Content-Length", "Cookie")}
    given = Client(raise_request_exception=False).generic(
        str(asked.method), asked.path_url, asked.body or b"", kind, headers={**kept, **headers}
    )
    body = b"".join(given) if given.streaming else given.content
    raw = urllib3.HTTPResponse(
        body=BytesIO(body), headers=dict(given.items()), status=given.status_code,
        preload_content=False,
    )  # fmt: skip
    return HTTPAdapter().build_response(asked, raw)


def tried(world: World, known: Ids, operation: Any, person: str, count: int) -> Iterator[str]:
    """What is wrong with the answers to ``count`` requests."""
    found: dict[str, str] = {}
    chance = random.Random(f"{operation.label} {person}")

    @seed(7)
    @settings(EACH, max_examples=count)
    @given(case=operation.as_strategy())
    def each(case: Any) -> None:
        for name in case.path_parameters or {}:
            at = f"/{{{name}}}"
            here = [ids for path, ids in known.items() if f"/{path}{at}" in operation.path]
            if here and chance.random() < 0.7:
                case.path_parameters[name] = chance.choice(here[0])
        with transaction.atomic():
            answer = sent(case, world.headers(person))
            transaction.set_rollback(True)
        try:
            case.validate_response(answer, checks=CHECKS)
        except FailureGroup as failed:
            for one in failed.exceptions:
                found.setdefault(f"{type(one).__name__}: {one}"[:400], case.as_curl_command()[:400])
        text = answer.text
        for word in (SECRET, *OUR_OWN, *((HIDDEN,) if person in BELOW else ())):
            if word in text:
                found.setdefault(f"{word!r} stands in the answer", text[:300])

    each()
    for what, where in found.items():
        yield f"{operation.label} as {person}: {what}\n    {where}"


def test_a_few_requests_to_every_operation(world: World, known: Ids) -> None:
    wrong: list[str] = []
    for number, operation in enumerate(operations()):
        person = PEOPLE[number % len(PEOPLE)]
        wrong += tried(world, known, operation, person, 1)
    assert not wrong, "\n".join(wrong)


@pytest.mark.thorough
@pytest.mark.parametrize("person", PEOPLE)
def test_every_operation_as(world: World, known: Ids, person: str) -> None:
    wrong = [
        told for operation in operations() for told in tried(world, known, operation, person, 25)
    ]
    assert not wrong, "\n".join(wrong)
