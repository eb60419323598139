"""Fixtures of the form's tests."""

import pytest

from tests.support.forms import Filler
from tests.support.world import World


@pytest.fixture
def filler(world: World) -> Filler:
    """A researcher of project vision in front of a fresh draft."""
    return Filler(world, tab="tab-1")
