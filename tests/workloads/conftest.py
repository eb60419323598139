"""Fixtures of the engine's tests."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gangline.db import clock
from tests.support.engine import Engine, make_engine


@pytest.fixture
def engine(db: None, tmp_path: Path) -> Engine:
    """A faulty cluster and a project, inside one transaction."""
    return make_engine(tmp_path / "cluster.db")


@pytest.fixture
def shared_engine(transactional_db: None, tmp_path: Path) -> Engine:
    """The same, committed: other threads and processes see it. Creates may be on the way 1 s."""
    return make_engine(tmp_path / "cluster.db", in_flight_max=1.0)


@pytest.fixture(autouse=True)
def _clock_is_right_again() -> Iterator[None]:
    yield
    clock.shift(timedelta())


@pytest.fixture
def idempotent_engine(transactional_db: None, tmp_path: Path) -> Engine:
    """Committed; its cluster knows an attempt by its name, as ours do."""
    return make_engine(tmp_path / "cluster.db", in_flight_max=1.0, idempotent=True)


@pytest.fixture
def patient_engine(transactional_db: None, tmp_path: Path) -> Engine:
    """Committed; a create may be on its way for 4 s."""
    return make_engine(tmp_path / "cluster.db", in_flight_max=4.0)
