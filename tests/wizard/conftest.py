"""Fixtures of the form's tests."""

import pytest

from tests.support.forms import Filler
from tests.support.world import World, make_world


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@pytest.fixture
def filler(world: World) -> Filler:
    """A researcher of project vision in front of a fresh draft."""
    return Filler(world, tab="tab-1")
