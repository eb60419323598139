"""Fixtures of the API tests."""

import pytest

from tests.support.api import ApiClient
from tests.support.world import World, make_world


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@pytest.fixture
def researcher(world: World) -> ApiClient:
    return ApiClient(world, "researcher-vision")
