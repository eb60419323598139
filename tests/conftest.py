"""Fixtures for every test."""

import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import hypothesis
import pytest
from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from pytest_django import DjangoDbBlocker

from gangline.supervisor import schema
from tests.beds.kubernetes.fixtures import (
    bed,
    bed_with,
    namespace,
    native_bed,
    own_bed,
    own_processes,
    turns_on_the_bed,
    volcano_bed,
)
from tests.beds.slurm.fixtures import slurm_lab
from tests.support.connecting import checks_at_once, loopback_admitted
from tests.support.examples import examples
from tests.support.identity import company
from tests.support.servers import browser_context, chromium, page, postgres_server, redis_server
from tests.support.ssh_server import ssh_server
from tests.support.world import World, make_world

__all__ = [
    "bed",
    "bed_with",
    "browser_context",
    "checks_at_once",
    "chromium",
    "company",
    "loopback_admitted",
    "namespace",
    "native_bed",
    "own_bed",
    "own_processes",
    "page",
    "postgres_server",
    "redis_server",
    "slurm_lab",
    "ssh_server",
    "turns_on_the_bed",
    "volcano_bed",
]

# No test is about time: a busy machine is no failure.
hypothesis.settings.register_profile("gangline", deadline=None, max_examples=examples(120))
hypothesis.settings.load_profile("gangline")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Put SQLite's test database into a file: one in memory knows neither WAL nor two writers."""
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        database.setdefault("TEST", {})["NAME"] = str(
            Path(os.environ["GANGLINE_DATA_DIR"]) / "test.db"
        )


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Around all tests with a database.

    After each flush Django makes its content types and permissions anew, which nobody here uses:
    150 ms for each of a thousand tests. And what threads of tests have left connected is ended, so
    that PostgreSQL lets its database go. The tables are made from the models, which are what the
    migrations make (`make lint` compares them, servers of tests apply them): that takes a tenth.
    """
    with django_db_blocker.unblock():
        recorder = MigrationRecorder(connection)
        recorder.ensure_schema()
        for migration in schema.pending():
            recorder.record_applied(*migration.split("."))
    with patch("django.core.management.commands.flush.emit_post_migrate_signal"):
        yield
    if connection.vendor == "postgresql":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


@pytest.fixture(scope="module")
def _world_of_module(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[bytes]:
    """One world for all tests of a module, pickled, in a transaction around theirs."""
    whole = transaction.atomic()
    with django_db_blocker.unblock():
        whole.__enter__()
        made = make_world()
    yield pickle.dumps(made)
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        whole.__exit__(None, None, None)


@pytest.fixture
def world(_world_of_module: bytes, db: None) -> World:
    """A copy for each test, whose changes are rolled back; for tests that commit, make one."""
    copy: World = pickle.loads(_world_of_module)  # `deepcopy` takes four times as long
    return copy


@pytest.fixture(scope="session")
def examples_runtime() -> Path:
    """The environment that `make setup` installs for the examples; `bin/python` runs them."""
    folder = Path(os.environ["GANGLINE_TEST_RUNTIMES"]) / "examples"
    assert (folder / "bin" / "python").exists(), "Run `make setup`: it installs this runtime."
    return folder
