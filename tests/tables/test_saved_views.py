"""Saved views: saved beside their table, changed by their owner, seen by those they are for."""

import json
from typing import Any

import pytest
from django.test import Client

from gangline.audit.models import AuditEntry
from gangline.resources.services import make
from gangline.tables.models import SavedView
from tests.support.world import World

pytestmark = pytest.mark.django_db
OWNER = "researcher-vision"
SEEN_BY = {
    "private": set(),
    "project": {"administrator", "head", "project_administrator-vision", "viewer-vision"},
    "everyone": {
        "administrator", "head", "project_administrator-vision", "viewer-vision",
        "researcher-nlp", "stranger",
    },
}  # fmt: skip
"""Beside their owner."""


def api(world: World, who: str, method: str, path: str = "", body: Any = None) -> Any:
    data = b"" if body is None else json.dumps(body).encode()
    url = f"/api/v1/views{path}"
    return Client(headers=world.headers(who)).generic(method, url, data, "application/json")


@pytest.mark.parametrize("shared", SEEN_BY)
def test_others_see_what_is_shared_with_them_and_change_nothing(world: World, shared: str) -> None:
    scope = world.vision.scope if shared == "project" else None
    view = make(
        "saved_view", owner=world.people[OWNER], table="projects", name="kestrel", shared=shared,
        scope=scope, query="q=canary",
    )  # fmt: skip
    for person in SEEN_BY["everyone"]:
        sees = person in SEEN_BY[shared]
        page = world.client(person)
        assert api(world, person, "GET", f"/{view.pk}").status_code == (200 if sees else 404)
        assert len(api(world, person, "GET").json()["views"]) == sees, person
        assert api(world, person, "GET", "/count").json()["count"] == sees
        for url in ("/tables/projects/views", "/views", f"/views/{view.pk}", "/views.csv"):
            answer = page.get(url)
            text = b"".join(answer) if answer.streaming else answer.content
            assert (b"kestrel" in text) == sees, (person, url)
        for method, body in (("PUT", {"name": "taken", "shared": "everyone"}), ("DELETE", None)):
            assert api(world, person, method, f"/{view.pk}", body).status_code == 404, person
        for verb in ("edit", "delete"):
            assert page.post(f"/views/{view.pk}/{verb}", {"name": "taken"}).status_code == 404
    view.refresh_from_db()
    assert (view.name, view.version) == ("kestrel", 1)


def test_a_view_goes_only_to_a_project_that_one_sees(world: World) -> None:
    body = {"name": "ours", "table": "workloads", "shared": "project"}
    refused = [
        api(world, OWNER, "POST", "", body | more)
        for more in ({}, {"projectId": str(world.nlp.pk)}, {"projectId": "999999"})
    ]
    assert [one.status_code for one in refused] == [400, 400, 400]
    assert {one.json()["problems"][0]["path"] for one in refused} == {"projectId"}
    foreign, absent = (one.json()["problems"][0] for one in refused[1:])
    assert foreign == absent
    made = api(world, OWNER, "POST", "", body | {"projectId": str(world.vision.pk)})
    assert (made.status_code, made.json()["projectId"]) == (201, str(world.vision.pk))
    alone = api(world, OWNER, "PUT", f"/{made.json()['id']}", {"shared": "private"})
    assert (alone.status_code, alone.json()["projectId"]) == (200, None)


def test_a_view_of_a_table_that_is_no_longer_there_is_not_listed(world: World) -> None:
    view = make("saved_view", owner=world.people[OWNER], table="projects", name="kestrel")
    SavedView.objects.update(table="gone")
    page = world.client(OWNER)
    assert [page.get(url).status_code for url in ("/views", f"/views/{view.pk}")] == [200, 404]
    assert api(world, OWNER, "GET").json()["views"] == []


def test_a_view_keeps_what_its_table_shows(world: World) -> None:
    kept = "q=a&sort=-status&status=Failed&project=vision,nlp"
    body = {"name": "bad ones", "table": "workloads", "query": kept}
    made = api(world, OWNER, "POST", "", body).json()
    assert dict(p.split("=") for p in made["query"].split("&")) == dict(
        p.split("=") for p in kept.split("&")
    )
    page = world.client(OWNER)
    opened = page.get(f"/workloads?{made['query']}&view={made['id']}")
    assert opened.context["page"].query.sort == "-status"
    assert made["owner"] == OWNER


def test_a_view_is_saved_renamed_and_shared_on_the_page(world: World) -> None:
    page = world.client(OWNER)
    here = "/tables/projects/views?q=vis&after=x&colour=red"
    for name, status in (("mine", 302), ("Mine", 422)):
        assert page.post(here, {"name": name, "shared": "private"}).status_code == status
    view = SavedView.objects.get()
    assert (view.name, view.query) == ("mine", "q=vis")
    edit = page.get(f"/views/{view.pk}/edit?next=/projects")
    shown = edit.context["form"].initial
    typed = {"name": "ours", "shared": "project", "scope": "", "query": shown["query"]}
    typed["version"] = shown["version"]
    assert page.post(f"/views/{view.pk}/edit", typed).status_code == 422
    typed["scope"] = str(world.vision.scope.pk)
    saved = page.post(f"/views/{view.pk}/edit?next=/projects", typed)
    assert (saved.status_code, saved["Location"]) == (302, "/projects")
    assert page.post(f"/views/{view.pk}/edit", typed).status_code == 409
    assert "ours" in world.client("viewer-vision").get("/tables/projects/views").content.decode()
    (entry,) = AuditEntry.objects.filter(action="saved_view.edit")
    assert set(entry.detail) == {"name", "shared", "scope"}
    gone = page.post(f"/views/{view.pk}/delete?next=/projects")
    assert (gone["Location"], SavedView.objects.count()) == ("/projects", 0)
