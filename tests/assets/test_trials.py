"""Testing connections from forms and pages: what is typed is tried, and nothing is stored."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assets.models import Asset, Credential
from gangline.access.models import AccessRule
from gangline.audit.models import AuditEntry
from gangline.clusters import trials
from gangline.db.clock import db_now
from gangline.drivers.trials import runner
from gangline.drivers.trials.places import Outcome, Place, found
from gangline.resources.services import make
from tests.support import registries, repositories
from tests.support.forms import Filler, Page
from tests.support.repositories import Repository
from tests.support.world import World

pytestmark = pytest.mark.usefixtures("loopback_admitted")
SECRET = registries.PASSWORD
GIT = "worker.storage.git~"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "PAUSE", 0.0)


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    with repositories.serving(tmp_path / "served") as made:
        made.commit("one")
        made.login = ("ada", SECRET)
        yield made


def login(world: World, **values: Any) -> Credential:
    login = {"kind": "password", "given": {"user": "ada", "password": SECRET}}
    values = {"name": "login", "scope": world.vision.scope, **login, **values}
    made: Credential = make("credential", **values)
    return made


def typed(
    world: World, repository: Repository, credential: str = "", **more: str
) -> dict[str, Any]:
    item = {f"{GIT}item.repository": repository.url, f"{GIT}item.secretRef.name": credential}
    rest = {"scope": str(world.vision.scope.pk), f"{GIT}rows": "item", "_go": "test"}
    return {**item, **rest, **more}


def sent(world: World, who: str, path: str, data: Any) -> tuple[int, str, Page]:
    """Status, code of the outcome, and the page."""
    client = world.client(who)
    answer = client.post(path, data)
    page = Page(answer.content.decode())
    assert SECRET not in page.html
    codes = [e.attributes["data-code"] for e in page.elements if "data-code" in e.attributes]
    return answer.status_code, codes[0] if codes else "", page


def test_what_is_typed_is_tried_and_stays_and_nothing_is_stored(
    world: World, repository: Repository, caplog: pytest.LogCaptureFixture
) -> None:
    name = login(world).object_name
    at, who = "/data-sources/git/new", "researcher-vision"

    def code(credential: str = "", **more: str) -> str:
        status, found, page = sent(world, who, at, typed(world, repository, credential, **more))
        assert status == 200, found
        assert page.one(name=f"{GIT}item.repository").attributes["value"]
        assert not page.has(class_="errors-link")
        return found

    assert code() == "login"
    assert code(name) == "repository"
    assert code(name, **{f"{GIT}item.branch": "dev"}) == "no_branch"
    assert code("password-other") == "unheld"
    assert code(name, **{f"{GIT}item.repository": "ftp://x"}) == "values"
    assert code(name, **{f"{GIT}item.secretRef.authenticationMethod": "ssh-key"}) == "no_key"
    assert not Asset.objects.exists()
    entries = AuditEntry.objects.filter(action="git.test")
    assert {entry.result for entry in entries} == {"ok", "failed"}
    assert SECRET not in json.dumps([[e.reason, e.detail, e.object_name] for e in entries])
    assert SECRET not in caplog.text


def test_a_credential_is_not_sent_for_who_could_not_use_it(
    world: World, repository: Repository
) -> None:
    """Who manages data sources alone would otherwise have it sent to a server of their own."""
    person, name = world.people["stranger"], login(world).object_name
    AccessRule.objects.create(
        user=person,
        role="data_source_administrator",
        scope=world.vision.scope,
        created_at=db_now(),
    )
    at = "/data-sources/git/new"
    assert sent(world, "stranger", at, typed(world, repository))[1] == "login"
    calls = repository.calls
    assert sent(world, "stranger", at, typed(world, repository, name))[1] == "no_right"
    elsewhere = typed(world, repository, name, scope=str(world.nlp.scope.pk))
    assert sent(world, "researcher-vision", at, elsewhere)[1] == "scope"
    own = typed(world, repository, name, scope=str(world.nlp.scope.pk))
    assert sent(world, "researcher-nlp", at, own)[1] == "unheld"
    assert sent(world, "viewer-vision", at, typed(world, repository))[0] == 403
    assert repository.calls == calls


def test_it_is_tried_within_the_form_of_a_workload(world: World, repository: Repository) -> None:
    filler = Filler(world)
    filler.ready()
    name = login(world).object_name
    at = f"{filler.url('workers')}?new=worker.git"
    data = typed(world, repository, name, scope=str(world.nlp.scope.pk))
    page = Page(filler.client.post(at, data).content.decode())
    assert page.has(data_code="repository"), "a scope that is not asked for does not count"
    assert page.one(name=f"{GIT}item.repository").attributes["value"] == repository.url
    assert not Asset.objects.exists()
    assert not Page(
        filler.client.get(f"{filler.url('workers')}?new=worker.nfs").content.decode()
    ).has(data_testid="test-connection")


@pytest.mark.needs_registry
def test_a_login_at_a_registry_is_tried_as_typed_and_as_stored(
    world: World, tmp_path: Path
) -> None:
    with registries.serving(tmp_path, "token") as url:
        _registry(world, url)


def _registry(world: World, url: str) -> None:
    who, at = "project_administrator-vision", "/credentials/new"
    data = {"kind": "dockerRegistry", "scope": str(world.vision.scope.pk), "_go": "test"}
    data |= {"dockerRegistry.url": url, "dockerRegistry.user": "ada"}
    assert sent(world, who, at, data)[1] == "values"
    assert sent(world, who, at, data | {"dockerRegistry.password": SECRET})[1] == "registry"
    assert sent(world, who, at, data | {"dockerRegistry.password": "other"})[1] == "refused"
    assert not Credential.objects.exists()
    given = {"url": url, "user": "ada", "password": SECRET}
    one = login(world, kind="dockerRegistry", given=given)
    assert sent(world, who, f"/credentials/{one.pk}/test", {})[1] == "registry"
    rotation = {"dockerRegistry.url": url, "dockerRegistry.user": "eve", "_go": "test"}
    rotation["dockerRegistry.password"] = SECRET
    assert sent(world, who, f"/credentials/{one.pk}/values", rotation)[1] == "refused"
    assert Credential.objects.get().rotations == 1
    own = {**data, "dockerRegistry.password": SECRET}
    assert sent(world, "viewer-vision", "/my-credentials/new", own)[1] == "registry"


def test_what_is_stored_is_tried_from_its_page(world: World, repository: Repository) -> None:
    name = login(world).object_name
    item = {"repository": repository.url, "path": "/code", "secretRef": {"name": name}}
    scope = world.vision.scope
    git = make("git", scope=scope, name="code", values={"storage.git": [item]})
    nfs_item = {"server": "nfs", "path": "/x", "mountPath": "/x"}
    nfs = make("nfs", scope=scope, name="sets", values={"storage.nfs": [nfs_item]})
    at, who = f"/data-sources/git/{git.pk}", "researcher-vision"
    assert sent(world, who, f"{at}/test", {})[1] == "repository"
    assert sent(world, "viewer-vision", f"{at}/test", {})[0] == 403
    assert sent(world, "researcher-nlp", f"{at}/test", {})[0] == 404
    client = world.client(who)
    assert client.get(f"{at}/test").headers["Location"] == at
    assert Page(client.get(at).content.decode()).has(data_testid="test-connection")
    other = f"/data-sources/nfs/{nfs.pk}"
    assert not Page(client.get(other).content.decode()).has(data_testid="test-connection")
    plain = login(world, name="plain")
    for path in (f"/credentials/{plain.pk}", f"{other}"):
        assert client.post(f"{path}/test").status_code in (403, 404, 405), path


def test_one_person_has_one_test_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "PAUSE", 60.0)
    tried: list[Place] = []

    def outcome_of(place: Place, *rest: Any) -> Outcome:
        tried.append(place)
        return found("repository")

    monkeypatch.setattr(runner, "outcome_of", outcome_of)
    made = Repository.__new__(Repository)
    made.url = "https://git.example/a"
    at, data = "/data-sources/git/new", typed(world, made)
    codes = [sent(world, "researcher-vision", at, data)[1] for _ in range(2)]
    assert codes == ["repository", "busy"]
    assert sent(world, "project_administrator-vision", at, data)[1] == "repository"
    assert len(tried) == 2
