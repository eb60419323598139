"""The commands of a new installation: each may be repeated, and says what to do when refused."""

import io
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.test import override_settings

from assets.models import Template
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters.models import Cluster
from gangline.config.env import Env, env
from gangline.db import clock
from gangline.organization.models import Project
from gangline.scopes.selectors import tenant_scope
from gangline.spec.sources import Value, template_source
from gangline.supervisor import demo, doctor, first_start, schema
from gangline.supervisor.management.commands import demo as demo_command

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]


def _run(*arguments: Any) -> str:
    printed = io.StringIO()
    call_command(*arguments, stdout=printed)
    return printed.getvalue()


def test_bootstrap_makes_an_administrator_who_may_work_in_the_project() -> None:
    said = _run("bootstrap", "--admin", "ada", "--project", "vision", "--local-cluster")
    assert "sign-in-link ada" in said
    user = User.objects.get()
    project = Project.objects.get()
    assert can(user, Permission.SETTING_EDIT, tenant_scope())
    assert can(user, Permission.WORKLOAD_CREATE, project.scope)
    assert Cluster.objects.get().capacity["cpus"] > 0


def test_bootstrap_makes_only_what_is_missing() -> None:
    arguments = ("bootstrap", "--admin", "ada", "--project", "vision", "--local-cluster")
    _run(*arguments)
    assert _run(*arguments) == "Nothing to do: everything exists already.\n"
    said = _run("bootstrap", "--admin", "ada", "--project", "nlp")
    assert said == "Project nlp in department main.\n"


def test_a_project_without_a_cluster_is_refused_whole() -> None:
    with pytest.raises(CommandError, match="--local-cluster"):
        _run("bootstrap", "--admin", "ada", "--project", "vision")
    assert not User.objects.exists()


def test_a_bad_name_is_refused_whole() -> None:
    with pytest.raises(CommandError, match="Must have 1 to 51"):
        _run("bootstrap", "--admin", "ada", "--project", "No Such", "--local-cluster")
    assert not User.objects.exists()


def test_the_demo_may_be_loaded_twice_removed_and_loaded_again() -> None:
    for _ in range(2):
        _run("demo", "load")
        assert {user.username for user in User.objects.filter(is_active=True)} == {
            demo.ADMINISTRATOR,
            demo.RESEARCHER,
        }
        assert Template.objects.count() == len(demo._TEMPLATES)
    _run("demo", "remove")
    assert not User.objects.filter(is_active=True).exists()
    assert not Template.objects.exists()
    _run("demo", "load")
    assert User.objects.filter(is_active=True).count() == 2
    assert Template.objects.count() == len(demo._TEMPLATES)


def test_production_has_no_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    production = env().model_copy(update={"mode": "production"})
    monkeypatch.setattr(demo_command, "env", lambda: production)
    with pytest.raises(CommandError, match="bootstrap --admin"):
        _run("demo", "load")
    assert not User.objects.exists()


def test_a_first_start_without_demo_has_this_machine_and_no_people() -> None:
    first_start.prepare()
    assert Cluster.objects.get().kind == "local"
    assert not User.objects.exists()
    first_start.prepare()
    assert Cluster.objects.count() == 1


def test_the_doctor_finds_nothing_on_a_sound_installation() -> None:
    graded = {finding.what: finding.grade for finding in doctor.findings()}
    # The tests' own server waits for no disk, and the doctor is right to say so.
    graded.pop("PostgreSQL", None)
    assert "error" not in graded.values(), graded
    assert {"Python", "Data folder", "Disk", "Schema", "Clock"} <= set(graded)


