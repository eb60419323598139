"""A field that stands in the spec alone is taken by API, policy, form and template as it is."""

from collections.abc import Iterator
from typing import Any

import pytest

from gangline.policies.services import save
from gangline.spec.sources import Value, policy_source
from tests.spec.extra_field import EXTRA, LABEL, product_with_extra_field
from tests.support.api import ApiClient
from tests.support.forms import Filler
from tests.support.world import World, make_world
from workloads.models import Attempt, Workload

pytestmark = pytest.mark.django_db
SUBMIT = "workloads/distributed"
WORKER, MASTER = f"worker.{EXTRA}", f"master.{EXTRA}"
POLICY = f"""
defaults:
  worker: {{{EXTRA}: 4}}
rules:
  worker: {{{EXTRA}: {{max: 5}}}}
"""


def _body(world: World, value: int) -> dict[str, Any]:
    body = world.spec_body()
    body["spec"][EXTRA] = value
    return body


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@pytest.fixture
def researcher(world: World) -> ApiClient:
    return ApiClient(world, "researcher-vision")


@pytest.fixture
def extended() -> Iterator[None]:
    with product_with_extra_field():
        yield


def test_without_it_the_api_knows_no_such_field(world: World, researcher: ApiClient) -> None:
    """The control: what follows is the work of the spec."""
    response = researcher.post(SUBMIT, _body(world, 2))
    assert response.status_code == 400
    assert EXTRA in response.content.decode()
    assert not Workload.objects.exists()


def test_the_api_stores_it_and_gives_it_back(
    extended: None, world: World, researcher: ApiClient
) -> None:
    body = _body(world, 2)
    body["masterSpec"] = {**body["spec"], EXTRA: 7}
    for name in ("numWorkers", "distributedFramework"):
        del body["masterSpec"][name]
    response = researcher.post(SUBMIT, body)
    assert response.status_code == 202, response.content
    answered = response.json()
    assert (answered["spec"][EXTRA], answered["masterSpec"][EXTRA]) == (2, 7)
    said = Workload.objects.get().given
    assert said[WORKER] == {"value": 2, "source": {"kind": "you"}}
    assert said[MASTER] == {"value": 7, "source": {"kind": "you"}}
    effective = Attempt.objects.get().effective
    assert effective[WORKER] == {"value": 2, "source": {"kind": "you"}}
    assert effective[MASTER] == {"value": 7, "source": {"kind": "you"}}
    again = researcher.get(f"{SUBMIT}/{answered['workloadId']}").json()
    assert again["spec"][EXTRA] == 2


def test_what_is_left_out_takes_the_default_of_the_spec(
    extended: None, world: World, researcher: ApiClient
) -> None:
    assert researcher.post(SUBMIT, world.spec_body()).json()["spec"][EXTRA] == 3


def test_its_bounds_and_those_of_a_policy_hold(
    extended: None, world: World, researcher: ApiClient
) -> None:
    response = researcher.post(SUBMIT, _body(world, 10))
    (problem,) = response.json()["problems"]
    assert (response.status_code, problem["path"], problem["value"]) == (400, EXTRA, 10)
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    response = researcher.post(SUBMIT, _body(world, 6))
    (problem,) = response.json()["problems"]
    assert (response.status_code, problem["path"], problem["rule"]) == (400, EXTRA, "max")
    assert problem["source"] == "project vision"
    stored = researcher.post(SUBMIT, world.spec_body()).json()
    assert stored["spec"][EXTRA] == 4
    effective = Attempt.objects.get().effective[WORKER]
    assert Value.from_json(effective) == Value(4, policy_source("project vision"))


def test_the_form_asks_for_it_and_creates_with_it(extended: None, world: World) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    filler = Filler(world, tab="tab-1")
    filler.fill()
    field = filler.get("workers").page.one(data_testid=f"f-{WORKER}")
    assert LABEL in field.text
    assert "set by project vision" in field.text
    answer = filler.post("workers", {WORKER: "6"})
    assert answer.status == 422
    assert f"{LABEL} must be at most 5 (set by project vision)" in answer.page.html
    assert filler.post("workers", {WORKER: "5"}).status == 303
    assert filler.post("review", go="create").status == 303
    assert Workload.objects.get().given[WORKER] == {"value": 5, "source": {"kind": "you"}}
    assert Attempt.objects.get().effective[WORKER]["value"] == 5
