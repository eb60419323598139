"""The same values under the same policies get one verdict by form, JSON, YAML and command line.

Random values of every field, random rules of every kind that a field takes.
"""

import io
import json
import os
import shlex
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from copy import deepcopy
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
import yaml
from django.db import transaction
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gangline.lib.yaml_text import read
from gangline.policies.document import InvalidPolicy, rules_of
from gangline.policies.effective import EffectivePolicy, Layer, effective_policy
from gangline.policies.engine import Request, inherited_values, resolve
from gangline.policies.parser import parse
from gangline.policies.services import save
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.frameworks import WORKERS_ONLY
from gangline.spec.problems import Problem, Role
from gangline.spec.sources import Value
from gangline.spec.values import flatten, nest
from gangline.spec.workload import SPEC
from gangline.spec_forms.raw import RoleInputs, Row
from gangline.spec_forms.said import typed_values
from gangline.spec_forms.spec_form import RoleForm
from gangline_cli.main import main
from tests.security.matrix import OF_ROOT
from tests.security.matrix import Row as BadRow
from tests.support.examples import examples
from tests.support.inside import served
from tests.support.world import World
from workloads.services import bodies, submission
from workloads.wizard.context import WizardContext
from workloads.wizard.programs import command_line
from workloads.wizard.state import DraftState
from workloads.wizard.yaml_input import PostedYaml

FRAMEWORK = "distributedFramework"
FIELDS = {
    path: field
    for path, field in catalogue(SPEC.worker).items()
    if path != FRAMEWORK and (not field.only or "PyTorch" in field.only)
}
"""Those that the form has: what is there for another framework is hidden and not sent."""
TEXTS = ("a", "b-1", "reg.lab/ddp:1.4", "/data", "python train.py", "16", "h100", "gpu é", "x 'y")
SIZES = ("256M", "1G", "16Gi", "1000M", "64G")


def scalars(field: SpecField) -> st.SearchStrategy[Any]:
    """Values that a form can hold as well as JSON: what they are good for is not asked."""
    match field.kind:
        case Kind.BOOLEAN:
            return st.booleans()
        case Kind.CHOICE:
            return st.sampled_from((*field.choices, "bogus"))
        case Kind.INTEGER | Kind.DURATION:
            return st.integers(-1, 400)
        case Kind.NUMBER:
            return st.sampled_from((0.1, 0.25, 0.5, 1, 2, 3.5, 5000))
        case Kind.QUANTITY:
            return st.sampled_from(SIZES)
        case _:
            return st.sampled_from(TEXTS)


@st.composite
def items(draw: st.DrawFn, field: SpecField) -> dict[str, Any]:
    """An item with one of its alternatives, and any of the rest."""
    one = draw(st.sampled_from(tuple(field.alternatives) or ("",)))
    found = {}
    for attribute in field.items:
        if attribute.alternative and attribute.path.partition(".")[0] != one:
            continue
        needed = (attribute.required, attribute.path == field.item_key, attribute.alternative)
        if any(needed) or draw(st.booleans()):
            found[attribute.path] = draw(scalars(attribute))
    return dict(nest(found))


def values_of(field: SpecField) -> st.SearchStrategy[Any]:
    if field.kind is Kind.ITEMIZED:
        return st.lists(items(field), min_size=1, max_size=3)
    return scalars(field)


@st.composite
def given_values(draw: st.DrawFn) -> dict[str, Any]:
    paths = draw(st.sets(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=6))
    return {path: draw(values_of(FIELDS[path])) for path in sorted(paths)}


@st.composite
def policies(draw: st.DrawFn) -> tuple[tuple[str, str], ...]:
    """One to three documents; those that cannot be read are not drawn."""
    layers = []
    for kind in ("tenant", "department", "project")[: draw(st.integers(1, 3))]:
        paths = draw(st.sets(st.sampled_from(sorted(FIELDS)), max_size=6))
        rules, defaults = {}, {}
        for path in sorted(paths):
            field = FIELDS[path]
            if stated := draw(rule_sets(field)):
                rules[path] = {"instances": stated} if field.is_by_item else stated
            if field.kind is not Kind.ITEMIZED and draw(st.booleans()):
                defaults[path] = draw(scalars(field))
        halves = {"rules": nest(rules), "defaults": nest(defaults)}
        text = yaml.safe_dump({part: {"worker": said} for part, said in halves.items()})
        try:
            parse(text)
        except InvalidPolicy:
            assume(False)
        layers.append((kind, text))
    return tuple(layers)


