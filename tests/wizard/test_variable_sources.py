"""Where a variable's value comes from, chosen in the form without scripts."""

from typing import Any

import pytest

from gangline.drivers.local.driver import LocalDriver
from gangline.drivers.local.kind import Local
from gangline.lib.problems import Refused
from gangline.policies.services import save
from gangline.resources.services import make
from gangline.scopes.selectors import tenant_scope
from tests.support.api import ApiClient
from tests.support.forms import Filler, Page
from tests.support.world import World
from workloads.models import Workload

LIST = "worker.environmentVariables"
SECRET = {"name": "WANDB_API_KEY", "~choice": "secret", "secret.name": "wandb", "secret.key": "key"}
POLICY = """
defaults:
  worker:
    environmentVariables:
      instances:
        - {name: TOKEN, value: none}
        - {name: WANDB_API_KEY, secret: {name: wandb, key: key}}
rules:
  worker:
    environmentVariables: {instances: {locked: [WANDB_API_KEY]}}
"""


@pytest.fixture
def ready(filler: Filler) -> Filler:
    filler.fill()
    return filler


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a cluster that has every source."""
    monkeypatch.setattr(LocalDriver, "unsupported", {})
    monkeypatch.setattr(Local, "keeps_secrets", True)


def last_row(page: Page) -> str:
    return [value for name, value in page.fields() if name == f"{LIST}~rows" and value][-1]


def type_in(filler: Filler, texts: dict[str, str]) -> str:
    """Add a row with these texts; its id."""
    filler.post("workers", go=f"add:{LIST}")
    row = last_row(filler.get("workers").page)
    filler.post("workers", {f"{LIST}~{row}.{name}": text for name, text in texts.items()})
    return row


def said() -> Any:
    return Workload.objects.get().given[LIST]["value"]


def test_a_key_of_a_secret_is_chosen_and_sent(ready: Filler, everywhere: None) -> None:
    row = type_in(ready, SECRET)
    page = ready.get("workers").page
    assert page.value(f"{LIST}~{row}.~choice") == "secret"
    assert page.value(f"{LIST}~{row}.secret.key") == "key"
    assert "Credential wandb / key" in ready.get("review").page.html
    ready.post("review", go="create")
    assert said() == [{"name": "WANDB_API_KEY", "secret": {"name": "wandb", "key": "key"}}]


def test_what_was_typed_for_another_source_is_kept_and_not_sent(
    ready: Filler, everywhere: None
) -> None:
    row = type_in(ready, SECRET | {"value": "typed before", "~choice": "configMap",
                                   "configMap.name": "nccl", "configMap.key": "debug"})  # fmt: skip
    page = ready.get("workers").page
    assert page.value(f"{LIST}~{row}.value") == "typed before"
    assert page.value(f"{LIST}~{row}.secret.name") == "wandb"
    ready.post("review", go="create")
    assert said() == [{"name": "WANDB_API_KEY", "configMap": {"name": "nccl", "key": "debug"}}]


def test_a_slip_is_told_at_its_cell(ready: Filler, everywhere: None) -> None:
    row = type_in(ready, SECRET | {"secret.key": "a b"})
    page = ready.post("workers").page
    cell = page.one(id=f"f-worker-environmentVariables-{row}-secret-key")
    assert cell.attributes["aria-invalid"] == "true"
    other = page.one(id=f"f-worker-environmentVariables-{row}-secret-name")
    assert "aria-invalid" not in other.attributes
    assert "Key in the credential of environment variable WANDB_API_KEY must have" in page.html


def test_a_laptop_offers_values_alone(ready: Filler) -> None:
    row = type_in(ready, {"name": "SEED", "value": "1"})
    page = ready.get("workers").page
    assert page.value(f"{LIST}~{row}.value") == "1"
    assert not page.has(name=f"{LIST}~{row}.~choice")
    assert not page.has(name=f"{LIST}~{row}.secret.name")


def test_a_laptop_refuses_a_secret_that_is_no_credential_at_its_row(ready: Filler) -> None:
    type_in(ready, {"name": "SEED", "value": "1"})
    row = type_in(ready, SECRET)
    page = ready.post("workers").page
    text = page.one(data_testid=f"row-f-worker-environmentVariables-{row}").text
    assert "must be a credential of this project" in text
    assert page.one(data_testid=f"f-{LIST}").text.count("must be a credential") == 1
    ready.post("review", go="create")
    assert not Workload.objects.exists()
    ready.post("workers", {f"{LIST}~{row}.~choice": "", f"{LIST}~{row}.value": "plain"})
    ready.post("review", go="create")
    assert said()[1] == {"name": "WANDB_API_KEY", "value": "plain"}


def test_a_policys_default_gives_way_to_another_source(
    ready: Filler, everywhere: None, world: World
) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    page = ready.get("workers").page
    (row,) = [value for name, value in page.fields() if name == f"{LIST}~rows" and value]
    ready.post("workers", {f"{LIST}~{row}.{n}": t for n, t in SECRET.items() if n != "name"})
    ready.post("review", go="create")
    workload = Workload.objects.get()
    effective = workload.attempts.get().effective[LIST]["value"]
    secret = {"name": "wandb", "key": "key"}
    assert effective == [
        {"name": "TOKEN", "secret": secret},
        {"name": "WANDB_API_KEY", "secret": secret},
    ]


def test_a_credential_of_ones_own_must_be_chosen(ready: Filler, world: World) -> None:
    own = {"genericSecret": {"keyValuePairs": [{"key": "token", "value": "x"}]}}
    mine = {"meta": {"name": "my-hf"}, "spec": own}
    assert ApiClient(world, "researcher-vision").post("user-credentials", mine).status_code == 202
    row = type_in(ready, {"name": "HF_TOKEN", "~choice": "userCredential"})
    refused = ready.post("workers")
    assert refused.status == 422
    cell = refused.page.one(name=f"{LIST}~{row}.userCredential.name")
    assert cell.attributes["aria-invalid"] == "true"


def test_ones_own_credential_is_refused_for_git_with_what_it_serves(
    ready: Filler, world: World
) -> None:
    own: dict[str, Any] = {
        "owner": world.people["researcher-vision"],
        "scope": tenant_scope(),
        "kind": "password",
    }
    make("personal_credential", name="mine", given={"user": "u", "password": "p"}, **own)
    ready.post("workers", go="add:worker.storage.git")
    page = ready.get("workers").page
    (row,) = [text for name, text in page.fields() if name == "worker.storage.git~rows" and text]
    git = {"repository": "https://git.example/a", "path": "/a", "secretRef.name": "mine"}
    page = ready.post(
        "workers", {f"worker.storage.git~{row}.{name}": text for name, text in git.items()}
    ).page
    assert "Your own credentials work for variables and images only" in page.html
    assert "your own work for variables and images only" in page.html


def test_a_data_source_names_a_credential_that_is_known_where_it_holds(
    ready: Filler, world: World
) -> None:
    """Of one that went since, the form tells once: a master has it from the workers."""
    login: dict[str, Any] = {"kind": "password", "given": {"user": "u", "password": "p"}}
    known = make("credential", scope=world.vision.scope, name="git", **login)
    item = {"repository": "https://git.example/a", "path": "/a"}

    def source(name: str) -> Any:
        secret = {"name": name, "authenticationMethod": "password"}
        values = {"storage.git": [{**item, "secretRef": secret}]}
        return make("git", scope=world.vision.scope, name="code", values=values)

    with pytest.raises(Refused) as refused:
        source("password-nothere")
    assert [(p.path, p.rule) for p in refused.value.problems] == [
        ("spec.secretRef.name", "options")
    ]
    typed = {"repository": "https://git.example/a", "path": "/a", "secretRef.name": "nothere"}
    typed = {f"worker.storage.git~item.{name}": text for name, text in typed.items()}
    at = f"{ready.url('workers')}?new=worker.git"
    answer = ready.client.post(at, {"name": "a", "worker.storage.git~rows": "item", **typed})
    assert answer.status_code in (403, 422)
    made = source(known.object_name)
    ready.post("workers", {"worker.data~asset": [str(made.pk)]})
    ready.post("master", {"master.different~asked": "1", "master.different": "on"}, go="apply")
    type(known).objects.filter(pk=known.pk).delete()
    assert "1 thing to fix" in ready.get("review").page.html
