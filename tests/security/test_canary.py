"""A secret of every type goes through all that there is, and nothing but its seal remembers it.

Where it does arrive, in Secrets and processes, the tests of the drivers look.
"""

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import transaction
from django.test import Client

from assets.credentials import store
from assets.credentials.types import TYPES
from assets.models import Credential
from gangline.clusters import credentials
from gangline.clusters.models import Cluster
from gangline.drivers.kubernetes import access as kubernetes
from gangline.drivers.registry import DRIVERS
from gangline.drivers.slurm import access as slurm
from gangline.people.services import give
from gangline.resources.registry import resources
from gangline.resources.services import make
from tests.assets.test_credentials import CANARY, SPECS, _spoiled, call
from tests.support.forms import Filler
from tests.support.world import IMAGE, World
from workloads.models import Attempt

SKIPPED = re.compile(r"^/(?:static|sign-out|logout|api/docs)|\.svg$")
VARIABLES = "worker.environmentVariables"
WRITTEN = ("yaml", "curl", "cli", "python")
NATIVE = {"kubernetes": kubernetes.ClusterCredentials("https://192.0.2.7:6443", token=CANARY),
          "slurm": slurm.ClusterCredentials(key=CANARY)}  # fmt: skip
"""How Gangline signs in to the engines whose own form of a workload is shown, but this machine."""


def crawled(client: Client) -> Iterator[tuple[str, str]]:
    """Every page that can be reached by links, once for each address and set of parameters."""
    todo, seen = ["/"], set()
    while todo:
        url = todo.pop()
        path, _, query = url.partition("?")
        key = (path, tuple(sorted(re.findall(r"(\w+)=", query))))
        if key in seen or SKIPPED.search(path):
            continue
        seen.add(key)
        answer = client.get(url)
        text = answer.getvalue().decode(errors="replace")
        yield url, f"{answer.headers}{text}"
        found = re.findall(r'(?:href|hx-get|action)="(/[^"#]*)', text)
        todo += [one.replace("&amp;", "&") for one in [*found, answer.headers.get("Location", "")]
                 if one.startswith("/")]  # fmt: skip


def answered(world: World) -> Iterator[tuple[str, str]]:
    """Every list of the API, and each of its objects."""
    paths = sorted({one.wire.path for one in resources() if one.wire})
    for path in paths:
        text = call(world, "GET", path).content.decode()
        yield path, text
        for key in set(re.findall(r'"(?:id|uid)": ?"?([0-9a-f-]+)"?', text)):
            yield f"{path}/{key}", call(world, "GET", f"{path}/{key}").content.decode()


def planted(world: World, client: Client) -> Iterator[tuple[str, str]]:
    """Each type by API and by form, wrong at first; what was answered."""
    place = {"scope": "department", "departmentId": world.department.pk}
    for kind, spec in SPECS.items():
        for wrong in (
            _spoiled(kind),
            {**spec, "existingSecretName": "x"},
            json.dumps(spec),
            [spec],
        ):
            body = {"meta": {"name": f"api-{kind.lower()}", **place}, "spec": wrong}
            yield (
                kind,
                call(world, "POST", f"asset/credentials/{TYPES[kind].path}", body).content.decode(),
            )
        body = {"meta": {"name": f"api-{kind.lower()}", **place}, "spec": {kind: spec}}
        yield kind, call(world, "POST", "asset/credentials", body).content.decode()
        mine = {**body, "meta": {"name": f"mine-{kind.lower()}"}}
        yield (
            kind,
            call(world, "POST", "user-credentials", mine, "researcher-vision").content.decode(),
        )
        texts = {"kind": kind, "scope": str(world.department.scope_id)}
        pairs = spec.get("keyValuePairs") or ()
        texts |= {f"{kind}.{n}": v for n, v in spec.items() if isinstance(v, str)}
        for number, pair in enumerate(pairs):
            texts |= {f"{kind}.keyValuePairs.{number}.{n}": v for n, v in pair.items()}
        texts |= {"pairs": "3"} if pairs else {}
        for name, go in (("", ""), (f"form-{kind.lower()}", "test"), (f"form-{kind.lower()}", "")):
            answer = client.post("/credentials/new", {**texts, "name": name, "_go": go})
            yield f"{kind} {go}", answer.content.decode()


def rows() -> Iterator[str]:
    """Everything that is stored."""
    for model in apps.get_models():
        for row in model._default_manager.values():
            yield f"{model.__name__}: {row}"


