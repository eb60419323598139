"""Fixtures of the tests of pages."""

import pytest

from tests.support.world import World, make_world


@pytest.fixture
def world(db: None) -> World:
    return make_world()
