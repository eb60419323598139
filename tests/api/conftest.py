"""Fixtures of the API tests."""

import pytest

from tests.support.api import ApiClient
from tests.support.world import World


@pytest.fixture
def researcher(world: World) -> ApiClient:
    return ApiClient(world, "researcher-vision")


@pytest.fixture
def administrator(world: World) -> ApiClient:
    return ApiClient(world, "administrator")
