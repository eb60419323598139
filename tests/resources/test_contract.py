"""Every resource keeps the contract; one without a sample fails."""

import sys
from pathlib import Path

import pytest

from gangline.resources.registry import get, resources
from tests.support.world import World

from .contract import CHECKS, Context, why_not
from .samples import SAMPLES

SHELF = Path(__file__).parent / "shelf"

CASES = [(key, name) for key in SAMPLES for name in CHECKS if not why_not(name, get(key))]


def test_every_resource_has_a_sample() -> None:
    assert {one.key for one in resources()} == set(SAMPLES)


def test_what_is_left_out_has_a_reason() -> None:
    """Prints resource × check, which `-s` shows."""
    for key, sample in SAMPLES.items():
        assert sample.left_out.keys() <= CHECKS.keys(), f"{key} leaves out what is no check"
        left_out = {name: why for name in CHECKS if (why := why_not(name, get(key)))}
        told = (f"  without {name}: {why}\n" for name, why in left_out.items())
        ran = len(CHECKS) - len(left_out)
        sys.stdout.write(f"{key}: {ran} of {len(CHECKS)} checks\n{''.join(told)}")


def test_the_throw_away_resource_is_small() -> None:
    files = [file for file in SHELF.glob("*.py") if file.stem != "__init__"]
    assert len(files) <= 4
    assert sum(len(file.read_text().splitlines()) for file in files) <= 120


def test_the_throw_away_resource_leaves_out_nothing_that_it_could_do() -> None:
    assert {name for name in CHECKS if why_not(name, get("shelf"))} == {"in_use"}


@pytest.mark.parametrize(("key", "name"), CASES)
def test_contract(world: World, key: str, name: str) -> None:
    CHECKS[name][0](Context(world, get(key)))
