"""Environments and compute resources made within the form."""

from typing import Any

import pytest

from assets.models import Asset, Credential
from gangline.people.services import give
from gangline.resources.services import make
from tests.support.forms import Filler, Page
from tests.support.world import IMAGE, World
from workloads.models import Attempt
from workloads.wizard import drafts

NEW = "new:worker.environment"


def _send(filler: Filler, address: str, **texts: str) -> tuple[int, str, Page]:
    answer = filler.client.post(address, texts)
    return answer.status_code, answer.headers.get("Location", ""), Page(answer.content.decode())


def test_made_in_the_form_it_comes_back_chosen_and_nothing_is_lost(
    filler: Filler, world: World
) -> None:
    filler.post("setup", {"workload.name": "digits"})
    opened = filler.post("workers", {"worker.command": "python train.py"}, go=NEW)
    assert opened.status == 303
    page = Page(filler.client.get(opened.location).content.decode())
    assert not page.has(data_testid="f-description")

    status, _, page = _send(filler, opened.location, name="pytorch-dt")
    assert status == 422
    assert page.has(id="f-worker-image-e")
    assert not Asset.objects.exists()

    status, back, _ = _send(
        filler, opened.location, **{"name": "pytorch-dt", "worker.image": IMAGE}
    )
    assert status == 303
    made = Asset.objects.get()
    assert made.scope == world.vision.scope
    assert made.values == {"image": IMAGE}
    assert back == f"{filler.url('workers')}#f-worker-environment~asset"
    page = filler.get("workers").page
    assert page.value("worker.environment~asset") == str(made.pk)
    assert page.value("worker.command") == "python train.py"

    opened = filler.post("workers", go="new:worker.compute")
    _send(filler, opened.location, **{"name": "small", "worker.compute.cpuCoreRequest": "0.25"})
    filler.post("workers")
    filler.post("review", go="create")
    attempt = Attempt.objects.get()
    assert attempt.value("worker.image") == IMAGE
    assert attempt.value("worker.compute.cpuCoreRequest") == 0.25


