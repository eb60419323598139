"""A new database is made from the models; one of before is led there by the migrations."""

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.services import Postgres

_MAKE = "import django; django.setup(); from django.core.management import call_command as call; "
QUICKLY = _MAKE + "call('migrate', verbosity=0)"
STEP_BY_STEP = _MAKE + "call('migrate', 'contenttypes', verbosity=0); call('migrate', verbosity=0)"
IN_POSTGRES = (
    "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable,"
    " column_default, is_identity FROM information_schema.columns WHERE table_schema = 'public'",
    "SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace",
    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "SELECT app, name FROM django_migrations",
    "SELECT app_label, model, codename FROM auth_permission p"
    " JOIN django_content_type c ON c.id = p.content_type_id",
)


def _made(script: str, folder: Path, **settings: str) -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GANGLINE_")}
    folder.mkdir()
    subprocess.run(
        [sys.executable, "-c", script],
        env=clean | {"GANGLINE_DATA_DIR": str(folder)} | settings,
        check=True,
    )


def _in_sqlite(script: str, folder: Path) -> set[object]:
    _made(script, folder)
    with sqlite3.connect(folder / "gangline.db") as found:
        made = found.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
        applied = found.execute("SELECT app, name FROM django_migrations").fetchall()
        rights = found.execute("SELECT codename FROM auth_permission").fetchall()
    # The columns of a table may stand in another order.
    parts = {(*row, *sorted(re.findall(r"[^\s(),]+", sql or ""))) for *row, sql in made}
    return {*parts, *applied, *rights}


def _in_postgres(script: str, folder: Path, server: Postgres) -> set[object]:
    url = server.create_database()
    _made(script, folder, GANGLINE_DATABASE_URL=url)
    database = url.rsplit("/", 1)[1]
    return {line for one in IN_POSTGRES for line in server.run_sql(one, database).splitlines()}


@pytest.mark.thorough  # `make lint` compares models and migrations
def test_both_ways_lead_to_the_same_tables(tmp_path: Path) -> None:
    quick, long = _in_sqlite(QUICKLY, tmp_path / "a"), _in_sqlite(STEP_BY_STEP, tmp_path / "b")
    assert quick ^ long == set()


@pytest.mark.thorough
def test_both_ways_lead_to_the_same_tables_in_postgres(
    tmp_path: Path, postgres_server: Postgres
) -> None:
    quick = _in_postgres(QUICKLY, tmp_path / "a", postgres_server)
    long = _in_postgres(STEP_BY_STEP, tmp_path / "b", postgres_server)
    # Django's own migrations make the number of this one, which nobody uses, a smaller one.
    of_django = {f"auth_group_permissions|id|{kind}||NO||YES" for kind in ("bigint", "integer")}
    assert quick ^ long == of_django
