"""Every resource keeps the contract; one without a sample fails."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gangline.resources.registry import get, resources
from tests.support.world import World

from . import contract_copies, contract_lists  # noqa: F401  register their checks
from .contract import CHECKS, Context, why_not
from .samples import SAMPLES

SHELF = Path(__file__).parent / "shelf"

CASES = [(key, name) for key in SAMPLES for name in CHECKS if not why_not(name, get(key))]
OF_THE_CLASS = {
    "asked_lists",
    "audit",
    "invisible_is_absent",
    "list_pages",
    "names_are_unique",
    "rights",
    "rights_to_write",
    "statements_do_not_grow",
    "texts_can_be_read",
    "two_tabs",
    "what_is_searched_is_found",
}
"""Checks in which one resource stands for the others of its class; these run thoroughly."""


def _cases() -> Iterator[Any]:
    """Two resources of a class are checked whole: one may differ by accident."""
    seen = Counter[tuple[type, str]]()
    for key, name in CASES:
        seen[type(get(key)), name] += 1
        again = name in OF_THE_CLASS and seen[type(get(key)), name] > 2
        yield pytest.param(key, name, marks=pytest.mark.thorough if again else ())


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
    assert {name for name in CHECKS if why_not(name, get("shelf"))} == set()


@pytest.mark.parametrize(("key", "name"), list(_cases()))
def test_contract(world: World, key: str, name: str) -> None:
    CHECKS[name][0](Context(world, get(key)))