def equivalent(filler: Filler, key: str) -> str:
    """The draft as it is said in another way: the credential by its name.

    A batch script has the variables in a file beside it.
    """
    answer = filler.client.get(f"/workloads/new/{filler.draft}/as/{key}")
    text: str = answer.content.decode()
    named = "digits" if key == "slurm" else "genericsecret-api-genericsecret"
    assert (answer.status_code, named in text) == (200, True), key
    return text


@pytest.mark.django_db
def test_a_value_is_found_nowhere(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    person = world.people["researcher-vision"]
    give(actor=None, user=person, role="credentials_administrator", scope=world.vision.scope)
    client = Client(raise_request_exception=False)
    client.force_login(world.people["administrator"])
    told = list(planted(world, client))
    made = sorted(Credential.objects.values_list("name", flat=True))
    assert len(made) == 3 * len(SPECS), made
    for sealed in Credential.objects.all():
        assert CANARY in str(store.data_of(sealed)) or "auths" in str(store.data_of(sealed))

    def broken(*_: Any) -> None:
        local = CANARY  # noqa: F841  a crash report would show it
        raise RuntimeError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(store, "keep", broken)
        told += list(planted(world, client))

    secret = {"name": "genericsecret-api-genericsecret", "key": "a"}
    values = {"image": IMAGE, "environmentVariables": [{"name": "A", "secret": secret}]}
    make("environment", scope=world.vision.scope, name="env", values=values)
    login = {"name": "password-api-password", "authenticationMethod": "password"}
    item = {"repository": "https://git.example/a", "path": "/code", "secretRef": login}
    source = make("git", scope=world.vision.scope, name="code", values={"storage.git": [item]})
    filler = Filler(world)
    filler.fill()
    filler.post("workers", {"worker.data~asset": str(source.pk)})
    filler.post("workers", go=f"add:{VARIABLES}")
    (row,) = [v for n, v in filler.get("workers").page.fields() if n == f"{VARIABLES}~rows" and v]
    typed = {"name": "TOKEN", "~choice": "secret", "secret.name": secret["name"], "secret.key": "a"}
    filler.post("workers", {f"{VARIABLES}~{row}.{n}": v for n, v in typed.items()})
    review = filler.get("review", check="1").page
    told.append(("review", review.html))
    shown = [key for key, kind in DRIVERS.items() if kind.native_word]
    assert set(shown) == {"local", *NATIVE}
    for key in (*WRITTEN, "local"):
        told.append((key, equivalent(filler, key)))
    with transaction.atomic():
        filler.post("workers", {"worker.image": "registry.lab:5000/ddp:1"})
        for key, access in NATIVE.items():
            Cluster.objects.filter(pk=world.cluster.pk).update(
                kind=key, host_id="", facts={"detail": {"containers": "apptainer"}}
            )
            credentials.store(Cluster.objects.get(pk=world.cluster.pk), access, by=None)
            told.append((key, equivalent(filler, key)))
        transaction.set_rollback(True)
    told.append(("created", str(filler.post("review", go="create").page.html)))
    assert Attempt.objects.get().value(VARIABLES)[0]["secret"] == secret
    (one,) = Credential.objects.filter(name="api-password")
    rotation = {"password.user": "me", "password.password": CANARY, "version": str(one.version)}
    told.append(("rotated", str(client.post(f"/credentials/{one.pk}/values", rotation).headers)))

    pages = dict(crawled(client))
    assert f"/credentials/{one.pk}" in pages
    assert f"/credentials/{one.pk}/values" in pages
    assert any(url.startswith("/credentials.csv") for url in pages)
    assert any("/audit" in url for url in pages)
    own = [f"/my-credentials/{mine.pk}" for mine in Credential.objects.exclude(owner=None)]
    for url in ("/my-credentials", "/my-credentials.csv", *own, *(f"{one}/values" for one in own)):
        told.append((url, filler.client.get(url).getvalue().decode()))
    told += [*pages.items(), *answered(world)]
    told += [("row", text) for text in rows()]
    told += [("log", caplog.text)]
    assert [where for where, text in told if CANARY in text] == []


def test_it_would_be_found(world: World) -> None:
    """The control: what is no secret does show."""
    make(
        "environment", scope=world.vision.scope, name="env", values={"image": IMAGE, "args": CANARY}
    )
    client = world.client("administrator")
    assert any(CANARY in text for _, text in crawled(client))
    assert any(CANARY in text for _, text in answered(world))
    assert any(CANARY in text for text in rows())
