"""Every resource keeps the contract; one without a sample fails."""

import pytest

from gangline.resources.registry import get, resources
from tests.support.world import World

from .contract import CHECKS, Context, why_not
from .samples import SAMPLES

CASES = [(key, name) for key in SAMPLES for name in CHECKS if not why_not(name, get(key))]


def test_every_resource_has_a_sample() -> None:
    assert {one.key for one in resources()} == set(SAMPLES)


def test_the_throw_away_resource_leaves_out_nothing_that_it_could_do() -> None:
    assert {name for name in CHECKS if why_not(name, get("shelf"))} == {"in_use"}


@pytest.mark.parametrize(("key", "name"), CASES)
def test_contract(world: World, key: str, name: str) -> None:
    CHECKS[name][0](Context(world, get(key)))
