"""A credential made within the form of an asset: it comes back named there, and nothing is lost."""

from typing import Any

import pytest
from django.test import Client

from assets.models import Asset, Credential, Template
from gangline.people.services import give
from gangline.resources.registry import get
from tests.support.forms import Page
from tests.support.world import IMAGE, World

CANARY = "c4n4ry-0b7e"
GIT = "worker.storage.git~item"
MADE = {
    "name": "hf",
    "genericSecret.keyValuePairs.0.key": "token",
    "genericSecret.keyValuePairs.0.value": CANARY,
    "kind": "genericSecret",
}
CASES = [
    (
        "git",
        {f"{GIT}.repository": "https://git.example/a", f"{GIT}.path": "/code"},
        "worker.credential.storage.git",
        {f"{GIT}.secretRef.name": "genericsecret-hf"},
    ),
    (
        "s3",
        {"worker.storage.s3~item.bucket": "sets", "worker.storage.s3~item.path": "/sets"},
        "worker.credential.storage.s3",
        {"worker.storage.s3~item.accessKeySecret": "genericsecret-hf"},
    ),
    (
        "environment",
        {"worker.image": IMAGE, "worker.workingDir": "/srv"},
        "worker.credential.environmentVariables",
        {".secret.name": "genericsecret-hf", ".secret.key": "token"},
    ),
    (
        "template",
        {"worker.image": IMAGE, "worker.command": "python 'a b.py'", "description": 'Ünïcode, "\n'},
        "worker.credential.environmentVariables",
        {".secret.name": "genericsecret-hf", ".secret.key": "token"},
    ),
]


class Person:
    """Somebody without scripts on the page of a new asset."""

    def __init__(self, world: World, key: str, who: str = "administrator") -> None:
        self.client, self.resource = Client(), get(key)
        self.client.force_login(world.people[who])
        self.address = f"{self.resource.list_url()}/new"
        self.page = Page(self.client.get(self.address).content.decode())

    def send(self, texts: dict[str, str], go: str = "", label: str = "") -> int:
        form = self.page.fields(aria_label=label or self.resource.label)
        sent: dict[str, Any] = {}
        for name, value in [*((n, v) for n, v in form if n not in texts), *texts.items()]:
            sent.setdefault(name, []).append(value)
        answer = self.client.post(self.address, {**sent, "_go": go})
        self.page = Page(answer.content.decode())
        return answer.status_code

    def inside(self, texts: dict[str, str], go: str = "") -> int:
        return self.send(texts, go, "New credential")

    def values(self) -> dict[str, str]:
        return dict(self.page.fields(aria_label=self.resource.label))


@pytest.mark.parametrize(("key", "typed", "what", "named"), CASES, ids=[c[0] for c in CASES])
def test_it_comes_back_named_and_what_was_typed_is_there(
    world: World, key: str, typed: dict[str, str], what: str, named: dict[str, str]
) -> None:
    person = Person(world, key)
    typed = {"name": "mine", "scope": str(world.vision.scope_id), **typed}
    assert person.send(typed, go=f"new:{what}") == 200
    assert person.page.has(id="type-genericSecret")
    assert not person.page.has(id="type-dockerRegistry")
    assert person.inside({**MADE, "name": ""}) == 422
    assert person.page.links == ["f-name"]
    assert person.inside({}, go="more-pairs") == 200
    assert person.inside({**MADE, "scope": str(world.department.scope_id)}) == 200
    assert "hf was created." in person.page.html
    (made,) = Credential.objects.all()
    assert made.scope == world.department.scope
    values = person.values()
    assert {name: values.get(name) for name in typed} == typed
    for ending, text in named.items():
        assert text in [value for name, value in values.items() if name.endswith(ending)]
    assert CANARY not in person.page.html
    variables = [name for name in values if name.endswith(".secret.name")]
    more = {variables[0].replace("secret.name", "name"): "HF_TOKEN"} if variables else {}
    assert person.send(more) == 302, person.page.links
    stored = Template.objects.get() if key == "template" else Asset.objects.get()
    assert made.object_name in str(stored.values)


def test_going_back_makes_nothing_and_keeps_what_was_typed(world: World) -> None:
    person = Person(world, "git")
    typed = {"name": "code", f"{GIT}.repository": "https://git.example/é"}
    person.send(typed, go="new:worker.credential.storage.git")
    assert person.inside({"name": "half"}, go="leave") == 200
    values = person.values()
    assert {name: values[name] for name in typed} == typed
    assert not Credential.objects.exists()


def test_an_asset_that_is_changed_gets_one_too(world: World) -> None:
    person = Person(world, "environment")
    person.send({"name": "mine", "scope": str(world.vision.scope_id), "worker.image": IMAGE})
    asset = Asset.objects.get()
    person.address = f"{person.resource.url(asset)}/edit"
    person.page = Page(person.client.get(person.address).content.decode())
    go = "new:worker.credential.environmentVariables"
    person.send({"worker.workingDir": "/srv"}, go=go)
    person.inside(MADE)
    values = person.values()
    assert values["worker.workingDir"] == "/srv"
    (row,) = [name for name in values if name.endswith(".secret.name")]
    assert person.send({row.replace("secret.name", "name"): "HF_TOKEN"}) == 302
    asset.refresh_from_db()
    assert asset.values["environmentVariables"][0]["secret"]["name"] == "genericsecret-hf"


def test_who_may_make_none_has_no_button_and_no_way(world: World) -> None:
    person = world.people["stranger"]
    give(actor=None, user=person, role="data_source_administrator", scope=world.vision.scope)
    someone = Person(world, "git", "stranger")
    button = "new:worker.credential.storage.git"
    assert not someone.page.has(value=button)
    assert Person(world, "git").page.has(value=button)
    someone.send({"name": "code"}, go=button)
    forged = {**MADE, "_outer": "name=code", "_for": "worker.credential.storage.git"}
    assert someone.client.post(someone.address, forged).status_code in (403, 422)
    assert not Credential.objects.exists()


@pytest.mark.parametrize("what", ["", "worker.credential.nothing", "x.credential.storage.git"])
def test_what_it_is_for_must_be_known(world: World, what: str) -> None:
    person = Person(world, "git")
    forged = {**MADE, "_outer": "name=code", "_for": what}
    assert person.client.post(person.address, forged).status_code == 404
    assert not Credential.objects.exists()
