"""Bring the database's schema up to date at start, quickly when there is nothing to do."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from django.apps import apps
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal, emit_pre_migrate_signal
from django.db import DatabaseError, connection, router
from django.db.migrations.recorder import MigrationRecorder

_FIRST = {("scopes", "0001_initial")}
"""Applied in every database since the initial migrations were written anew."""


class FormerDatabase(Exception):
    """The database was made by a version before 0.2, whose migrations are no more."""


def ensure(data_dir: Path) -> bool:
    """Apply missing migrations, a copy of SQLite's file kept first. Whether any was missing.

    Raises FormerDatabase and changes nothing.
    """
    applied = _applied()
    if applied and not applied & _FIRST:
        raise FormerDatabase(
            f"{_place(data_dir)} was made by a version of Gangline before 0.2 and cannot be used."
            " Move it away and start again; nothing in it was changed."
        )
    if not set(_on_disk()) - applied:
        return False
    if applied and connection.vendor == "sqlite":
        _keep_copy(data_dir)
    call_command("migrate", interactive=False, verbosity=0)
    return True


def make() -> bool:
    """Make all tables of an empty database from the models; whether it was empty.

    That takes a tenth of applying every migration, whose outcome it has. All or nothing.
    """
    with connection.cursor() as cursor:
        if connection.introspection.table_names(cursor):
            return False
    emit_pre_migrate_signal(0, False, connection.alias)
    with connection.schema_editor() as editor:
        editor.create_model(MigrationRecorder.Migration)
        for config in apps.get_app_configs():
            for model in router.get_migratable_models(config, connection.alias):
                if model._meta.can_migrate(connection):
                    editor.create_model(model)
        applied = [MigrationRecorder.Migration(app=app, name=name) for app, name in _on_disk()]
        MigrationRecorder.Migration.objects.bulk_create(applied)
    emit_post_migrate_signal(0, False, connection.alias)
    return True


def pending() -> list[str]:
    """Migrations that the database lacks, as ``app.name``."""
    return [f"{app}.{name}" for app, name in sorted(set(_on_disk()) - _applied())]


def _on_disk() -> Iterator[tuple[str, str]]:
    """(app, migration) of every file, without importing any: that is what makes a start slow."""
    for config in apps.get_app_configs():
        folder = Path(config.path) / "migrations"
        if folder.is_dir():
            for file in folder.glob("[0-9]*.py"):
                yield config.label, file.stem


def _applied() -> set[tuple[str, str]]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT app, name FROM django_migrations")
            return {(app, name) for app, name in cursor.fetchall()}
    except DatabaseError:
        return set()


def _keep_copy(data_dir: Path) -> None:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    folder = data_dir / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(folder / f"gangline-{stamp}.db")])


def _place(data_dir: Path) -> str:
    is_file = connection.vendor == "sqlite"
    return f"The data folder {data_dir}" if is_file else "The database"