@st.composite
def rule_sets(draw: st.DrawFn, field: SpecField) -> dict[str, Any]:
    found = {}
    for kind in draw(st.sets(st.sampled_from(rules_of(field)), max_size=2)):
        if kind in ("min", "max"):
            bounded = scalars(field) if field.kind.is_numeric else st.integers(0, 20)
            found[kind] = draw(bounded)
        elif kind == "step":
            found[kind] = draw(st.integers(1, 4))
        elif kind == "options":
            value = field.items[0] if field.is_array else field
            found[kind] = draw(st.lists(scalars(value), min_size=1, max_size=3, unique=True))
        elif kind == "locked":
            found[kind] = []
        elif kind != "defaultFrom":
            found[kind] = draw(st.booleans())
    return found


def judged(request: Request, policy: EffectivePolicy) -> list[tuple[str, ...]]:
    made = resolve(request, policy)
    return sorted({(p.field_id, p.rule, p.message, p.source) for p in made.problems})


def by_json(values: dict[str, Any], policy: EffectivePolicy) -> Any:
    found, problems = flatten(SPEC.worker, nest(values), Role.WORKER)
    entries = {f"worker.{path}": Value(value) for path, value in found.items()}
    return judged(
        Request(framework="PyTorch", configuration=WORKERS_ONLY, given=entries,
                problems=tuple(problems)),
        policy,
    )  # fmt: skip


def by_yaml(values: dict[str, Any], policy: EffectivePolicy) -> Any:
    text = yaml.safe_dump(nest(values), allow_unicode=True)
    found, problems = flatten(SPEC.worker, read(text).data, Role.WORKER)
    entries = {f"worker.{path}": Value(value) for path, value in found.items()}
    return judged(
        Request(framework="PyTorch", configuration=WORKERS_ONLY, given=entries,
                problems=tuple(problems)),
        policy,
    )  # fmt: skip


def by_form(values: dict[str, Any], policy: EffectivePolicy) -> Any:
    bare = Request(framework="PyTorch", configuration=WORKERS_ONLY)
    standing = inherited_values(bare, Role.WORKER, policy)
    form = RoleForm(role=Role.WORKER, policy=policy, standing=standing, framework="PyTorch")
    canonical = {path: FIELDS[path].canonical(value) for path, value in values.items()}
    inputs, _ = typed_values({f"worker.{path}": value for path, value in canonical.items()})
    said = form.said(inputs)
    return judged(
        Request(framework="PyTorch", configuration=WORKERS_ONLY, given=said.values,
                problems=tuple(said.problems)),
        policy,
    )  # fmt: skip


@settings(max_examples=examples(80), suppress_health_check=list(HealthCheck))
@given(given_values(), policies())
def test_one_verdict(values: dict[str, Any], documents: tuple[tuple[str, str], ...]) -> None:
    policy = effective_policy([Layer(kind, "a", parse(text)) for kind, text in documents])
    told = by_json(values, policy)
    assert by_yaml(values, policy) == told
    assert by_form(values, policy) == told


@pytest.mark.parametrize("row", OF_ROOT, ids=lambda row: row.id)
def test_the_groups_and_the_user_0_are_closed_on_every_way_in(row: BadRow) -> None:
    values = {"security.uidGidSource": "custom", row.path: row.value}
    opened = parse(yaml.safe_dump({"rules": nest({row.path: {"min": 0}})}))
    for layers, rules in (([], ["min"]), ([Layer("cluster", "a", opened)], [])):
        policy = effective_policy(layers)
        told = by_json(values, policy)
        assert [(where, rule) for where, rule, *_ in told] == [
            (f"worker.{row.path}", rule) for rule in rules
        ]
        assert by_yaml(values, policy) == by_form(values, policy) == told


@st.composite
def odd_values(draw: st.DrawFn) -> dict[str, Any]:
    """What YAML can say and no control can hold."""
    paths = draw(st.sets(st.sampled_from(sorted(FIELDS)), max_size=2))
    odd = st.sampled_from(([], [1], {"a": 1}, True, 7, -0.5, "", None, ["a"], [{"name": "a"}]))
    return {path: deepcopy(draw(odd)) for path in sorted(paths)}


def whole(problems: Iterable[Problem]) -> list[tuple[str, ...]]:
    return sorted({(p.field_id, p.rule, p.sentence, p.source) for p in problems})


def by_written_form(world: World, text: str) -> list[tuple[str, ...]]:
    """What the form says of a draft into which ``text`` was written as YAML."""
    actor, draft = world.actor("researcher-vision"), uuid4()
    empty = WizardContext(actor, draft, DraftState())
    written = PostedYaml(empty, text).change(DraftState())
    told = WizardContext(actor, draft, written).preview
    assert told is not None
    return whole(told.problems)


def by_api(world: World, text: str) -> list[tuple[str, ...]]:
    actor = world.actor("researcher-vision")
    asked = bodies.read(actor.user, read(text).data)
    return whole(submission.preview(actor=actor, request=asked).problems)


@settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))
@given(given_values(), odd_values(), policies())
def test_one_verdict_on_a_text_by_api_and_by_the_form_that_it_was_written_into(
    world: World,
    values: dict[str, Any],
    odd: dict[str, Any],
    documents: tuple[tuple[str, str], ...],
) -> None:
    spec = {**nest(values | odd), "distributedFramework": "PyTorch"}
    text = yaml.safe_dump(
        world.body(spec=spec, configuration=WORKERS_ONLY), allow_unicode=True, sort_keys=False
    )
    scopes = (world.installation.scope, world.department.scope, world.vision.scope)
    with transaction.atomic():
        for scope, (_, policy) in zip(scopes, documents, strict=False):
            try:
                save(actor=None, scope=scope, text=policy, version=None)
            except InvalidPolicy:
                assume(False)
        form, api = by_written_form(world, text), by_api(world, text)
        if not odd:
            assert form == api
        # Of what no control can hold, the form may say too what is missing without it.
        assert {told[:2] for told in api} <= {told[:2] for told in form}
        assert bool(form) is bool(api)
        transaction.set_rollback(True)


POOLS = "worker.nodePools"


def pools(values: dict[str, Any]) -> Any:
    """What the form sends of node pools where a policy's default is ``a, b``."""
    policy = effective_policy([Layer("project", "p", parse("defaults: {nodePools: [a, b]}"))])
    bare = Request(framework="PyTorch", configuration=WORKERS_ONLY)
    standing = inherited_values(bare, Role.WORKER, policy)
    form = RoleForm(role=Role.WORKER, policy=policy, standing=standing, framework="PyTorch")
    inputs, _ = typed_values(values)
    found = form.said(inputs).values.get(POOLS)
    return found and [item["name"] for item in found.value]


def test_a_list_of_names_that_came_from_elsewhere_is_all_there_is() -> None:
    assert pools({POOLS: [{"name": "c"}]}) == ["c"]
    assert pools({POOLS: []}) == []
    assert pools({}) is None


def test_a_row_that_is_added_stands_beside_the_default() -> None:
    policy = effective_policy([Layer("project", "p", parse("defaults: {nodePools: [a, b]}"))])
    bare = Request(framework="PyTorch", configuration=WORKERS_ONLY)
    standing = inherited_values(bare, Role.WORKER, policy)
    form = RoleForm(role=Role.WORKER, policy=policy, standing=standing, framework="PyTorch")
    rows = [Row("n", {"name": "c"}), Row("x", of="a", removed=True)]
    found = form.said(RoleInputs().with_rows("nodePools", rows)).values[POOLS]
    assert [item["name"] for item in found.value] == ["b", "c"]


def by_command_line(world: World, body: dict[str, Any], folder: Path) -> list[tuple[str, ...]]:
    """What the API says to the line that Review shows of ``body``, run as printed."""
    words, file = printed_words(command_line(body, "vision", "this-machine"))
    if file:
        (folder / "body.yaml").write_text(file)
        words[words.index("-")] = str(folder / "body.yaml")
    environment = {
        "GANGLINE_CONFIG_DIR": str(folder),
        "GANGLINE_URL": "http://testserver",
        "GANGLINE_TOKEN": world.token("researcher-vision"),
    }
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, environment),
        served(),
        patch("gangline_cli.main.told", lambda error: [json.dumps(list(error.problems))]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = main([*words, "--dry-run", "-o", "json"])
    assert code in (0, 3), (words, err.getvalue())
    told = json.loads(err.getvalue()) if code else []
    return sorted({(f"{p['role']}.{p['path']}", p["rule"], p.get("source", "")) for p in told})


def printed_words(text: str) -> tuple[list[str], str]:
    """The words of a printed command without the program, and the file that it reads."""
    first, _, file = text.partition("\n") if "<<'GANGLINE'" in text else (text, "", "")
    line = first.replace(" <<'GANGLINE'", "").replace("\\\n", "")
    return shlex.split(line)[1:], file.removesuffix("GANGLINE\n")


@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
@given(given_values(), policies())
def test_one_verdict_by_api_and_by_the_command_line_of_review(
    world: World,
    tmp_path: Path,
    values: dict[str, Any],
    documents: tuple[tuple[str, str], ...],
) -> None:
    canonical = {path: FIELDS[path].canonical(value) for path, value in values.items()}
    body = world.body(
        spec={**nest(canonical), "distributedFramework": "PyTorch"}, configuration=WORKERS_ONLY
    )
    actor = world.actor("researcher-vision")
    world.token("researcher-vision")  # made before what is taken back
    scopes = (world.installation.scope, world.department.scope, world.vision.scope)
    with transaction.atomic():
        for scope, (_, policy) in zip(scopes, documents, strict=False):
            try:
                save(actor=None, scope=scope, text=policy, version=None)
            except InvalidPolicy:
                assume(False)
        asked = bodies.read(actor.user, body)
        told = submission.preview(actor=actor, request=asked).problems
        api = sorted({(p.field_id, p.rule, p.source) for p in told})
        assert by_command_line(world, body, tmp_path) == api
        transaction.set_rollback(True)
