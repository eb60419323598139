"""What every way in accepts is stored as the very same workload."""

import io
import os
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
import yaml
from django.db import transaction
from hypothesis import HealthCheck, assume, given, settings

from gangline.policies.document import InvalidPolicy
from gangline.policies.services import save
from gangline.spec.frameworks import WORKERS_ONLY
from gangline.spec.values import nest
from gangline_cli.main import main
from gangline_sdk import Client
from tests.forms.test_equivalence import (
    FIELDS,
    given_values,
    policies,
    printed_words,
)
from tests.support.inside import served
from tests.support.world import IMAGE, World
from workloads.models import Workload
from workloads.services import bodies, submission
from workloads.wizard import creation, drafts
from workloads.wizard.context import WizardContext
from workloads.wizard.programs import command_line
from workloads.wizard.state import DraftState
from workloads.wizard.yaml_input import PostedYaml

PERSON, URL = "researcher-vision", "http://testserver"
Way = Callable[[World, dict[str, Any], Path], object]


def by_api(world: World, body: dict[str, Any], folder: Path) -> object:
    with Client(URL, token=world.token(PERSON)) as client:
        return client.submit(body)


def by_yaml(world: World, body: dict[str, Any], folder: Path) -> object:
    with Client(URL, token=world.token(PERSON)) as client:
        return client.submit(yaml.safe_dump(body, allow_unicode=True, sort_keys=False))


def by_command_line(world: World, body: dict[str, Any], folder: Path) -> object:
    words, file = printed_words(command_line(body, "vision", "this-machine"))
    if file:
        (folder / "body.yaml").write_text(file)
        words[words.index("-")] = str(folder / "body.yaml")
    environment = {
        "GANGLINE_CONFIG_DIR": str(folder),
        "GANGLINE_URL": URL,
        "GANGLINE_TOKEN": world.token(PERSON),
    }
    said = io.StringIO()
    with patch.dict(os.environ, environment), redirect_stdout(said), redirect_stderr(said):
        code = main(words)
    assert code == 0, (words, said.getvalue())
    return code


def by_form(world: World, body: dict[str, Any], folder: Path) -> object:
    actor, draft = world.actor(PERSON), uuid4()
    text = yaml.safe_dump(body, allow_unicode=True, sort_keys=False)
    state = PostedYaml(WizardContext(actor, draft, DraftState()), text).change(DraftState())
    drafts.start(owner=actor.user, draft_id=draft, state=state, steps=("setup", "workers"))
    return creation.create(actor=actor, draft_id=draft)


WAYS: dict[str, Way] = {
    "api": by_api, "yaml": by_yaml, "cli": by_command_line, "form": by_form,
}  # fmt: skip


def stored(way: Way, world: World, body: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What is in the database afterwards; it is taken back."""
    with transaction.atomic():
        way(world, body, folder)
        workload = Workload.objects.get(name=body["name"])
        attempt = workload.attempts.get()
        found = {
            "values": attempt.values,
            "rendered": (attempt.rendered or {}) | {"identifiers": {}},
            "configuration": workload.configuration,
            "framework": workload.framework,
            "owner": workload.owner_id,
        }
        transaction.set_rollback(True)
    return found


def accepted(world: World, values: dict[str, Any]) -> dict[str, Any]:
    """A body with those of ``values`` to which nobody objects."""
    actor, kept = world.actor(PERSON), dict(values)
    while True:
        base = {"image": IMAGE, "command": "python train.py"}
        spec = {**base, **nest(kept), "distributedFramework": "PyTorch"}
        body = world.body(spec=spec, configuration=WORKERS_ONLY)
        asked = bodies.read(actor.user, body)
        wrong = {p.path for p in submission.preview(actor=actor, request=asked).problems}
        if not wrong:
            return body
        left = {k: v for k, v in kept.items() if not any(p.startswith(k) for p in wrong)}
        assume(len(left) < len(kept))
        kept = left


def check(
    world: World, folder: Path, values: dict[str, Any], documents: tuple[tuple[str, str], ...]
) -> None:
    canonical = {path: FIELDS[path].canonical(value) for path, value in values.items()}
    world.token(PERSON)  # made before what is taken back
    scopes = (world.installation.scope, world.department.scope, world.vision.scope)
    with transaction.atomic(), served():
        for scope, (_, policy) in zip(scopes, documents, strict=False):
            try:
                save(actor=None, scope=scope, text=policy, version=None)
            except InvalidPolicy:
                assume(False)
        body = accepted(world, canonical)
        found = {name: stored(way, world, body, folder) for name, way in WAYS.items()}
        for name in WAYS:
            assert found[name] == found["api"], name
        transaction.set_rollback(True)


@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(given_values(), policies())
def test_one_workload(
    world: World, tmp_path: Path, values: dict[str, Any], documents: tuple[tuple[str, str], ...]
) -> None:
    check(world, tmp_path, values, documents)


@pytest.mark.thorough
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(given_values(), policies())
def test_one_workload_of_many(
    world: World, tmp_path: Path, values: dict[str, Any], documents: tuple[tuple[str, str], ...]
) -> None:
    check(world, tmp_path, values, documents)
