"""Each setting turned, and the product seen to change without a restart."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from gangline.accounts.models import ApiToken
from gangline.accounts.services import CannotMake, check_password, make_token
from gangline.audit.models import AuditEntry
from gangline.clusters.connections import driver_for
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.drivers.local.driver import LocalDriver
from gangline.lib.problems import Refused
from gangline.organization.quotas import pools_of
from gangline.resources import services
from gangline.resources.registry import get
from gangline.resources.services import make
from gangline.settings import catalogue
from gangline.settings.catalogue import Declared, declared
from gangline.settings.models import Setting
from gangline.settings.values import Origin, origin_of, value_of
from tests.support.forms import Filler
from tests.support.settings import turn
from tests.support.world import World
from workloads.models import Workload
from workloads.selectors.first_steps import SAMPLE
from workloads.watching.pruner import prune

pytestmark = pytest.mark.django_db
ZONE = "topology.kubernetes.io/zone"
SECURITY = {one.key: str(one.default) for one in declared("Security")}
"""The form as it comes."""


def browser(world: World, name: str = "administrator") -> Client:
    return world.client(name)


def save(client: Client, category: str, **changes: Any) -> Any:
    """Post the form of a category as it stands, with changes (``a__b-c`` is ``a.b-c``)."""
    page = client.get(f"/settings/{category}")
    sent: dict[str, Any] = {}
    for row in page.context["rows"]:
        sent[f"version:{row.setting.key}"] = row.origin.version
        if row.field.control != "check" or row.field.checked:
            sent[row.setting.key] = "on" if row.field.checked else row.field.text
    for name, value in changes.items():
        sent[name.replace("__", ".").replace("_", "-")] = value
    given = {name: value for name, value in sent.items() if value is not None}
    return client.post(f"/settings/{category}", given)


# The store


def test_a_setting_is_saved_audited_and_put_back(world: World) -> None:
    client, setting = browser(world), catalogue.DELETED_DAYS
    assert save(client, "retention", retention__deleted_days="7").status_code == 302
    assert value_of(setting) == 7
    row = Setting.objects.get()
    assert (row.key, row.version, row.updated_by) == (
        setting.key, 1, world.people["administrator"],
    )  # fmt: skip
    entry = AuditEntry.objects.get(action="setting.edit")
    assert (entry.object_id, entry.detail) == (setting.key, {"value": {"from": 14, "to": 7}})
    assert save(client, "retention", retention__deleted_days="14").status_code == 302
    assert value_of(setting) == 14
    assert origin_of(setting) == Origin("default", version=2)


@pytest.mark.parametrize(
    ("category", "key", "text"),
    [
        ("retention", "retention__deleted_days", "-1"),
        ("retention", "retention__audit_days", "0"),
        ("retention", "retention__deleted_days", "٣٠ days"),
        ("retention", "retention__log_bytes", "1 pixel"),
        ("retention", "retention__log_bytes", "1k"),
        ("security", "security__session_hours", ""),
        ("general", "general__name", "x" * 31),
        ("general", "general__name", ""),
        ("general", "general__notice", "a\x00b"),
        ("general", "general__notice", "a\u202eb"),
    ],
)
def test_bad_values_are_refused_beside_their_field(
    world: World, category: str, key: str, text: str
) -> None:
    answer = save(browser(world), category, **{key: text})
    assert answer.status_code == 422
    assert f'id="f-{key.replace("__", "-").replace("_", "-")}-e"' in answer.content.decode()
    assert not Setting.objects.exists()


def test_two_tabs_do_not_overwrite_each_other(world: World) -> None:
    client = browser(world)
    stale = {
        f"version:{one.key}": 0 for one in declared("Security")
    } | {**SECURITY, "security.session-hours": "12"}  # fmt: skip
    assert save(client, "security", security__session_hours="8").status_code == 302
    late = client.post("/settings/security", stale)
    assert late.status_code == 409
    assert value_of(catalogue.SESSION_HOURS) == 8
    assert 'value="12"' in late.content.decode()
    again = {**stale, "version:security.session-hours": "1"}
    assert client.post("/settings/security", again).status_code == 302
    assert value_of(catalogue.SESSION_HOURS) == 12


def test_a_form_from_before_a_value_came_and_went_is_stale(world: World) -> None:
    client, default = browser(world), catalogue.SESSION_HOURS.default
    stale = {**SECURITY, "security.session-hours": "12"}
    for hours in ("8", str(default)):
        assert save(client, "security", security__session_hours=hours).status_code == 302
    for version in (0, 1):
        sent = {**stale, "version:security.session-hours": version}
        assert client.post("/settings/security", sent).status_code == 409
    assert value_of(catalogue.SESSION_HOURS) == default


def test_the_environment_locks_a_setting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = settings.GANGLINE.model_copy(update={"keep_deleted_days": 3})
    turn(catalogue.DELETED_DAYS, 7)
    monkeypatch.setattr(settings, "GANGLINE", locked)
    assert value_of(catalogue.DELETED_DAYS) == 3
    client = browser(world)
    page = client.get("/settings/retention").content.decode()
    assert "GANGLINE_KEEP_DELETED_DAYS" in page
    save(client, "retention", retention__deleted_days="9")
    assert value_of(catalogue.DELETED_DAYS) == 3
    answer = put(world, {"key": "retention.deleted-days", "value": 9})
    assert (answer.status_code, answer.json()["problems"][0]["rule"]) == (400, "locked")


def test_settings_are_read_once_per_request(world: World) -> None:
    client = browser(world)
    client.get("/settings/workloads")
    with CaptureQueriesContext(connection) as sent:
        client.get("/settings/workloads")
    assert sum('FROM "settings_setting"' in one["sql"] for one in sent) == 1


def test_who_may_see_and_change_settings(world: World) -> None:
    for name in ("head", "researcher-vision", "stranger"):
        client = browser(world, name)
        for path in ("/settings", "/settings/security", "/settings/environment"):
            assert client.get(path).status_code == 403, (name, path)
        assert client.post("/settings/security", {}).status_code == 403
        assert api(world, "GET", "", name).status_code == 403
    client = browser(world)
    assert client.get("/settings/no-such").status_code == 404
    assert client.get("/settings/quota").status_code == (
        200 if any(declared("Quota")) else 404
    )  # a category without settings is not drawn


def test_the_environment_is_shown_and_searched(world: World) -> None:
    client = browser(world)
    groups = client.get("/settings/environment").context["groups"]
    shown = [one for group in groups.values() for one in group]
    assert len(shown) > 15
    assert [one.name for one in shown if not one.help or "`" in one.help] == []
    assert not {"GANGLINE_SECRET_KEY", "GANGLINE_DATABASE_URL"} & {one.name for one in shown}
    found = client.get("/settings/environment?q=public_url").context["groups"]
    assert [[one.name for one in group] for group in found.values()] == [["GANGLINE_PUBLIC_URL"]]


# The API


def api(world: World, method: str, path: str, name: str = "administrator", body: Any = None) -> Any:
    return Client().generic(
        method,
        f"/v1/k8s/setting{path}",
        data=b"" if body is None else json.dumps(body).encode(),
        content_type="application/json",
        headers=world.headers(name),
    )


def put(world: World, body: Any) -> Any:
    return api(world, "PUT", "", body=body)


def test_programs_read_and_change_settings(world: World) -> None:
    listed = {one["key"]: one for one in api(world, "GET", "").json()}
    assert set(listed) == {one.key for one in declared()}
    master = listed["workloads.master"]
    assert (master["value"], master["type"], master["source"]) == ("true", "Boolean", "default")
    assert api(world, "GET", "/workloads.master").json() is True
    assert put(world, {"key": "workloads.master", "value": False}).status_code == 200
    assert api(world, "GET", "/workloads.master").json() is False
    assert api(world, "GET", "/retention.audit-days").json() == 90


def test_what_the_list_says_can_be_sent_back(world: World) -> None:
    """There every value is a text."""
    rows = api(world, "GET", "").json()
    for one in rows:
        answer = put(world, {"key": one["key"], "value": one["value"]})
        assert answer.status_code == 200, (one, answer.content)
    assert api(world, "GET", "").json() == rows
    assert not Setting.objects.exists()
    assert put(world, {"key": "security.token-days", "value": "60"}).status_code == 200
    assert put(world, {"key": "workloads.master", "value": "false"}).status_code == 200
    assert (value_of(catalogue.TOKEN_DAYS), value_of(catalogue.MASTER)) == (60, False)


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        ({"key": "workloads.master", "value": "False"}, 400, "workloads.master"),
        ({"key": "workloads.master", "value": "1"}, 400, "workloads.master"),
        ({"key": "security.token-days", "value": "060"}, 400, "security.token-days"),
        ({"key": "security.token-days", "value": " 60"}, 400, "security.token-days"),
        ({"key": "security.token-days", "value": "٦٠"}, 400, "security.token-days"),
        ({"key": "security.token-days", "value": "366"}, 400, "security.token-days"),
        ({"key": "security.token-days", "value": "60 days"}, 400, "security.token-days"),
        ({"key": "workloads.master", "value": 1}, 400, "workloads.master"),
        ({"key": "workloads.master"}, 400, "workloads.master"),
        ({"key": "security.token-days", "value": True}, 400, "security.token-days"),
        ({"key": "security.token-days", "value": 366}, 400, "security.token-days"),
        ({"key": "security.token-days", "value": 7.5}, 400, "security.token-days"),
        ({"key": "general.name", "value": ["x"]}, 400, "general.name"),
        ({"key": "general.name", "value": "x", "colour": "red"}, 400, "colour"),
        ({"key": 7, "value": 7}, 400, "key"),
        ([], 400, "key"),
        ({"key": "no.such", "value": 7}, 404, ""),
    ],
)
def test_bad_bodies_are_refused(world: World, body: Any, code: int, path: str) -> None:
    answer = put(world, body)
    assert answer.status_code == code, answer.content
    if path:
        assert answer.json()["problems"][0]["path"] == path
    assert not Setting.objects.exists()


def test_below_v1_errors_are_those_of_the_api(world: World) -> None:
    absent = Client().get("/v1/k8s/no-such", headers=world.headers("administrator"))
    assert (absent.status_code, absent.json()["code"]) == (404, 404)
    assert Client().get("/v1/k8s/setting").status_code == 401
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.people["administrator"])
    body = json.dumps({"key": "workloads.master", "value": False})
    answer = client.put("/v1/k8s/setting", body, content_type="application/json")
    assert answer.status_code == 403
    assert not Setting.objects.exists()


# What each of them does


def test_name_and_notice_stand_on_every_page(world: World) -> None:
    save(browser(world), "general", general__name="Atlas", general__notice="Closed on <Friday>")
    page = browser(world, "stranger").get("/").content.decode()
    assert "– Atlas</title>" in page
    assert "Closed on &lt;Friday&gt;" in page
    assert "– Atlas</title>" in Client().get("/login").content.decode()


def test_the_quick_start_can_be_switched_off(world: World) -> None:
    make(
        "template",
        scope=world.vision.scope,
        name=SAMPLE,
        framework="XGBoost",
        configuration="workersAndMaster",
        values={},
    )
    client = browser(world, "researcher-vision")
    assert 'id="first-steps"' in client.get("/").content.decode()
    turn(catalogue.QUICK_START, False)
    assert 'id="first-steps"' not in client.get("/").content.decode()


@pytest.mark.parametrize(
    ("setting", "field", "typed"),
    [
        (
            catalogue.TOPOLOGY,
            "worker.podAffinity.key",
            {"worker.podAffinity.key": ZONE, "worker.podAffinity.type": "Preferred"},
        ),
        (catalogue.TOLERATIONS, "worker.tolerations", {}),
    ],
)
def test_a_toggle_hides_an_empty_section_and_no_other(
    filler: Filler,
    monkeypatch: pytest.MonkeyPatch,
    setting: Declared[bool],
    field: str,
    typed: Mapping[str, str],
) -> None:
    monkeypatch.setattr(LocalDriver, "unsupported", {})
    filler.fill()
    assert not filler.get("workers").page.has(data_testid=f"f-{field}")
    turn(setting, True)
    assert filler.get("workers").page.has(data_testid=f"f-{field}")
    if typed:
        filler.post("workers", typed)
    else:
        filler.post("workers", go=f"add:{field}")
    turn(setting, False)
    page = filler.get("workers").page
    assert "Switched off by your administrator" in page.one(data_testid=f"f-{field}").text
    if typed:
        filler.post("workers", dict.fromkeys(typed, ""))
    else:
        (row,) = (value for name, value in page.fields() if name == f"{field}~rows" and value)
        filler.post("workers", go=f"remove:{field}~{row}")
    assert not filler.get("workers").page.has(data_testid=f"f-{field}")


def test_without_a_set_up_of_its_own_the_master_has_no_step(filler: Filler) -> None:
    filler.fill()
    assert filler.get("workers").page.all(value="step:master")
    turn(catalogue.MASTER, False)
    assert not filler.get("workers").page.all(value="step:master")
    assert filler.post("workers").location.partition("?")[0].endswith("/review")
    turn(catalogue.MASTER, True)
    filler.post("master", {"master.different": "on", "master.compute.cpuCoreRequest": "0.25"})
    turn(catalogue.MASTER, False)
    assert filler.get("workers").page.all(value="step:master")


def test_projects_may_be_freed_from_the_limit_of_their_department(world: World) -> None:
    def give(gpus: int) -> None:
        parts = {"quotas": [{"node_pool": pool, "gpus": gpus}]}
        services.update(get("project"), actor=None, obj=world.vision, values={}, parts=parts)

    (pool,) = pools_of(world.cluster)
    for_all = {"quotas": [{"node_pool": pool, "gpus": 4}]}
    services.update(get("department"), actor=None, obj=world.department, values={}, parts=for_all)
    with pytest.raises(Refused):
        give(8)
    turn(catalogue.LIMIT_TO_DEPARTMENT, False)
    give(8)


def test_quotas_of_cpu_cores_are_shown_where_there_are_some(world: World) -> None:
    client, edit = browser(world), f"/projects/{world.vision.pk}/edit"
    shown = 'name="quotas.0.cpus"'
    assert shown not in client.get(edit).content.decode()
    turn(catalogue.CPU_QUOTA, True)
    assert shown in client.get(edit).content.decode()
    (pool,) = pools_of(world.cluster)
    parts = {"quotas": [{"node_pool": pool, "cpus": 8}]}
    services.update(get("project"), actor=None, obj=world.vision, values={}, parts=parts)
    turn(catalogue.CPU_QUOTA, False)
    assert shown in client.get(edit).content.decode()
    page = client.get(f"/projects/{world.nlp.pk}").content.decode()
    assert "CPU cores" not in page


def test_a_session_lasts_as_long_as_is_set(world: World) -> None:
    client = browser(world)
    session = client.session
    session["started_at"] -= 2 * 3600
    session.save()
    assert client.get("/settings").status_code == 200
    turn(catalogue.SESSION_HOURS, 1)
    assert client.get("/settings").status_code == 302


def test_a_session_may_be_idle_for_as_long_as_is_set(world: World) -> None:
    client = browser(world)
    session = client.session
    session["seen_at"] -= 30 * 60
    session.save()
    assert client.get("/settings").status_code == 200
    session = client.session
    session["seen_at"] -= 30 * 60
    session.save()
    turn(catalogue.IDLE_MINUTES, 10)
    assert client.get("/settings").status_code == 302


def test_a_new_password_is_as_long_as_is_set(world: World) -> None:
    user = world.people["administrator"]
    check_password("kettle-rust-blue", user)
    turn(catalogue.PASSWORD_LENGTH, 20)
    with pytest.raises(ValidationError):
        check_password("kettle-rust-blue", user)


def test_a_token_lives_as_long_as_is_set(world: World) -> None:
    user = world.people["administrator"]
    turn(catalogue.TOKEN_DAYS, 7)
    with pytest.raises(CannotMake):
        make_token(user=user, name="ci", days=8)
    turn(catalogue.TOKEN_DAYS, 120)
    make_token(user=user, name="ci", days=120)
    assert ApiToken.objects.count() == 1


def test_what_is_kept_is_kept_as_long_as_is_set(world: World) -> None:
    now = db_now()
    for days in (5, 20):
        AuditEntry.objects.create(at=now - timedelta(days=days), action="setting.edit")
    filler = Filler(world, tab="tab-1")
    filler.fill()
    filler.post("review", go="create")
    Workload.objects.update(deleted_at=now - timedelta(days=5))
    prune()
    assert Workload.objects.count() == 1
    turn(catalogue.AUDIT_DAYS, 10)
    turn(catalogue.DELETED_DAYS, 4)
    prune()
    assert [entry.at for entry in AuditEntry.objects.filter(at__lt=now - timedelta(days=1))] == [
        now - timedelta(days=5)
    ]
    assert not Workload.objects.exists()


def test_a_log_is_cut_where_is_set(world: World) -> None:
    cluster = Cluster.objects.get(pk=world.cluster.pk)
    before = driver_for(cluster)
    assert driver_for(cluster) is before
    turn(catalogue.LOG_BYTES, 1 << 25)
    driver = driver_for(cluster)
    assert isinstance(driver, LocalDriver)
    assert driver.options.log_limits.cap == 1 << 25