def test_what_cannot_be_chosen_any_more_is_not_made(
    filler: Filler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another tab created the workload after this page was asked for."""
    filler.post("setup", {"workload.name": "digits"})
    opened = filler.post("workers", go=NEW)

    def too_late(**_: object) -> None:
        raise drafts.AlreadySubmitted(filler.draft)

    monkeypatch.setattr(drafts, "save", too_late)
    typed = {"name": "pytorch-dt", "worker.image": IMAGE}
    status, _, page = _send(filler, opened.location, **typed)
    assert status == 422
    assert "pytorch-dt" in page.html
    assert not Asset.objects.exists()


def test_without_the_permission_there_is_no_button_and_no_way(world: World) -> None:
    give(actor=None, user=world.people["stranger"], role="l2_researcher", scope=world.vision.scope)
    filler = Filler(world, "stranger")
    filler.post("setup", {"workload.name": "digits"})
    assert not filler.get("workers").page.has(value=NEW)
    address = f"{filler.url('workers')}?new=worker.environment"
    status, _, _ = _send(filler, address, **{"name": "mine", "worker.image": IMAGE})
    assert status == 403
    assert not Asset.objects.exists()


VARIABLES = "worker.environmentVariables"


def test_a_credential_made_in_the_form_comes_back_chosen_in_a_row(
    filler: Filler, world: World
) -> None:
    give(
        actor=None,
        user=world.people["researcher-vision"],
        role="credentials_administrator",
        scope=world.vision.scope,
    )
    filler.fill()
    opened = filler.post(
        "workers",
        {"worker.command": "python other.py"},
        go="new:worker.credential.environmentVariables",
    )
    page = Page(filler.client.get(opened.location).content.decode())
    assert page.has(id="type-genericSecret")
    assert not page.has(id="type-dockerRegistry")
    texts = {
        "name": "hf",
        "kind": "genericSecret",
        "pairs": "3",
        "genericSecret.keyValuePairs.1.key": "token",
    }
    status, _, page = _send(filler, opened.location, **{**texts, "name": ""})
    assert status == 422
    key = {"name": "genericSecret.keyValuePairs.1.key"}
    assert page.one(**key).attributes["value"] == "token"
    status, _, page = _send(filler, opened.location, _go="more-pairs", **texts)
    assert (status, page.one(name="pairs").attributes["value"]) == (200, "6")
    assert page.one(**key).attributes["value"] == "token"
    value = {"genericSecret.keyValuePairs.1.value": "c4n4ry"}
    status, back, _ = _send(filler, opened.location, **texts, **value)
    assert status == 303
    assert back == f"{filler.url('workers')}#f-worker-environmentVariables"
    made = Credential.objects.get()
    assert made.scope == world.vision.scope
    page = filler.get("workers").page
    (row,) = [value for name, value in page.fields() if name == f"{VARIABLES}~rows" and value]
    assert page.value(f"{VARIABLES}~{row}.secret.name") == "genericsecret-hf"
    assert page.value(f"{VARIABLES}~{row}.secret.key") == "token"
    assert page.value("worker.command") == "python other.py"
    assert "c4n4ry" not in page.html
    filler.post("workers", {f"{VARIABLES}~{row}.name": "HF_TOKEN"})
    filler.post("review", go="create")
    attempt = Attempt.objects.get()
    assert attempt.value(VARIABLES) == [
        {"name": "HF_TOKEN", "secret": {"name": "genericsecret-hf", "key": "token"}}
    ]


@pytest.mark.parametrize(
    ("path", "attribute", "kind", "said", "also"),
    [
        (
            "storage.s3",
            "accessKeySecret",
            "accessKey",
            {"accessKeyId": "AKIA", "secretAccessKey": "c4n4ry"},
            {"bucket": "sets", "path": "/sets"},
        ),
        (
            "storage.git",
            "secretRef.name",
            "password",
            {"user": "me", "password": "c4n4ry"},
            {"repository": "https://git.example/a", "path": "/a"},
        ),
    ],
)
def test_a_credential_made_beside_data_stands_in_the_row_that_has_none(
    filler: Filler, world: World, path: str, attribute: str, kind: str, said: Any, also: Any
) -> None:
    role, someone = "credentials_administrator", world.people["researcher-vision"]
    give(actor=None, user=someone, role=role, scope=world.vision.scope)
    filler.fill()
    name = f"worker.{path}"
    filler.post("workers", go=f"add:{name}")
    page = filler.get("workers").page
    (row,) = [value for key, value in page.fields() if key == f"{name}~rows" and value]
    typed = {f"{name}~{row}.{key}": text for key, text in also.items()}
    opened = filler.post("workers", typed, go=f"new:worker.credential.{path}")
    page = Page(filler.client.get(opened.location).content.decode())
    assert page.has(id=f"type-{kind}")
    assert not page.has(id="type-dockerRegistry")
    values = {f"{kind}.{key}": text for key, text in said.items()}
    status, back, _ = _send(filler, opened.location, name="mine", kind=kind, **values)
    assert status == 303
    assert back.endswith(f"#f-worker-{path.replace('.', '-')}")
    page = filler.get("workers").page
    assert [v for key, v in page.fields() if key == f"{name}~rows" and v] == [row]
    assert page.value(f"{name}~{row}.{attribute}") == Credential.objects.get().object_name
    assert {key: page.value(key) for key in typed} == typed
    assert "c4n4ry" not in page.html


def test_a_variable_of_an_environment_says_what_to_fill_in(filler: Filler, world: World) -> None:
    made = make(
        "environment",
        scope=world.department.scope,
        name="tracked",
        values={
            "image": IMAGE,
            "environmentVariables": [{"name": "RUN", "description": "Name of your run"}],
        },
    )
    filler.fill()
    filler.post("workers", {"worker.environment~asset": str(made.pk)})
    page = filler.get("workers").page
    assert "Name of your run" in page.one(data_testid=f"f-{VARIABLES}").text
    filler.post("review", go="create")
    assert not Attempt.objects.exists()
    assert "must be filled in: Name of your run" in filler.get("review").page.html
    (row,) = [value for name, value in page.fields() if name == f"{VARIABLES}~rows" and value]
    filler.post("workers", {f"{VARIABLES}~{row}.value": "first"})
    filler.post("review", go="create")
    (variable,) = Attempt.objects.get().value(VARIABLES)
    assert (variable["name"], variable["value"]) == ("RUN", "first")