def test_the_doctor_finds_damage_in_the_middle_of_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "damaged.db"
    with sqlite3.connect(file) as made:
        made.execute("CREATE TABLE t (x TEXT)")
        made.executemany("INSERT INTO t VALUES (?)", [("x" * 100,)] * 1000)
    made.close()
    with file.open("r+b") as raw:
        raw.seek(file.stat().st_size // 2 // 4096 * 4096)
        raw.write(b"\xff" * 4096)
    settings = {**connections.settings["default"], "NAME": str(file), "OPTIONS": {}}
    damaged = DatabaseWrapper(settings)
    monkeypatch.setattr(doctor, "connection", damaged)
    try:
        errors = [finding for finding in doctor._sqlite() if finding.grade == "error"]
    finally:
        damaged.connection.close()
    assert "is damaged" in errors[-1].says


@pytest.fixture
def production(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings of production; entries added to the dictionary replace them."""
    changes: dict[str, Any] = {"mode": "production", "public_url": "https://gangline.example.org"}

    def changed() -> Env:
        return env().model_copy(update=changes)

    monkeypatch.setattr(doctor, "env", changed)
    return changes


def _finding(what: str) -> doctor.Finding:
    return next(f for f in doctor.findings() if f.what == what and f.grade != "ok")


def test_the_doctor_misses_redis_in_production(production: dict[str, Any]) -> None:
    assert _finding("Redis").mend.startswith("Set GANGLINE_REDIS_URL")
    production["redis_url"] = "redis://127.0.0.1:1/0"
    assert _finding("Redis").says.startswith("It does not answer")


def test_the_doctor_warns_of_a_redis_that_evicts(
    production: dict[str, Any], redis_server: Any
) -> None:
    import redis

    production["redis_url"] = redis_server.url
    with redis.Redis.from_url(redis_server.url) as client:
        assert not [f for f in doctor.findings() if f.what == "Redis" and f.grade != "ok"]
        client.config_set("maxmemory-policy", "allkeys-lru")
        assert _finding("Redis").mend == "CONFIG SET maxmemory-policy noeviction"
        client.config_set("maxmemory-policy", "noeviction")


def test_the_doctor_sees_a_missing_migration_and_ends_with_1(production: dict[str, Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'workloads'")
    assert _finding("Schema").grade == "error"
    printed = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", stdout=printed)
    assert ended.value.code == 1
    assert "gangline-manage migrate" in printed.getvalue()


def test_the_doctor_sees_a_clock_that_is_off() -> None:
    clock.shift(timedelta(minutes=10))
    try:
        assert "differ by 600 s" in _finding("Clock").says
    finally:
        clock.shift(timedelta())


def test_the_doctor_sees_a_data_folder_that_others_can_read() -> None:
    folder = env().data_dir
    folder.chmod(0o755)
    try:
        assert _finding("Data folder").mend == f"chmod 700 {folder}"
    finally:
        folder.chmod(0o700)


def test_the_watcher_is_for_production_only() -> None:
    with pytest.raises(CommandError, match="GANGLINE_MODE is embedded"):
        _run("watch")


@override_settings(DEBUG=False)
def test_the_templates_of_the_demo_are_accepted_by_their_own_policy() -> None:
    """Each may be created by the researcher, in both projects, as it is."""
    from gangline.access.actor import Actor
    from workloads.services.submission import preview
    from workloads.services.submission_types import SubmissionRequest

    demo.load()
    actor = Actor(user=User.objects.get(username=demo.RESEARCHER), channel="form")
    for template in Template.objects.all():
        for project in Project.objects.all():
            asked = SubmissionRequest(
                name=template.name,
                project_id=project.pk,
                cluster_id=project.cluster_id,
                framework=template.framework,
                configuration=template.configuration,
                master=template.master,
                given={
                    path: Value(value, template_source(template.pk))
                    for path, value in template.values.items()
                },
                template_id=template.pk,
            )
            assert preview(actor=actor, request=asked).problems == [], template.name


def test_a_database_from_before_the_fresh_migrations_is_refused_and_kept(tmp_path: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'scopes'")
    with pytest.raises(schema.FormerDatabase, match="Move it away"):
        schema.ensure(tmp_path)
    assert "scopes.0001_initial" in schema.pending()
    assert not list(tmp_path.iterdir())
